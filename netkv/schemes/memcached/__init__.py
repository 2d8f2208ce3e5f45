"""memcached: servers that speak memcached's binary protocol over UDP, without a cache before them.

The baseline of LaKe: software on the host.
"""

from __future__ import annotations

from netkv.kits.memcached import ROLE
from netkv.model.nodes import Client, Servers
from netkv.schemes.scheme import About, Host, Limits, P4Programs, Scheme, Traits

SCHEME = Scheme(
    name="memcached",
    about=About(
        title="memcached",
        order=70,
        paper="Baseline of LaKe (ReConFig 2018)",
        summary="Software servers that speak memcached's binary protocol over UDP.",
    ),
    programs=P4Programs("forwarding/forwarding.p4"),
    hosts=(Host(Client, ROLE), Host(Servers, ROLE)),
    traits=Traits(caches=False, conditional_writes=True),
    limits=Limits(pipelines=4),
)
