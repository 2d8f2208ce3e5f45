"""The timeline of a run: it carries out the events of a scenario at their times."""

from __future__ import annotations

from typing import Any

from netkv.errors import FieldError, UsageError
from netkv.events.event import TimelineEvent
from netkv.rack.base import Rack
from netkv.scenarios.model import Scenario
from netkv.scenarios.results import Phase


def check_live(scenario: Scenario) -> None:
    """Raises `UsageError` if only the simulator can run the scenario."""
    if (objection := not_live(scenario)) is not None:
        raise UsageError(str(objection))


def not_live(scenario: Scenario) -> FieldError | None:
    """The part of a scenario that only the simulator supports; None if there is none."""
    for index, event in enumerate(scenario.events):
        if (objection := event.action.not_live(event.at, scenario.lab)) is not None:
            return objection.below("events", index)
    return None


class Timeline:
    """The events of a run, in the order of their times."""

    def __init__(self, scenario: Scenario) -> None:
        self._left = scenario.timeline()
        self._load: dict[str, Any] | None = None
        """The last change of the arrivals, for a restarted client."""

    def next_at(self) -> float | None:
        """When the next event is due, in seconds; None after the last."""
        return self._left[0].at if self._left else None

    def take(self, elapsed: float) -> list[TimelineEvent]:
        """Removes and returns the events that are due by now."""
        due = [event for event in self._left if event.at <= elapsed]
        self._left = self._left[len(due) :]
        return due

    async def perform(self, event: TimelineEvent, rack: Rack, phase: Phase) -> None:
        """Carries out an event; raises `NetkvError` if the rack does not support it."""
        action = event.action
        self._load = action.arrivals or self._load
        await action.carry_out(rack)
        if action.comes_up == rack.client.name:
            await self._resume(rack, phase)

    async def _resume(self, rack: Rack, phase: Phase) -> None:
        """Restores arrivals and phase in a restarted load generator."""
        if self._load is not None:
            await rack.client.command(self._load)
        await rack.client.command({"do": "phase", "name": phase})
