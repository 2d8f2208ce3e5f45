"""NoCache: the switch sends each request to the owner of its key."""

from __future__ import annotations

from netkv.schemes.scheme import PLAIN, Scheme

SCHEME = Scheme(
    name="nocache",
    title="NoCache",
    order=10,
    program="nocache/nocache.p4",
    server_role=PLAIN,
    client_role=PLAIN,
    caches=False,
    paper="Baseline of NetCache (SOSP 2017) and FarReach (ATC 2023)",
    summary="The switch only routes requests to the owner of the key.",
    max_pipelines=4,
)
