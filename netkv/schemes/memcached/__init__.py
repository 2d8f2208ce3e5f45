"""memcached: servers that speak memcached's binary protocol over UDP, without a cache before them.

The baseline of LaKe: software on the host.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from netkv.schemes.scheme import Scheme

if TYPE_CHECKING:
    from collections.abc import Sequence

    from netkv.scenarios.events import FaultKind
    from netkv.soak.case import Case
    from netkv.soak.random_draw import RandomDraw

ROLE = "memcached"
"""The role of servers and clients (engine/roles)."""


def _soak_case(
    draw: RandomDraw,
    case: Case,
    kinds: Sequence[FaultKind],  # noqa: ARG001 (a fixed signature)
) -> Case:
    from netkv.schemes.memcached.soak import with_conditional_writes

    return with_conditional_writes(draw, case)


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
    soak_case=_soak_case,
)
