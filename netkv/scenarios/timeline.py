"""The timeline of a run: it carries out the events of a scenario at their times."""

from __future__ import annotations

from typing import Any

from netkv.errors import FieldError, UsageError
from netkv.model.events import TimelineEvent
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
        if event.after_actions is not None:
            return FieldError(
                f"The event at {event.at:g} s kills the controller between two of its actions "
                f"('after_actions'). Only the simulator can do that ('--mode sim').",
                *("events", index, "after_actions"),
            )
        if event.storage == "kept" and scenario.lab.backend == "memory":
            return FieldError(
                f"The event at {event.at:g} s starts '{event.start}' with 'storage: kept', but a "
                f"store in memory ends with its process. Use 'lab.backend: rocksdb' "
                f"or 'redis', or 'storage: lost', or the simulator.",
                *("events", index, "storage"),
            )
    return None


async def carry_out(event: TimelineEvent, rack: Rack) -> None:
    """Carries out an event other than a change of the arrivals; raises `NetkvError`."""
    if event.after_actions is not None:
        rack.controller.kill_after(event.after_actions)
    elif event.kill is not None:
        await rack.node(event.kill).kill()
    elif event.crash is not None:
        await rack.client.command({"do": "crash"})
    elif event.stop is not None:
        await rack.node(event.stop).stop()
    elif event.start is not None:
        await rack.node(event.start).start(event.storage)
    elif event.link is not None:
        link = rack.link(event.link.node)
        for direction in event.link.directions:
            await link.impair(direction, event.link.impairment)
    elif event.slow is not None:
        await rack.server_process(event.slow.node).slow(event.slow.factor)
    elif event.partition is not None:
        rack.controller.partition()
    elif event.heal is not None:
        rack.controller.heal()
    elif event.shift is not None:
        shift = event.shift.model_dump(mode="json", exclude={"every"})
        await rack.client.command({"do": "shift", **shift})


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
        if event.rate is not None or event.outstanding is not None:
            self._load = {"do": event.action, "value": getattr(event, event.action)}
            await rack.client.command(self._load)
            return
        await carry_out(event, rack)
        if event.start == rack.client.name:
            await self._resume(rack, phase)

    async def _resume(self, rack: Rack, phase: Phase) -> None:
        """Restores arrivals and phase in a restarted load generator."""
        if self._load is not None:
            await rack.client.command(self._load)
        await rack.client.command({"do": "phase", "name": phase})
