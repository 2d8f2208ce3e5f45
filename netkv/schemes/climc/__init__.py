"""CliMC: the client splits a multiget among the servers and gathers the replies."""

from __future__ import annotations

from netkv.kits.multiget.metrics import METRICS
from netkv.model.nodes import Client, Servers
from netkv.schemes.climc.options import CliMcOptions
from netkv.schemes.scheme import About, Host, Limits, P4Programs, Scheme, Traits

SCHEME = Scheme(
    name="climc",
    about=About(
        title="CliMC",
        order=50,
        paper="Baseline of NetMC: Redis, Memcached and RocksDB work like that",
        summary="The client splits a multiget among the servers and gathers replies.",
    ),
    programs=P4Programs("forwarding/forwarding.p4"),
    hosts=(Host(Client, "climc"), Host(Servers, "multiget")),
    traits=Traits(caches=False, multigets=True),
    options=CliMcOptions,
    limits=Limits(pipelines=4),
    metrics=METRICS,
)
