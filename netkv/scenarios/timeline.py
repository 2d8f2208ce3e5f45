"""The events of a scenario: when each is due, and what it does to the rack."""

from __future__ import annotations

from typing import Any, Protocol

from netkv.scenarios.model import Scenario, TimelineEvent
from netkv.scenarios.results import Phase


class Rack(Protocol):
    """What events need from a rack."""

    async def kill(self, name: str) -> None: ...
    async def stop_node(self, name: str) -> None: ...
    async def start_node(self, name: str) -> None: ...
    async def client(self, command: dict[str, Any]) -> dict[str, Any]: ...


class Timeline:
    """Events in the order of their times, each taken once."""

    def __init__(self, scenario: Scenario) -> None:
        self._left = scenario.timeline()
        self._load: dict[str, Any] | None = None
        """The last change of the arrivals: a client that starts again has to hear of it."""

    def next_at(self) -> float | None:
        """When the next event is due, in seconds; None after the last."""
        return self._left[0].at if self._left else None

    def take(self, elapsed: float) -> list[TimelineEvent]:
        """The events that are due by now."""
        due = [event for event in self._left if event.at <= elapsed]
        self._left = self._left[len(due) :]
        return due

    async def perform(self, event: TimelineEvent, rack: Rack, phase: Phase) -> None:
        """Does what an event says; raises `NetkvError` if the rack cannot."""
        if event.kill is not None:
            await rack.kill(event.kill)
        elif event.stop is not None:
            await rack.stop_node(event.stop)
        elif event.start is not None:
            await rack.start_node(event.start)
            if event.start == "client":
                await self._resume(rack, phase)
        elif event.shift is not None:
            shift = event.shift.model_dump(mode="json", exclude={"every"})
            await rack.client({"do": "shift", **shift})
        else:
            self._load = {"do": event.action, "value": getattr(event, event.action)}
            await rack.client(self._load)

    async def _resume(self, rack: Rack, phase: Phase) -> None:
        """Puts a new load generator to the work that the old one did."""
        if self._load is not None:
            await rack.client(self._load)
        await rack.client({"do": "phase", "name": phase})
