"""Cases of `netkv soak` with conditional writes, for schemes with memcached's protocol."""

from __future__ import annotations

from netkv.events.case import GenericCase
from netkv.kits.cases.random_draw import RandomDraw


def with_conditional_writes(draw: RandomDraw, case: GenericCase) -> GenericCase:
    """The case; in half of all draws a share of its writes is conditional."""
    chosen, share = draw.chance(0.5), draw.scale(0.1, 0.8)
    if not chosen:
        return case
    workload = case.rack.workload.model_copy(update={"conditional": share})
    return case.model_copy(update={"rack": case.rack.model_copy(update={"workload": workload})})
