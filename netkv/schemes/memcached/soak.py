"""Random cases of `netkv soak` for schemes with memcached's protocol."""

from __future__ import annotations

from netkv.soak.case import Case
from netkv.soak.random_draw import RandomDraw


def with_conditional_writes(draw: RandomDraw, case: Case) -> Case:
    """The case; in half of all draws a share of its writes is conditional."""
    chosen, share = draw.chance(0.5), draw.scale(0.1, 0.8)
    if not chosen:
        return case
    workload = case.rack.workload.model_copy(update={"conditional": share})
    return case.model_copy(update={"rack": case.rack.model_copy(update={"workload": workload})})
