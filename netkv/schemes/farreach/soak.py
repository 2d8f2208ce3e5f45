"""What `netkv soak` does to a rack with FarReach.

In a share of the cases, the switch fails again and again, and the links of servers hold requests
back for longer than a recovery takes. So a write that has passed the switch before a failure may
reach its server when the key is cached again. Clients seldom repeat a request meanwhile: its copy
would be the first to arrive.
"""

from __future__ import annotations

from collections.abc import Sequence

from netkv.events.case import GenericCase
from netkv.events.random_faults import FaultKind
from netkv.kits.cases.races import held_back, killed, loaded, whole, with_faults
from netkv.kits.cases.random_draw import RandomDraw
from netkv.model.nodes import Switch

RACES = 0.3
"""Share of these cases."""
_SOURCE = 3 << 32
"""Distance of the seed of these draws: a case has all its other draws without them, too."""


def adapt(draw: RandomDraw, case: GenericCase, kinds: Sequence[FaultKind]) -> GenericCase:  # noqa: ARG001
    """The case, or a race in its place if these kinds of faults permit it."""
    own = RandomDraw(case.seed + _SOURCE)
    permitted = all(kind in kinds for kind in ("kill", "reorder"))
    return _race(own, case) if own.chance(RACES) and permitted else case


def _race(draw: RandomDraw, case: GenericCase) -> GenericCase:
    """The case as a race of writes with recoveries."""
    case = case.model_copy(update={"duration": draw.between(3, 5)})
    latency = draw.scale(0.0015, 0.004)
    recovery = 20 * latency
    case = loaded(
        case,
        latency,
        keys=draw.count(20, 60),
        written=draw.scale(0.5, 2) / recovery,
        read=draw.scale(2, 4) / recovery,
        retry=draw.scale(0.3, 0.6),
    )
    case = case.with_lab({"snapshot_period": round(recovery, 6), "hot_threshold": 2})
    links = held_back(case, draw.scale(0.2, 0.6), 4 * recovery)
    kills = killed(draw, case, lambda: Switch.NAME, 2 * recovery)
    return with_faults(case, [*(whole(case, link) for link in links), *kills])
