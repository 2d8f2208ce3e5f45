"""Faults that a user injects into a rack that runs now.

Rules
-----
1. A fault is an event of a timeline (`netkv.scenarios.events`) that is carried out at once, with
   the same code. It is checked against the present state of the rack.
2. With a duration, the fault is healed after this time, unless it was healed or replaced before.
3. A fault and its end are events of the rack, so a run stores them.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Any, TypeAlias

from pydantic import ValidationError

from netkv.errors import FieldError, NetkvError
from netkv.lab.rack import LiveRack
from netkv.scenarios import event_validation
from netkv.scenarios.events import LinkFault, SlowFault, TimelineEvent
from netkv.scenarios.timeline import carry_out

Target: TypeAlias = tuple[str, ...]
"""What a fault hits: `("node", "switch")`, `("link", "client", "to")`, `("slow", "servers-0")`,
`("channel", "controller")`."""


@dataclass
class _Injected:
    """A fault in force."""

    text: str
    begin: float
    """Seconds since the epoch."""
    duration: float | None
    ends: dict[Target, TimelineEvent]
    """The event that heals each target that no later fault has hit."""
    healing: asyncio.Task[None] | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "node": next(iter(self.ends))[1],
            "text": self.text,
            "begin": self.begin,
            "end": None if self.duration is None else self.begin + self.duration,
            "heal": [
                event.model_dump(mode="json", exclude={"at"}, exclude_defaults=True)
                for event in self.ends.values()
            ],
        }


class Injector:
    """Carries out faults, and heals them."""

    def __init__(self, rack: LiveRack) -> None:
        self._rack = rack
        self._faults: list[_Injected] = []
        self._tasks: set[asyncio.Task[None]] = set()
        """All that heal a fault, also those that are about to."""

    async def inject(self, event: TimelineEvent, duration: float | None) -> None:
        """Carries out an event, and heals it after `duration` seconds (None: never).

        Raises `FieldError` if it contradicts the state of the rack, and `NetkvError` if the rack
        does not support it.
        """
        ends = _ends(event)
        self._check(event, duration, ends)
        await self._carry_out(event)
        hit = _targets(event)
        node = next(iter(hit))[1] if hit else "rack"
        self._rack.emit("note", node, f"Injected: {event.describe()}")
        for fault in self._faults:
            for target in hit:
                fault.ends.pop(target, None)
        if ends:
            fault = _Injected(event.describe(), time.time(), duration, ends)
            self._faults.append(fault)
            if duration is not None:
                fault.healing = asyncio.create_task(self._heal(fault, duration))
                self._tasks.add(fault.healing)
                fault.healing.add_done_callback(self._tasks.discard)
        self._forget_ended()

    def in_force(self) -> list[dict[str, Any]]:
        """The faults in force, as JSON objects."""
        for name, runs in self._running().items():
            if runs:  # also if it was not started as a fault
                for fault in self._faults:
                    fault.ends.pop(("node", name), None)
        self._forget_ended()
        return [fault.to_json() for fault in self._faults]

    def close(self) -> None:
        """Heals nothing any more."""
        for task in self._tasks:
            task.cancel()
        for fault in self._faults:
            fault.ends.clear()
        self._forget_ended()

    def _running(self) -> dict[str, bool]:
        controller = self._rack.controller
        return {**self._rack.running, controller.name: controller.running}

    def _check(
        self, event: TimelineEvent, duration: float | None, ends: dict[Target, TimelineEvent]
    ) -> None:
        rack = self._rack
        event_validation.check_now(
            event,
            rack.spec.lab,
            rack.spec.workload,
            down=[name for name, runs in self._running().items() if not runs],
            partitioned=rack.controller.partitioned,
            optional=rack.scheme.node_kinds,
        )
        if event.crash is not None:
            event_validation.check_schemes([rack.scheme.name], ("crash",))
        if duration is not None and not ends:
            raise FieldError(f"'{event.describe()}' is no fault that can be healed", "duration")

    async def _carry_out(self, event: TimelineEvent) -> None:
        if event.rate is not None or event.outstanding is not None:
            value = getattr(event, event.action)
            await self._rack.client.command({"do": event.action, "value": value})
        else:
            await carry_out(event, self._rack)

    async def _heal(self, fault: _Injected, duration: float) -> None:
        await asyncio.sleep(duration)
        self.in_force()
        fault.healing = None
        try:
            for target, end in list(fault.ends.items()):
                try:
                    await self._carry_out(end)
                    self._rack.emit("note", target[1], f"Healed: {end.describe()}")
                except NetkvError as error:
                    self._rack.emit("note", target[1], f"Not healed: {error}")
        finally:
            fault.ends.clear()
            self._forget_ended()

    def _forget_ended(self) -> None:
        for fault in self._faults:
            if not fault.ends and fault.healing is not None:
                fault.healing.cancel()
        self._faults = [fault for fault in self._faults if fault.ends]


def event_now(fields: dict[str, Any]) -> TimelineEvent:
    """The event that these fields describe, without `at`; raises `FieldError`."""
    try:
        return TimelineEvent.model_validate({**fields, "at": 0})
    except ValidationError as error:
        first = error.errors()[0]
        path, cause = first["loc"], first.get("ctx", {}).get("error")
        if isinstance(cause, FieldError):
            raise cause.below(*path) from None
        raise FieldError(first["msg"].replace("Input should be", "it should be"), *path) from None


def _targets(event: TimelineEvent) -> list[Target]:
    """What an event changes."""
    if event.node is not None:
        return [("node", event.node)]
    if event.link is not None:
        return [("link", event.link.node, direction) for direction in event.link.directions]
    if event.slow is not None:
        return [("slow", event.slow.node)]
    channel = event.partition or event.heal
    return [] if channel is None else [("channel", channel)]


def _ends(event: TimelineEvent) -> dict[Target, TimelineEvent]:
    """The event that heals each target of a fault; none if the event is no fault with an end."""

    def end(target: Target) -> TimelineEvent:
        match target:
            case ("node", node):
                return TimelineEvent(at=0, start=node)
            case ("link", node, direction):
                link = LinkFault.model_validate({"node": node, "direction": direction})
                return TimelineEvent(at=0, link=link)
            case ("slow", node):
                return TimelineEvent(at=0, slow=SlowFault(node=node, factor=1))
        return TimelineEvent(at=0, heal="controller")

    healthy = (
        event.start is not None
        or event.heal is not None
        or (event.link is not None and event.link.heals)
        or (event.slow is not None and event.slow.factor == 1)
    )
    return {} if healthy else {target: end(target) for target in _targets(event)}
