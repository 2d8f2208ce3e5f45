"""`netkv scenario search`: which points of a scenario answer a question."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netkv.cli import places
from netkv.cli.output import print_json, stdout, write
from netkv.errors import UsageError

if TYPE_CHECKING:
    from netkv.cli.stored import Rounds, Stored
    from netkv.scenarios.model import Scenario
    from netkv.scenarios.results import RunResult, ScenarioResult
    from netkv.scenarios.run_plan import Point
    from netkv.studies.axes import Axis, Range
    from netkv.studies.edge import Edge

_SHOWN = 10
"""Points of the table of the best ones."""


@dataclass(frozen=True)
class Question:
    """What a search is to find; nothing: it spreads points."""

    over: Sequence[str]
    points: int
    sampler: str | None
    maximise: str | None
    minimise: str | None
    edge: str | None
    within: float
    """Percent."""

    def check(self) -> None:
        """Raises `UsageError` for options that do not go together."""
        from netkv.studies.samplers import SAMPLERS

        asked = [it for it in (self.maximise, self.minimise, self.edge) if it is not None]
        if len(asked) > 1:
            raise UsageError("Give one of '--maximise', '--minimise' and '--edge'.")
        known = {**dict.fromkeys(SAMPLERS), "tpe": None}
        if self.sampler is not None and self.sampler not in known:
            raise UsageError(f"There is no sampler '{self.sampler}'. Samplers: {', '.join(known)}.")
        if self.sampler == "tpe" and self.maximise is self.minimise:
            raise UsageError("The sampler 'tpe' needs '--maximise' or '--minimise'.")
        if self.edge is not None and self.sampler is not None:
            raise UsageError("'--edge' divides a range, and has no '--sampler'.")


def search(
    scenario: Scenario, question: Question, jobs: int | None, on: str | None, again: bool
) -> tuple[Stored, dict[str, Any]]:
    """Executes a search; returns all its runs, and what it has found."""
    from netkv.cli import stored
    from netkv.runs import walltime
    from netkv.studies import axes as reading
    from netkv.worker_process import cores

    question.check()
    axes = [reading.parse(text) for text in question.over]
    _check_paths(scenario, axes)
    place = places.chosen(on, jobs)
    history = walltime.stored(scenario.name)
    with stored.rounds(
        jobs=jobs or cores(), place=place, history=history, resume=not again
    ) as opened:
        if question.edge is not None:
            result, found = _edges(opened, scenario, axes, question)
        elif question.maximise is not None or question.minimise is not None:
            result, found = _best(opened, scenario, axes, question)
        else:
            result, found = _spread(opened, scenario, axes, question)
        return opened.stored(result), found


def show(found: dict[str, Any]) -> None:
    """Prints what a search has found."""
    for each in found.get("edges", ()):
        stdout().print(each["text"], markup=False, highlight=False, soft_wrap=True)
    if "best" in found:
        what = "largest" if found["maximise"] else "smallest"
        write(f"The {what} values of {found['expression']}:")
        stdout().print(_table(found))


def document(result: ScenarioResult, found: dict[str, Any]) -> None:
    """Prints it as JSON."""
    whole = result.model_copy(update={"runs": list(result.runs)})
    print_json({**found, "result": whole.model_dump(mode="json")})


def _check_paths(scenario: Scenario, axes: Sequence[Axis]) -> None:
    from netkv.scenarios import loader

    if not axes:
        raise UsageError("What to vary is missing: --over 'workload.zipf=0.5..1.2'.")
    if doubled := {it.path for it in axes if sum(it.path == each.path for each in axes) > 1}:
        raise UsageError(f"--over: '{doubled.pop()}' is given twice.")
    for each in axes:
        for value in each.to_check():
            loader.check_point(scenario, {each.path: value})


def _spread(
    rounds: Rounds, scenario: Scenario, axes: Sequence[Axis], question: Question
) -> tuple[ScenarioResult, dict[str, Any]]:
    from netkv.scenarios.run_plan import Point
    from netkv.studies.samplers import SAMPLERS

    drawn = SAMPLERS[question.sampler or "sobol"](axes, question.points, scenario.seed)
    return rounds.run(scenario, [Point(params) for params in drawn]), {}


def _best(
    rounds: Rounds, scenario: Scenario, axes: Sequence[Axis], question: Question
) -> tuple[ScenarioResult, dict[str, Any]]:
    from netkv.scenarios import thresholds
    from netkv.scenarios.run_plan import Point
    from netkv.studies import by_seed
    from netkv.studies.best import Best
    from netkv.studies.samplers import SAMPLERS

    text = question.maximise or question.minimise or ""
    quantity = thresholds.compile_quantity(text)
    _check_schemes(scenario, {scheme for scheme, _ in quantity.metrics()}, text)
    maximise = question.maximise is not None
    sampler = question.sampler or "tpe"
    values: dict[str, tuple[dict[str, Any], float | None]] = {}

    def run(points: list[Point], title: str | None) -> ScenarioResult:
        result = rounds.run(scenario, points, title)
        by_point = _by_point(result.runs)
        for point in points:
            own = by_seed.values(quantity, by_point.get(_text(point.params), []))
            (seeds,) = own.values() or ([],)
            mean = math.fsum(seeds) / len(seeds) if seeds else None
            values[_text(point.params)] = point.params, mean
        return result

    if sampler == "tpe":
        model = Best(axes, maximise=maximise, seed=scenario.seed)
        tried: list[Point] = []
        while len(tried) < question.points:
            count = max(rounds.width // (len(scenario.schemes) * scenario.repeat), 1)
            new = model.following(min(count, question.points - len(tried)))
            tried += map(Point, new)
            result = run(_each_once(tried), f"{len(tried)} of {question.points} points")
            model.told([values[_text(params)][1] for params in new])
    else:
        drawn = SAMPLERS[sampler](axes, question.points, scenario.seed)
        result = run([Point(params) for params in drawn], None)
    known = [(params, value) for params, value in values.values() if value is not None]
    known.sort(key=lambda each: each[1], reverse=maximise)
    found = [{"params": params, "value": value} for params, value in known]
    return result, {"expression": text, "maximise": maximise, "best": found}


def _edges(
    rounds: Rounds, scenario: Scenario, axes: Sequence[Axis], question: Question
) -> tuple[ScenarioResult, dict[str, Any]]:
    from netkv.scenarios import thresholds
    from netkv.scenarios.run_plan import Point
    from netkv.studies.axes import Range
    from netkv.studies.edge import Edge

    if len(axes) != 1 or not isinstance(axes[0], Range):
        raise UsageError(
            "'--edge' needs one '--over' with a range, such as 'lab.servers=4..64 int'."
        )
    axis: Range = axes[0]
    condition = thresholds.compile_expression(question.edge or "", scenario.schemes)
    # Each scheme has an edge of its own, unless the condition is about several together.
    everyone = [(name,) for name in scenario.schemes]
    groups = everyone if thresholds.is_about_each(condition) else [tuple(scenario.schemes)]
    searches = {schemes: Edge(axis, question.within / 100) for schemes in groups}
    tried: list[Point] = []
    while left := {own: each for own, each in searches.items() if not each.over()}:
        runs = sum(len(own) for own in left) * scenario.repeat
        count = max(rounds.width // runs, 1)
        new = {own: each.following(count) for own, each in left.items()}
        tried += [Point({axis.path: it}, own) for own, values in new.items() for it in values]
        result = rounds.run(scenario, tried, f"{len(tried)} points")
        by_point = _by_point(result.runs)
        for own, each in left.items():
            held = {}
            for value in new[own]:
                alike = by_point.get(_text({axis.path: value}), [])
                runs_there = [run for run in alike if run.scheme in own]
                (verdict,) = thresholds.evaluate([condition], runs_there)
                held[value] = verdict.ok
            each.told(held)
    edges = [_described(axis, own, groups, each) for own, each in searches.items()]
    return result, {"condition": question.edge, "path": axis.path, "edges": edges}


def _described(
    axis: Range, schemes: tuple[str, ...], groups: Sequence[object], edge: Edge
) -> dict[str, Any]:
    whom = "" if len(groups) == 1 and len(schemes) > 1 else f"{schemes[0]}: "
    values = {f"{value:g}": held for value, held in sorted(edge.held.items())}
    found: dict[str, Any] = {"schemes": list(schemes), "values": values}
    if not edge.exists:
        both = f"at {axis.low:g} and at {axis.high:g}, so no edge was looked for between them"
        text = f"it holds {both}"
        if not edge.holds_at_low:
            text = f"it holds neither {both.replace(' and ', ' nor ')}"
        return {**found, "holds": None, "fails": None, "text": f"{whom}{text}."}
    holds, fails = edge.bracket
    text = f"{whom}it holds {'up' if edge.holds_at_low else 'down'} to {axis.path}={holds:g}, and "
    text += f"not at {fails:g} ({len(edge.held)} values tried)."
    if edge.islands:
        listed = ", ".join(f"{value:g}" for value in edge.islands)
        text += f" It holds again at {listed}: it is not monotonic, or not with these seeds."
    return {**found, "holds": holds, "fails": fails, "text": text}


def _by_point(runs: Sequence[RunResult]) -> dict[str, list[RunResult]]:
    found: dict[str, list[RunResult]] = {}
    for run in runs:
        found.setdefault(_text(run.params), []).append(run)
    return found


def _each_once(points: Sequence[Point]) -> list[Point]:
    return list({_text(point.params): point for point in points}.values())


def _text(params: dict[str, Any]) -> str:
    return repr(sorted(params.items()))


def _check_schemes(scenario: Scenario, named: set[str], text: str) -> None:
    if not named:
        raise UsageError(
            f"'{text}' names no metric of a scheme, such as {scenario.schemes[0]}.throughput_ops."
        )
    for name in sorted(named - set(scenario.schemes)):
        raise UsageError(f"'{name}' in '{text}' is not a scheme of this scenario.")


def _table(found: dict[str, Any]) -> Any:
    from rich import box
    from rich.table import Table

    best = found["best"]
    table = Table(box=box.SIMPLE_HEAD)
    for path in best[0]["params"] if best else ():
        table.add_column(path, justify="right")
    table.add_column("value", justify="right")
    for each in best[:_SHOWN]:
        table.add_row(*(f"{value}" for value in each["params"].values()), f"{each['value']:.6g}")
    return table
