"""memcached: servers that speak memcached's binary protocol over UDP, without a cache before them.

The baseline of LaKe: software on the host.
"""

from __future__ import annotations

from netkv.schemes.scheme import Scheme

ROLE = "memcached"
"""The role of servers and clients (engine/roles)."""

SCHEME = Scheme(
    name="memcached",
    title="memcached",
    order=70,
    program="nocache/nocache.p4",
    server_role=ROLE,
    client_role=ROLE,
    caches=False,
    paper="Baseline of LaKe (FPL 2018)",
    summary="Software servers that speak memcached's binary protocol over UDP.",
    max_pipelines=4,
)
