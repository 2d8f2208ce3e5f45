"""CliMC: the client splits a multiget among the servers and gathers the replies."""

from __future__ import annotations

from netkv.kits.multiget.metrics import METRICS
from netkv.schemes.scheme import Scheme

SCHEME = Scheme(
    name="climc",
    title="CliMC",
    order=50,
    program="nocache/nocache.p4",
    server_role="multiget",
    client_role="climc",
    caches=False,
    paper="Baseline of NetMC: Redis, Memcached and RocksDB work like that",
    summary="The client splits a multiget among the servers and gathers replies.",
    max_pipelines=4,
    multigets=True,
    metrics=METRICS,
)
