"""CoordiMC: a coordinator splits a multiget among the servers and gathers the replies."""

from __future__ import annotations

from netkv.model.nodes import Client, Coordinator, Servers
from netkv.schemes.coordimc.metrics import METRICS
from netkv.schemes.coordimc.options import CoordiMcOptions
from netkv.schemes.scheme import About, Host, Limits, P4Programs, Scheme, Traits

SCHEME = Scheme(
    name="coordimc",
    about=About(
        title="CoordiMC",
        order=60,
        paper="Baseline of NetMC: Cassandra, DynamoDB and MongoDB work like that",
        summary="A coordinator splits a multiget among the servers and gathers replies.",
    ),
    programs=P4Programs("forwarding/forwarding.p4"),
    hosts=(Host(Client, "coordimc"), Host(Servers, "multiget"), Host(Coordinator)),
    traits=Traits(caches=False, multigets=True),
    options=CoordiMcOptions,
    limits=Limits(pipelines=4),
    metrics=METRICS,
)
