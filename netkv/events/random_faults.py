"""Random faults: generates a timeline of fault events from a seed.

Rules
-----
1. The same arguments give the same events on every machine.
2. Every fault with a duration ends (nodes are started, links and channels healed) before the last
   `QUIET` share of the run, so that the run can be verified.
3. At any time at most one fault affects a target, and none affects a target of the events in
   `besides`. So the timeline is always valid.
"""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from pydantic import Field

from netkv.errors import FieldError
from netkv.events.action import Choice, Target, one
from netkv.events.catalogue import FAULTS, NAMED_KINDS
from netkv.events.event import TimelineEvent
from netkv.model import layout
from netkv.model.hardware import GenericLab
from netkv.model.nodes import Node, Storage, check_names, kind_of
from netkv.options import SECONDS, Spec

if TYPE_CHECKING:
    FaultKind: TypeAlias = str
else:
    FaultKind = Literal[tuple(FAULTS)]

QUIET = 0.05
"""Share of the duration, at its end, without faults."""
_DIGITS = 6
"""Times are rounded to microseconds."""


class RandomFaults(Spec):
    """Faults drawn from the run's seed in the measured part; each ends before that does."""

    every: Annotated[float, Field(gt=0), SECONDS]
    """Mean time from one fault to the next."""
    last: Annotated[float, Field(gt=0), SECONDS]
    """Mean duration of a fault."""
    kinds: Annotated[list[FaultKind], Field(min_length=1)] | None = None
    """Kinds of faults. Left out: all that are possible in the lab, without `controller-restart` and
    `client-crash`, which must be named."""
    nodes: list[str] | None = None
    """Nodes of the faults, and cables between switches. Left out: all; but the client's process is
    not stopped, and servers are stopped only if their back end is persistent."""


def random_schedule(
    rng_seed: int,
    duration: float,
    lab: GenericLab,
    kinds: Sequence[FaultKind] | None = None,
    *,
    nodes: Sequence[str] | None = None,
    every: float,
    last: float,
    storage: Storage | None = None,
    besides: Iterable[TimelineEvent] = (),
    optional: Collection[type[Node]] = (),
) -> list[TimelineEvent]:
    """Beginnings and ends of faults over `duration` seconds, in the order of their times.

    `kinds`: None for all that are possible in this lab live, in the simulator and with any scheme.
    `nodes`: None for all; but the client's process is not stopped, and servers are stopped only if
    they keep their records.
    `every`: mean seconds from fault to fault (exponential). `last`: mean duration of a fault in
    seconds (uniform from half of it to one and a half). `storage`: whether servers still have their
    records after a restart; None: if their back end can keep them. `optional`: kinds of nodes of
    this rack that not all racks have. Raises ValueError for invalid arguments.
    """
    check(lab, kinds, nodes, storage, optional=_kinds(optional, nodes))
    if kinds is None:
        kinds = [
            kind
            for kind in FAULTS
            if kind not in NAMED_KINDS and _targets(kind, lab, nodes, storage, optional)
        ]
    rng = random.Random(rng_seed)
    limit = duration * (1 - QUIET)
    busy_until = {
        target: math.inf for event in besides if (target := event.action.target) is not None
    }
    """When the fault of each target ends."""
    events: list[TimelineEvent] = []
    now = 0.0
    while kinds:
        now += -math.log(1 - rng.random()) * every
        begin = round(now, _DIGITS)
        end = round(min(now + last * (0.5 + rng.random()), limit), _DIGITS)
        if begin >= limit:
            break
        kind = one(rng, kinds)
        free = [
            each
            for each in _targets(kind, lab, nodes, storage, optional)
            if busy_until.get(each, -1.0) < begin
        ]
        if end > begin and free:
            target = one(rng, free)
            beginning, healing = FAULTS[kind][1].draw(rng, target[1], storage)
            events.append(TimelineEvent.of(begin, beginning))
            if healing is not None:
                events.append(TimelineEvent.of(end, healing))
            busy_until[target] = events[-1].at
    return sorted(events, key=lambda event: event.at)


def expand(
    faults: RandomFaults,
    rng_seed: int,
    duration: float,
    lab: GenericLab,
    besides: Sequence[TimelineEvent],
) -> list[TimelineEvent]:
    """The events of a scenario's `random_faults` in one run; `besides`: its own events."""
    return random_schedule(
        rng_seed,
        duration,
        lab,
        faults.kinds,
        nodes=faults.nodes,
        every=faults.every,
        last=faults.last,
        besides=besides,
    )


def check(
    lab: GenericLab,
    kinds: Sequence[FaultKind] | None,
    nodes: Sequence[str] | None,
    storage: Storage | None = None,
    *,
    optional: Collection[type[Node]] = (),
) -> None:
    """Raises `FieldError` if a node does not exist or a kind of fault has no target.

    The path of the error begins at the random faults.
    """
    known = (*layout.nodes_of(lab, optional), *layout.cables(lab))
    for index, node in enumerate(nodes or ()):
        check_names([node], known, "'nodes' of random faults", "nodes", index)
    for index, kind in enumerate(kinds or ()):
        if not _targets(kind, lab, nodes, storage):
            hint = FAULTS[kind][1].hint
            why = f" ({hint})" if hint else ""
            text = f"no node of the random faults can be hit by '{kind}'{why}"
            raise FieldError(text, "kinds", index)


def is_possible(kind: FaultKind, lab: GenericLab, storage: Storage | None) -> bool:
    """Whether a kind of fault has a target in this lab."""
    return bool(_targets(kind, lab, None, storage))


def _kinds(optional: Collection[type[Node]], nodes: Sequence[str] | None) -> Collection[type[Node]]:
    """The kinds of nodes that not all racks have: those of this rack, and those of named nodes."""
    return {*optional, *(kind_of(name) for name in nodes or ())}


def _targets(
    kind: FaultKind,
    lab: GenericLab,
    nodes: Sequence[str] | None,
    storage: Storage | None,
    optional: Collection[type[Node]] = (),
) -> list[Target]:
    """The targets of a kind of fault."""
    action, fault = FAULTS[kind]
    known = layout.nodes_of(lab, _kinds(optional, nodes))
    possible = fault.nodes(Choice(lab, known, nodes is not None, storage))
    return [(action.TARGET, name) for name in possible if nodes is None or name in nodes]
