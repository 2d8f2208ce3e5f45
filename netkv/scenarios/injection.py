"""Faults that a user injects into a rack that runs now.

Rules
-----
1. A fault is an action of a timeline (`netkv.events.actions`) that is carried out at once, with
   the same code. It is checked against the present state of the rack.
2. With a duration, the fault is healed after this time, unless it was healed or replaced before.
3. A fault and its end are events of the rack (`netkv.scenarios.changes`), so a run stores them.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from netkv.errors import FieldError, NetkvError
from netkv.events.action import Action, Target
from netkv.events.actions.nodes import Start
from netkv.live.rack import LiveRack
from netkv.model.report import Change
from netkv.scenarios import event_validation
from netkv.scenarios.changes import Changes


@dataclass
class _Injected:
    """A fault in force."""

    change: Change
    begin: float
    """Seconds since the epoch."""
    duration: float | None
    ends: dict[Target, Action]
    """What heals each part that no later fault has hit."""
    healing: asyncio.Task[None] | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.change.begins,
            "action": self.change.action,
            "target": self.change.target,
            "node": next(iter(self.ends))[1],
            "text": self.change.what,
            "begin": self.begin,
            "end": None if self.duration is None else self.begin + self.duration,
            "heal": [
                action.model_dump(mode="json", exclude_defaults=True)
                for action in self.ends.values()
            ],
        }


class Injector:
    """Carries out faults, and heals them."""

    def __init__(self, rack: LiveRack, changes: Changes) -> None:
        self._rack = rack
        self._changes = changes
        self._faults: list[_Injected] = []
        self._tasks: set[asyncio.Task[None]] = set()
        """All that heal a fault, also those that are about to."""

    async def inject(self, action: Action, duration: float | None) -> None:
        """Carries out an action, and heals it after `duration` seconds (None: never).

        Raises `FieldError` if it contradicts the state of the rack, and `NetkvError` if the rack
        does not support it.
        """
        ends = dict(action.cures)
        self._check(action, duration, ends)
        await action.carry_out(self._rack)
        emitted = self._rack.emit(**self._changes.fields(action, "user"))
        for fault in self._faults:
            for part in action.parts:
                fault.ends.pop(part, None)
        if ends:
            assert emitted.change is not None
            fault = _Injected(emitted.change, emitted.time, duration, ends)
            self._faults.append(fault)
            if duration is not None:
                fault.healing = asyncio.create_task(self._heal(fault, duration))
                self._tasks.add(fault.healing)
                fault.healing.add_done_callback(self._tasks.discard)
        self._forget_ended()

    async def start(self, node: str) -> None:
        """Starts a node; if it was down by a fault, this is the end of the fault."""
        await self._rack.node(node).start()
        if self._changes.impaired(("node", node)):
            self._rack.emit(**self._changes.fields(Start(start=node), "user"))

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

    def _check(self, action: Action, duration: float | None, ends: dict[Target, Action]) -> None:
        rack = self._rack
        event_validation.check_now(
            action,
            rack.spec.lab,
            rack.spec.workload,
            down=[name for name, runs in self._running().items() if not runs],
            partitioned=rack.controller.partitioned,
            optional=rack.scheme.node_kinds,
        )
        if action.NEED is not None:
            event_validation.check_schemes([rack.scheme.name], [(action.NEED, (action.NAME,))])
        if duration is not None and not ends:
            raise FieldError(f"'{action.describe()}' is no fault that can be healed", "duration")

    async def _heal(self, fault: _Injected, duration: float) -> None:
        await asyncio.sleep(duration)
        self.in_force()
        fault.healing = None
        try:
            for part, end in list(fault.ends.items()):
                try:
                    await end.carry_out(self._rack)
                    self._rack.emit(**self._changes.fields(end, "duration"))
                except NetkvError as error:
                    self._rack.emit("note", part[1], f"Not healed: {error}")
        finally:
            fault.ends.clear()
            self._forget_ended()

    def _forget_ended(self) -> None:
        for fault in self._faults:
            if not fault.ends and fault.healing is not None:
                fault.healing.cancel()
        self._faults = [fault for fault in self._faults if fault.ends]
