"""Faults drawn at random: a seed becomes a timeline that anybody can read and replay.

Rules
-----
1. The same arguments give the same events on every machine.
2. Every fault that lasts ends: what is stopped is started, what is cut is healed, before `quiet`
   of the duration is left, so that a run that follows can be verified.
3. A fault hits what no other fault has hit and not yet let go, and nothing that an event of
   `besides` is about; so the timeline is always a possible one.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from typing import TypeAlias, TypeVar

from netkv.errors import FieldError
from netkv.lab.spec import LabSpec
from netkv.scenarios.events import (
    COORDINATOR,
    FAULT_KINDS,
    NAMED_KINDS,
    Direction,
    FaultKind,
    LinkFault,
    RandomFaults,
    SlowFault,
    Storage,
    TimelineEvent,
    node_names,
    server_names,
)
from netkv.scenarios.possible import check_names

QUIET = 0.05
"""Share of the duration at its end in which no fault is at work."""
_DIGITS = 6
"""Times are in whole microseconds."""
_MOST_ACTIONS = 300
"""Of a controller before it dies: that many send, load and check every entry of a soak's cache."""

_DIRECTIONS: tuple[Direction, ...] = ("both", "to", "from")
_T = TypeVar("_T")

Target: TypeAlias = tuple[str, str]
"""What one fault at a time may be about: `("node", "switch")`, `("link", "client")`,
`("slow", "servers-0")`, `("channel", "controller")`."""


def random_schedule(
    rng_seed: int,
    duration: float,
    lab: LabSpec,
    kinds: Sequence[FaultKind] | None = None,
    *,
    nodes: Sequence[str] | None = None,
    every: float,
    last: float,
    storage: Storage | None = None,
    besides: Iterable[TimelineEvent] = (),
    coordinator: bool = False,
) -> list[TimelineEvent]:
    """Faults and their ends over `duration` seconds, in the order of their times.

    `kinds`: None is all that are possible in this lab on either clock with any scheme. `nodes`:
    which they may hit; None is all, but for the client's process, and servers are stopped only if
    they keep their records.
    `every` and `last`: mean seconds from fault to fault (exponential) and of a fault (uniform from
    half to one and a half of it). `storage`: what servers find when they start again; None is
    what their back end can do. `coordinator`: whether there is one that faults may hit without
    being told by `nodes`. Raises ValueError with a sentence for what is not possible.
    """
    check(lab, kinds, nodes, storage, coordinator=coordinator or COORDINATOR in (nodes or ()))
    if kinds is None:
        kinds = [
            kind
            for kind in FAULT_KINDS
            if kind not in NAMED_KINDS and _targets(kind, lab, nodes, storage, coordinator)
        ]
    rng = random.Random(rng_seed)
    limit = duration * (1 - QUIET)
    held = {target: math.inf for event in besides if (target := about(event)) is not None}
    """When each target is let go."""
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
            t for t in _targets(kind, lab, nodes, storage, coordinator) if held.get(t, -1.0) < begin
        ]
        if end > begin and free:
            target = _one(rng, free)
            fault = _fault(rng, kind, target[1], begin, end, storage)
            held[target] = fault[-1].at
            events += fault
    return sorted(events, key=lambda event: event.at)


def expand(
    faults: RandomFaults,
    rng_seed: int,
    duration: float,
    lab: LabSpec,
    besides: Sequence[TimelineEvent],
) -> list[TimelineEvent]:
    """The events that a scenario's `random_faults` come to in one run, beside its own."""
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
    lab: LabSpec,
    kinds: Sequence[FaultKind] | None,
    nodes: Sequence[str] | None,
    storage: Storage | None = None,
    *,
    coordinator: bool = False,
) -> None:
    """Raises `FieldError`, seen from the random faults, if a node does not exist or a kind can hit
    none of them.
    """
    known = node_names(lab, coordinator=coordinator)
    for index, node in enumerate(nodes or ()):
        check_names([node], known, "'nodes' of random faults", "nodes", index)
    for index, kind in enumerate(kinds or ()):
        if not _targets(kind, lab, nodes, storage):
            why = " (only servers with a 'lab.service_rate' can)" if kind == "slow" else ""
            text = f"no node of the random faults can be hit by '{kind}'{why}"
            raise FieldError(text, "kinds", index)


def _targets(
    kind: FaultKind,
    lab: LabSpec,
    nodes: Sequence[str] | None,
    storage: Storage | None,
    coordinator: bool = False,
) -> list[Target]:
    """What a kind of fault can hit."""
    servers = server_names(lab)
    own = (COORDINATOR,) if coordinator or COORDINATOR in (nodes or ()) else ()
    where, possible = "link", ["client", *servers, *own]
    if kind in ("stop", "kill"):
        keep = storage == "kept" or (storage is None and lab.backend != "memory")
        everything = ["switch", *(servers if keep else ()), "controller", *own]
        where, possible = (
            "node",
            everything if nodes is None else list(node_names(lab, coordinator=bool(own))),
        )
    elif kind == "client-crash":
        where, possible = "node", ["client"]
    elif kind == "partition":
        where, possible = "channel", ["controller"]
    elif kind == "controller-restart":
        where, possible = "node", ["controller"]
    elif kind == "slow":
        where, possible = "slow", list(servers) if lab.service_rate is not None else []
    return [(where, name) for name in possible if nodes is None or name in nodes]


def about(event: TimelineEvent) -> Target | None:
    """What an event is about, as far as faults are concerned."""
    if event.node is not None:
        return ("node", event.node)
    if event.crash is not None:
        return ("node", event.crash)
    if event.link is not None:
        return ("link", event.link.node)
    if event.slow is not None:
        return ("slow", event.slow.node)
    return ("channel", "controller") if event.partition or event.heal else None


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
    """A fault of a kind and its end; a crash is over at once."""
    if kind == "client-crash":
        return (TimelineEvent(at=begin, crash="client"),)
    if kind in ("stop", "kill"):
        found = storage if node.startswith("servers-") else None
        return (
            TimelineEvent.model_validate({"at": begin, kind: node}),
            TimelineEvent(at=end, start=node, storage=found),
        )
    if kind == "controller-restart":
        # Every order of magnitude alike: few end a step that has just begun, many a long one.
        actions = int((_MOST_ACTIONS + 1) ** rng.random()) - 1
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
