"""CoordiMC: a coordinator splits a multiget among the servers and gathers the replies."""

from __future__ import annotations

from netkv.schemes.coordimc.metrics import METRICS
from netkv.schemes.coordimc.options import CoordiMcOptions
from netkv.schemes.scheme import Scheme

SCHEME = Scheme(
    name="coordimc",
    title="CoordiMC",
    order=60,
    program="nocache/nocache.p4",
    server_role="multiget",
    client_role="coordimc",
    caches=False,
    paper="Baseline of NetMC: Cassandra, DynamoDB and MongoDB work like that",
    summary="A coordinator splits a multiget among the servers and gathers replies.",
    max_pipelines=4,
    multigets=True,
    options=CoordiMcOptions,
    coordinated=True,
    metrics=METRICS,
)
