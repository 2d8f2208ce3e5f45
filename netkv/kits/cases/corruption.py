"""Cases of `netkv soak` whose links flip bits of frames.

In a share of the cases, a share of the links' faults corrupt frames besides what else they do, and
further links corrupt frames at times at which they have no other fault. The draws have a source of
their own, so all other draws of a seed are as without them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TypeVar

from netkv.events import random_faults as faults
from netkv.events.case import Fault, GenericCase
from netkv.events.event import TimelineEvent
from netkv.kits.cases.links import bad_link, with_link
from netkv.kits.cases.random_draw import RandomDraw
from netkv.model.nodes import Node

CaseT = TypeVar("CaseT", bound=GenericCase)

_SOURCE = 2 << 32
"""More than the seeds of a search, and the sources of the case generator."""
SHARE = 0.6
"""Of the cases."""
_OF_FAULTS = 0.5
"""Share of a case's faults of links that corrupt, too."""
_LOW, HIGH = 0.005, 0.3
"""Limits of the probability that a frame is corrupted."""


def source(case: GenericCase) -> RandomDraw:
    """The draws about corruption in a case, which change no other draw of its seed."""
    return RandomDraw(case.seed + _SOURCE)


def with_corruption(case: CaseT, optional: Collection[type[Node]]) -> CaseT:
    """The case with corruption among its faults, or as it is.

    `optional`: its kinds of nodes that not all racks have.
    """
    draw = source(case)
    if not draw.chance(SHARE):
        return case
    # A rare burst seldom ends an operation, a frequent one meets the repetitions, too.
    high = draw.scale(_LOW, HIGH)
    found = [_corrupting(draw, fault, high) for fault in case.faults]
    found += _alone(draw, case, high, optional)
    return case.model_copy(update={"faults": tuple(sorted(found, key=lambda it: it.begin.at))})


def _corrupting(draw: RandomDraw, fault: Fault, high: float) -> Fault:
    """A fault of a link that corrupts, too; another one as it is."""
    if (link := bad_link(fault)) is None or not draw.chance(_OF_FAULTS):
        return fault
    return with_link(fault, link.model_copy(update={"corrupt": draw.scale(_LOW / 2, high)}))


def _alone(
    draw: RandomDraw, case: GenericCase, high: float, optional: Collection[type[Node]]
) -> Iterator[Fault]:
    """Faults of links that only corrupt, at times at which their link has no other fault."""
    every, last = case.duration * draw.scale(0.05, 1), case.duration * draw.scale(0.01, 0.5)
    events = faults.random_schedule(
        draw.seed(),
        case.duration,
        case.rack.lab,
        ["corrupt"],
        every=every,
        last=last,
        optional=optional,
    )
    begun: dict[str, TimelineEvent] = {}
    for event in events:
        node = str(event.action.node)
        if (begin := begun.pop(node, None)) is None:
            begun[node] = event
            continue
        found = Fault(begin=begin, end=event)
        if not any(_meet(found, other) for other in case.faults):
            link = bad_link(found)
            assert link is not None, "only links corrupt"
            yield with_link(found, link.model_copy(update={"corrupt": draw.scale(_LOW / 2, high)}))


def _meet(fault: Fault, other: Fault) -> bool:
    """Whether faults are of the same link and of the same time. `fault` has an end."""
    assert fault.end is not None, "a fault of a link ends"
    return (
        other.begin.action.target == fault.begin.action.target
        and other.begin.at <= fault.end.at
        and (other.end is None or fault.begin.at <= other.end.at)
    )
