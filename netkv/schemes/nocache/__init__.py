"""NoCache: the switch sends each request to the owner of its key."""

from __future__ import annotations

from netkv.model.nodes import Client, Servers
from netkv.schemes.scheme import PLAIN, About, Host, Limits, P4Programs, Scheme, Traits

SCHEME = Scheme(
    name="nocache",
    about=About(
        title="NoCache",
        order=10,
        paper="Baseline of NetCache (SOSP 2017) and FarReach (ATC 2023)",
        summary="The switch only routes requests to the owner of the key.",
    ),
    programs=P4Programs("forwarding/forwarding.p4"),
    hosts=(Host(Client, PLAIN), Host(Servers, PLAIN)),
    traits=Traits(caches=False),
    limits=Limits(pipelines=4),
)
