"""DistNoCache: NoCache in layers of switches, all of which only route."""

from __future__ import annotations

from netkv.model.hardware import TopologySpec
from netkv.model.nodes import Client, Servers
from netkv.schemes.scheme import PLAIN, About, Host, Limits, P4Programs, Scheme, Traits

SCHEME = Scheme(
    name="distnocache",
    about=About(
        title="DistNoCache",
        order=35,
        paper="Sheng et al., Toward Distributed Write-back Caching in Programmable Switches",
        summary="Layers of switches only route requests to the owner of the key.",
    ),
    programs=P4Programs("forwarding/forwarding.p4"),
    hosts=(Host(Client, PLAIN), Host(Servers, PLAIN)),
    traits=Traits(caches=False),
    # Section VI: four switches, two in each layer. It supports what NoCache supports, also one
    # switch: that is the smallest case of a sweep, and of a reduction by `netkv soak`.
    topology=TopologySpec(kind="spine-leaf", layers=2, switches=2),
    limits=Limits(pipelines=4),
)
