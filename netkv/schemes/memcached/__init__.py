"""memcached: servers that speak memcached's binary protocol over UDP, without a cache before them.

The baseline of LaKe: software on the host.
"""

from __future__ import annotations

from netkv.kits.memcached import ROLE
from netkv.schemes.scheme import Scheme

SCHEME = Scheme(
    name="memcached",
    title="memcached",
    order=70,
    program="nocache/nocache.p4",
    server_role=ROLE,
    client_role=ROLE,
    caches=False,
    paper="Baseline of LaKe (ReConFig 2018)",
    summary="Software servers that speak memcached's binary protocol over UDP.",
    max_pipelines=4,
    conditional_writes=True,
)
