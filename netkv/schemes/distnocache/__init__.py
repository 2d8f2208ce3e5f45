"""DistNoCache: NoCache in layers of switches, all of which only route."""

from __future__ import annotations

from netkv.model.hardware import TopologySpec
from netkv.schemes.scheme import PLAIN, Scheme

SCHEME = Scheme(
    name="distnocache",
    title="DistNoCache",
    order=35,
    program="nocache/nocache.p4",
    server_role=PLAIN,
    client_role=PLAIN,
    caches=False,
    paper="Sheng et al., Toward Distributed Write-back Caching in Programmable Switches",
    summary="Layers of switches only route requests to the owner of the key.",
    max_pipelines=4,
    # Section VI: four switches, two in each layer. It supports what NoCache supports, also one
    # switch: that is the smallest case of a sweep, and of a reduction by `netkv soak`.
    topology=TopologySpec(kind="spine-leaf", layers=2, switches=2),
)
