"""Figures of a run's recoveries: the longest one, its phases, and unfinished recoveries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from netkv.model.nodes import Controller
from netkv.model.report import RackEvent
from netkv.scenarios.results import Recovery, RunEvent, UnfinishedRecovery

METRIC = "recovery_time"
"""Seconds of the longest recovery; of its phases: `recovery_time_` and the name of the phase."""


def longest(recoveries: Iterable[Recovery]) -> Recovery | None:
    """The recovery of the longest duration; None if there was none."""
    return max(recoveries, key=lambda each: each.seconds, default=None)


def seconds(recoveries: Iterable[Recovery], metric: str = METRIC) -> float | None:
    """A metric of recoveries; None if there were none, or none with this phase."""
    found = longest(recoveries)
    if found is None or metric == METRIC:
        return None if found is None else found.seconds
    spent = [each.seconds for each in found.phases if phase_metric(each.name) == metric]
    return sum(spent) if spent else None


def phase_metric(name: str) -> str:
    """The name of the duration of a phase in thresholds: `recovery_time_update_servers`."""
    return f"{METRIC}_{re.sub(r'[^a-z0-9]+', '_', name.lower()).strip('_')}"


def interrupted(found: Iterable[UnfinishedRecovery]) -> int:
    """Number of unfinished recoveries whose switch was recovered by a later one."""
    return sum(each.recovered for each in found)


def not_recovered(found: Iterable[UnfinishedRecovery]) -> list[UnfinishedRecovery]:
    """The last unfinished recovery of each switch that was not recovered at the end of the run."""
    return list({each.switch: each for each in found if not each.recovered}.values())


_ENDS = ("killed", "stopped", "failed")


def unfinished(events: Iterable[RunEvent]) -> list[UnfinishedRecovery]:
    """The recoveries that were not completed, from the events of a run.

    A recovery may begin when its switch is lost, and again when the switch is back: that is one
    recovery.
    """
    ended: list[_Begun] = []
    open_: dict[str, _Begun] = {}
    down: set[str] = set()
    for event in events:
        if event.kind == "started":
            down.discard(event.node)
        elif event.kind == "recovering":
            before = open_.get(event.node)
            if before is not None and before.of_lost_switch and before.cut is None:
                ended.remove(before)
            elif before is not None:
                before.cut = before.cut or event
            open_[event.node] = _Begun(event, of_lost_switch=event.node in down)
            ended.append(open_[event.node])
        elif event.kind == "recovered":
            open_.pop(event.node, None)
            for begun in ended:
                begun.recovered |= begun.event.node == event.node
            ended = [begun for begun in ended if begun.cut or begun.event.node != event.node]
        elif event.kind in _ENDS:
            down.add(event.node)
            for switch, begun in open_.items():
                if event.node in (switch, Controller.NAME):
                    begun.cut = begun.cut or event
    return [_describe(begun) for begun in ended]


def recovering_after(switches: Sequence[str], event: RackEvent) -> list[str]:
    """The switches that recover after an event; `switches`: those before it, in order."""
    if event.kind == "recovering":
        return [*(each for each in switches if each != event.node), event.node]
    if event.kind in _ENDS and event.node == Controller.NAME:
        return []
    if event.kind in (*_ENDS, "recovered"):
        return [each for each in switches if each != event.node]
    return list(switches)


@dataclass
class _Begun:
    event: RunEvent
    of_lost_switch: bool = False
    """Whether the switch did not run when it began."""
    cut: RunEvent | None = None
    recovered: bool = False


def _describe(begun: _Begun) -> UnfinishedRecovery:
    cut = begun.cut
    by = None
    interrupted = ""
    if cut is not None:
        # The next recovery may begin without a kill, after a lost connection.
        by = f"{cut.node} {cut.kind}" if cut.kind in _ENDS else "another beginning"
        interrupted = f"interrupted at {cut.time:.1f} s ({by}), "
    outcome = "recovered by the next" if begun.recovered else "not recovered by the end"
    return UnfinishedRecovery(
        switch=begun.event.node,
        began=begun.event.time,
        ended=None if cut is None else cut.time,
        cut_by=by,
        recovered=begun.recovered,
        text=f"{begun.event.node}: begun at {begun.event.time:.1f} s, {interrupted}{outcome}",
    )
