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
from typing import TypeAlias, TypeVar

from netkv.errors import FieldError
from netkv.model import layout
from netkv.model.events import (
    FAULT_KINDS,
    NAMED_KINDS,
    Direction,
    FaultKind,
    LinkFault,
    RandomFaults,
    SlowFault,
    TimelineEvent,
)
from netkv.model.hardware import GenericLab
from netkv.model.nodes import (
    Card,
    Client,
    Controller,
    Coordinator,
    Node,
    Servers,
    Storage,
    Switch,
    check_names,
    kind_of,
)

QUIET = 0.05
"""Share of the duration, at its end, without faults."""
_DIGITS = 6
"""Times are rounded to microseconds."""
_MAX_ACTIONS = 300
"""Limit of a controller's actions before it is killed: enough to fill the cache of a soak."""

_DIRECTIONS: tuple[Direction, ...] = ("both", "to", "from")
_T = TypeVar("_T")

Target: TypeAlias = tuple[str, str]
"""The target of a fault: `("node", "switch")`, `("link", "client")`, `("slow", "servers-0")`,
`("channel", "controller")`."""


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
            for kind in FAULT_KINDS
            if kind not in NAMED_KINDS and _targets(kind, lab, nodes, storage, optional)
        ]
    rng = random.Random(rng_seed)
    limit = duration * (1 - QUIET)
    busy_until = {target: math.inf for event in besides if (target := target_of(event)) is not None}
    """When the fault of each target ends."""
    events: list[TimelineEvent] = []
    now = 0.0
    while kinds:
        now += -math.log(1 - rng.random()) * every
        begin = round(now, _DIGITS)
        end = round(min(now + last * (0.5 + rng.random()), limit), _DIGITS)
        if begin >= limit:
            break
        kind = _one(rng, kinds)
        free = [
            each
            for each in _targets(kind, lab, nodes, storage, optional)
            if busy_until.get(each, -1.0) < begin
        ]
        if end > begin and free:
            target = _one(rng, free)
            fault = _fault(rng, kind, target[1], begin, end, storage)
            busy_until[target] = fault[-1].at
            events += fault
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
            why = " (only servers with a 'lab.service_rate' can)" if kind == "slow" else ""
            text = f"no node of the random faults can be hit by '{kind}'{why}"
            raise FieldError(text, "kinds", index)


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
    known = layout.nodes_of(lab, _kinds(optional, nodes))

    def of(*kinds: type[Node]) -> list[str]:
        return [name for wanted in kinds for name, it in known.items() if it is wanted]

    where, possible = "link", [*of(Client, Servers, Coordinator, Card), *layout.cables(lab)]
    if kind in ("stop", "kill"):
        keep = storage == "kept" or (storage is None and lab.backend != "memory")
        unnamed = (Switch, *((Servers,) if keep else ()), Controller, Coordinator, Card)
        where, possible = "node", of(*unnamed) if nodes is None else list(known)
    elif kind == "client-crash":
        where, possible = "node", of(Client)
    elif kind == "partition":
        where, possible = "channel", of(Controller)
    elif kind == "controller-restart":
        where, possible = "node", of(Controller)
    elif kind == "slow":
        where, possible = "slow", of(Servers) if lab.service_rate is not None else []
    return [(where, name) for name in possible if nodes is None or name in nodes]


def target_of(event: TimelineEvent) -> Target | None:
    """The target of an event; None if it is no fault."""
    if event.node is not None:
        return ("node", event.node)
    if event.crash is not None:
        return ("node", event.crash)
    if event.link is not None:
        return ("link", event.link.node)
    if event.slow is not None:
        return ("slow", event.slow.node)
    return ("channel", Controller.NAME) if event.partition or event.heal else None


def _one(rng: random.Random, options: Sequence[_T]) -> _T:
    return options[int(rng.random() * len(options))]


def _fault(
    rng: random.Random,
    kind: FaultKind,
    node: str,
    begin: float,
    end: float,
    storage: Storage | None,
) -> tuple[TimelineEvent, ...]:
    """Beginning and end of a fault; a crash has no end."""
    if kind == "client-crash":
        return (TimelineEvent(at=begin, crash="client"),)
    if kind in ("stop", "kill"):
        found = storage if kind_of(node) is Servers else None
        return (
            TimelineEvent.model_validate({"at": begin, kind: node}),
            TimelineEvent(at=end, start=node, storage=found),
        )
    if kind == "controller-restart":
        # Log-uniform: small numbers interrupt a step that has just begun, large ones a long step.
        actions = int((_MAX_ACTIONS + 1) ** rng.random()) - 1
        return (
            TimelineEvent(at=begin, kill="controller", after_actions=actions),
            TimelineEvent(at=end, start="controller"),
        )
    if kind == "partition":
        return (
            TimelineEvent(at=begin, partition="controller"),
            TimelineEvent(at=end, heal="controller"),
        )
    if kind == "slow":
        slow = SlowFault(node=node, factor=round(_between(rng, 2, 20), 1))
        return (
            TimelineEvent(at=begin, slow=slow),
            TimelineEvent(at=end, slow=SlowFault(node=node, factor=1)),
        )
    direction = _one(rng, _DIRECTIONS)
    strength = {
        "loss": lambda: {"loss": _between(rng, 0.01, 0.3)},
        "duplicate": lambda: {"duplicate": _between(rng, 0.01, 0.3)},
        "corrupt": lambda: {"corrupt": _between(rng, 0.01, 0.3)},
        "reorder": lambda: {"reorder": _between(rng, 0.05, 0.5)},
        "delay": lambda: {"delay": _between(rng, 0.0005, 0.01), "jitter": _between(rng, 0, 0.005)},
        "cut": lambda: {"loss": 1.0},
    }[kind]()
    link = LinkFault.model_validate({"node": node, "direction": direction, **strength})
    return (
        TimelineEvent(at=begin, link=link),
        TimelineEvent(at=end, link=LinkFault(node=node, direction=direction)),
    )


def _between(rng: random.Random, low: float, high: float) -> float:
    return round(low + (high - low) * rng.random(), 4)
