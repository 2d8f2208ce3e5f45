"""The plan of a scenario: its runs, in order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from netkv import schemes
from netkv.errors import UsageError
from netkv.events import random_faults as faults
from netkv.scenarios import loader, thresholds
from netkv.scenarios.model import Scenario
from netkv.scenarios.plot import misfit
from netkv.schemes import checks


@dataclass(frozen=True)
class PlannedRun:
    """One run: one repeat of a scheme at one point of the sweep."""

    scenario: Scenario
    """With the sweep point applied, the switches of the scheme, and random faults drawn."""
    scheme: str
    params: dict[str, Any]
    """Path → value at this sweep point; empty without a sweep."""
    repeat: int
    seed: int


@dataclass(frozen=True)
class Point:
    """A point that is not one of a scenario's sweep."""

    params: dict[str, Any]
    """Path → value."""
    schemes: tuple[str, ...] | None = None
    """The schemes that run there; None: all."""


def plan(scenario: Scenario, points: Sequence[Point] | None = None) -> list[PlannedRun]:
    """All runs. Schemes alternate, so that a change of the machine's speed affects all of them.

    `points` are executed instead of those of the scenario's sweep. Raises `UsageError` if a scheme
    does not support the lab at some point.
    """
    runs = []
    if points is None:
        points = [Point(params) for params in loader.sweep_points(scenario)]
    for point in points:
        params = point.params
        applied = loader.apply(scenario, params)
        names = scenario.schemes if point.schemes is None else point.schemes
        own = {scheme: applied.of_scheme(scheme) for scheme in names}
        for scheme, each in own.items():
            checks.check(schemes.get(scheme), each.lab, each.workload)
        for repeat in range(scenario.repeat):
            seed = scenario.seed + repeat
            for scheme, each in own.items():
                runs.append(PlannedRun(draw_faults(each, seed), scheme, params, repeat, seed))
    return runs


def draw_faults(scenario: Scenario, seed: int) -> Scenario:
    """The scenario with its random faults as plain events.

    They are the same for every scheme with the same switches.
    """
    if scenario.random_faults is None:
        return scenario
    drawn = faults.expand(
        scenario.random_faults, seed, scenario.duration, scenario.lab, scenario.events
    )
    data = scenario.model_dump(mode="json", exclude_unset=True, exclude={"random_faults"})
    events = [event.model_dump(mode="json", exclude_unset=True) for event in drawn]
    return Scenario.model_validate({**data, "events": [*data.get("events", ()), *events]})


def only_schemes(scenario: Scenario, names: Iterable[str]) -> Scenario:
    """The scenario with these schemes instead of its own.

    Thresholds and plots about other schemes are dropped. Raises `UsageError` for a scheme that does
    not exist or does not support the scenario's events.
    """
    chosen = list(dict.fromkeys(schemes.get(name).name for name in names))
    try:
        scenario.check_timeline(chosen)
    except ValueError as wrong:
        raise UsageError(f"scenario '{scenario.name}': {wrong}.") from wrong
    known = {*chosen, *scenario.schemes}
    expect = [
        text
        for text in scenario.expect
        if thresholds.fits(thresholds.compile_expression(text, known), chosen)
    ]
    plots = [plot for plot in scenario.plots if misfit(plot, chosen, scenario.sweep) is None]
    return scenario.model_copy(update={"schemes": chosen, "expect": expect, "plots": plots})
