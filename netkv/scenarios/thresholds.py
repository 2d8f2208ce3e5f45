"""`expect` lines: comparisons over results.

    SCHEME.throughput_ops >= 2 * OTHER.throughput_ops

A line is one comparison. Either side may use numbers, + - * /, parentheses, `abs`, `min`, `max`,
and `SCHEME.METRIC`. A dash in the name of a scheme is written as an underscore; `each` stands for
every scheme that runs, and the line must hold for all of them. Over repeats, the definition of the
metric (`netkv.metrics`) selects the mean, the sum, or whether it holds for all. Over a sweep the
line must hold at every sweep point. `recovery_time_PHASE` is a metric of schemes whose recoveries
have phases.

Lines are parsed into Python's syntax tree, which this module evaluates; `eval` is never used.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from netkv.errors import UsageError, suggest
from netkv.scenarios import recovery
from netkv.scenarios.results import RunResult, Summary, Threshold
from netkv.scenarios.statistics import over_repeats
from netkv.scenarios.values import of_run
from netkv.schemes import all_schemes, metric_table

_COMPARE: dict[type[ast.cmpop], Callable[[float, float], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_BINARY: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_FUNCTIONS: dict[str, Callable[..., float]] = {"abs": abs, "min": min, "max": max}
_MAX_LENGTH = 500
_MAX_MISSES_LISTED = 5
"""Further points or schemes for which a line does not hold that its verdict lists, at most."""
EACH = "each"
"""Stands for every scheme in turn."""


def known() -> list[str]:
    """The metrics that may follow `SCHEME.`, for any scheme."""
    return sorted(metric.name for metric in metric_table.all_metrics() if metric.of_runs)


@dataclass(frozen=True)
class Expression:
    """A checked `expect` line."""

    text: str
    left: ast.expr
    compare: type[ast.cmpop]
    right: ast.expr


@dataclass(frozen=True)
class Quantity:
    """A checked expression without a comparison, over the metrics of one run for each scheme."""

    text: str
    tree: ast.expr

    def metrics(self) -> set[tuple[str, str]]:
        """The (scheme, metric) pairs in it."""
        names = {_identifier(scheme.name): scheme.name for scheme in all_schemes()}
        return {
            (names[node.value.id], node.attr)
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        }

    def value(self, runs: Mapping[str, Mapping[str, float]]) -> float:
        """Its value from the metrics of each scheme; raises `KeyError` for a missing one."""
        named = {_identifier(scheme): metrics for scheme, metrics in runs.items()}
        return _value(self.tree, lambda scheme, metric: named[scheme][metric])


def compile_quantity(text: str) -> Quantity:
    """Parses an expression such as `SCHEME.throughput_ops / OTHER.throughput_ops`.

    Raises `UsageError` if it is wrong.
    """
    tree = _parse(text)
    _check(tree, text, {_identifier(scheme.name) for scheme in all_schemes()})
    return Quantity(text, tree)


def metric_of(run: RunResult, name: str) -> float | None:
    """A metric of one run by its name, or the time of a phase; None if the run does not have it."""
    metric = metric_table.find(name)
    return recovery.seconds(run.recoveries, name) if metric is None else of_run(metric, run)


def compile_expression(text: str, schemes: Iterable[str]) -> Expression:
    """Parses and checks an `expect` line; raises `UsageError` if it is wrong."""
    names = {EACH, *map(_identifier, schemes)}
    tree = _parse(text)
    if not isinstance(tree, ast.Compare) or len(tree.ops) != 1 or type(tree.ops[0]) not in _COMPARE:
        raise UsageError(f"'{text}' is not one comparison with <, <=, >, >=, == or !=.")
    right = tree.comparators[0]
    for side in (tree.left, right):
        _check(side, text, names)
    return Expression(text, tree.left, type(tree.ops[0]), right)


def _parse(text: str) -> ast.expr:
    if len(text) > _MAX_LENGTH:
        raise UsageError(f"an 'expect' line has at most {_MAX_LENGTH} characters.")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise UsageError(_not_understood(text)) from None


def evaluate(expressions: Iterable[Expression], runs: Iterable[RunResult]) -> list[Threshold]:
    """The verdict on every line; it must hold at each sweep point, and `each` for each scheme.

    `value` is that of the first comparison that does not hold; if all hold, of the first one.
    """
    lines = list(expressions)
    cases: list[list[_Case]] = [[] for _ in lines]
    if lines:
        # One point at a time: all runs of a large sweep take much memory.
        for point, own in by_point(runs):
            of_schemes: dict[str, list[RunResult]] = {}
            for run in own:
                of_schemes.setdefault(_identifier(run.scheme), []).append(run)
            for expression, found in zip(lines, cases, strict=True):
                found += _cases(expression, point, of_schemes)
    return [_verdict(expression, found) for expression, found in zip(lines, cases, strict=True)]


def by_point(runs: Iterable[RunResult]) -> Iterator[tuple[str, list[RunResult]]]:
    """The points of a sweep with their runs, in the order of their first runs."""
    ordered = runs if isinstance(runs, Sequence) else list(runs)
    points: dict[str, list[int]] = {}
    for at, run in enumerate(ordered):
        points.setdefault(point_of(run), []).append(at)
    for point, own in points.items():
        yield point, [ordered[at] for at in own]


def point_of(run: RunResult) -> str:
    """Its point of the sweep: `workload.zipf=0.9, lab.servers=8`; empty without a sweep."""
    return ", ".join(f"{path}={value}" for path, value in run.params.items())


def summarise(runs: Iterable[RunResult]) -> list[Summary]:
    """One line per scheme and sweep point, in the order of the runs."""
    ordered = runs if isinstance(runs, Sequence) else list(runs)
    groups: dict[str, list[int]] = {}
    for at, run in enumerate(ordered):
        groups.setdefault(f"{run.scheme} {sorted(run.params.items())}", []).append(at)
    return [_summary([ordered[at] for at in group]) for group in groups.values()]


def _summary(group: list[RunResult]) -> Summary:
    return Summary(
        scheme=group[0].scheme,
        params=group[0].params,
        not_recovered=sum(len(recovery.not_recovered(run.unfinished_recoveries)) for run in group),
        recoveries_interrupted=sum(
            recovery.interrupted(run.unfinished_recoveries) for run in group
        ),
        failed=sum(run.status == "failed" for run in group),
        cancelled=sum(run.status == "cancelled" for run in group),
        **{
            metric.name: over_repeats(metric, group)
            for metric in metric_table.all_metrics()
            if metric.summary
        },
    )


class UnknownError(Exception):
    """A value that the runs do not have."""


@dataclass(frozen=True)
class _Case:
    """One comparison of a line: at one sweep point, and for one scheme if the line has `each`."""

    scheme: str
    """Empty if the line does not have `each`."""
    point: str
    """Empty without a sweep."""
    ok: bool
    value: float | None
    finding: str
    """The figures, or the reason why there are none."""

    @property
    def where(self) -> str:
        """`SCHEME at workload.zipf=0.9`, `SCHEME`, `workload.zipf=0.9` or nothing."""
        return " at ".join(part for part in (self.scheme, self.point) if part)


def _cases(expression: Expression, point: str, runs: Mapping[str, list[RunResult]]) -> list[_Case]:
    """The comparisons of a line at one point, of which each scheme has its runs."""
    everyone = EACH in _names(expression)
    return [
        _case(expression, {**runs, EACH: own}, scheme, point)
        for scheme, own in (runs.items() if everyone else [("", [])])
    ]


def _verdict(expression: Expression, cases: list[_Case]) -> Threshold:
    if not cases:
        return Threshold(expr=expression.text, ok=False, value=None, detail="there were no runs")
    shown = next((case for case in cases if not case.ok), cases[0])
    detail = _all_met(cases) if shown.ok else _missed(cases, shown)
    return Threshold(expr=expression.text, ok=shown.ok, value=shown.value, detail=detail)


def _case(
    expression: Expression, runs: Mapping[str, list[RunResult]], scheme: str, point: str
) -> _Case:
    def look_up(scheme: str, metric: str) -> float:
        return _metric(scheme, metric, runs.get(scheme, []))

    left: float | None = None
    try:
        left = _value(expression.left, look_up)
        right = _value(expression.right, look_up)
    except UnknownError as unknown:
        return _Case(scheme, point, False, left, str(unknown))
    ok = _COMPARE[expression.compare](left, right)
    return _Case(scheme, point, ok, left, f"{left:.6g} against {right:.6g}")


def _all_met(cases: list[_Case]) -> str:
    """The detail of a line that holds everywhere."""
    points = len({case.point for case in cases})
    everywhere = f" at all {points} sweep points" if points > 1 else ""
    schemes = list(dict.fromkeys(case.scheme for case in cases))
    if schemes == [""]:
        at = f" at {cases[0].point}" if cases[0].point and not everywhere else ""
        return f"met{everywhere}" if everywhere else f"{cases[0].finding}: met{at}"
    if everywhere:
        return f"met for each scheme ({', '.join(schemes)}){everywhere}"
    at = f" at {cases[0].point}" if cases[0].point else ""
    figures = ", ".join(f"{case.scheme} {case.finding}" for case in cases)
    return f"met for each scheme{at}: {figures}"


def _missed(cases: list[_Case], first: _Case) -> str:
    """The detail of a line that does not hold: the first miss, further ones, and the schemes for
    which it holds."""
    of = f" for {first.where}" if first.scheme else f" at {first.point}" if first.point else ""
    detail = f"{first.finding}: not met{of}"
    others = [case.where for case in cases if not case.ok and case is not first]
    if others:
        rest = len(others) - _MAX_MISSES_LISTED
        more = f" and {rest} more" if rest > 0 else ""
        detail += f"; nor {'for' if first.scheme else 'at'} "
        detail += f"{', '.join(others[:_MAX_MISSES_LISTED])}{more}"
    missed = {case.scheme for case in cases if not case.ok}
    met = [name for name in dict.fromkeys(case.scheme for case in cases) if name not in missed]
    return detail + (f"; met for {', '.join(met)}" if met else "")


def _value(node: ast.expr, look_up: Callable[[str, str], float]) -> float:
    match node:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, look_up)
        case ast.BinOp(left=left, op=op, right=right):
            try:
                return _BINARY[type(op)](_value(left, look_up), _value(right, look_up))
            except ZeroDivisionError:
                raise UnknownError(f"'{ast.unparse(right)}' is 0") from None
        case ast.Call(func=ast.Name(id=name), args=args):
            return float(_FUNCTIONS[name](*(_value(arg, look_up) for arg in args)))
        case ast.Attribute(value=ast.Name(id=scheme), attr=metric):
            return look_up(scheme, metric)
        case _:
            raise AssertionError(f"{ast.dump(node)} passed the check")


def _metric(scheme: str, metric: str, runs: list[RunResult]) -> float:
    if not runs:
        raise UnknownError(f"'{scheme}' did not run")
    if any(run.status == "cancelled" for run in runs):
        raise UnknownError(f"a run of '{scheme}' was cancelled")
    row = metric_table.find(metric)
    if row is not None and row.repeats == "all":
        verdict = over_repeats(row, runs)
        if verdict is None:
            raise UnknownError(
                f"'{scheme}.{metric}' is unknown: no read was wrong, but not all were judged"
            )
        return float(bool(verdict))
    if row is not None and row.repeats == "sum":
        total = over_repeats(row, runs)
        if total is None:
            raise UnknownError(
                f"'{scheme}.{metric}' is unknown: a run does not have it, or failed before its "
                f"verification"
            )
        return float(cast("int", total))
    if failed := [run for run in runs if run.status == "failed"]:
        raise UnknownError(f"a run of '{scheme}' failed: {failed[0].reason}")
    if metric.startswith(recovery.METRIC):
        for run in runs:
            for found in recovery.not_recovered(run.unfinished_recoveries):
                raise UnknownError(f"'{scheme}.{metric}' has no value ({found.text})")
    values = [value for run in runs if (value := metric_of(run, metric)) is not None]
    if not values and metric.startswith(recovery.METRIC):
        phases = {
            phase.name: None for run in runs for each in run.recoveries for phase in each.phases
        }
        seen = f"phases: {', '.join(phases)}" if phases else "no switch recovered"
        raise UnknownError(f"'{scheme}.{metric}' has no value ({seen})")
    if not values:
        raise UnknownError(f"'{scheme}.{metric}' has no value")
    return sum(values) / len(values)


def _check(node: ast.expr, text: str, schemes: set[str]) -> None:
    match node:
        case ast.Constant(value=bool()):
            raise UsageError(_not_understood(text))
        case ast.Constant(value=int() | float()):
            return
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            _check(operand, text, schemes)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            _check(left, text, schemes)
            _check(right, text, schemes)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            if not args or (name == "abs") != (len(args) == 1):
                wanted = "one value" if name == "abs" else "two values or more"
                raise UsageError(f"'{name}' in '{text}' takes {wanted}.")
            for arg in args:
                _check(arg, text, schemes)
        case ast.Attribute(value=ast.Name(id=scheme), attr=metric):
            if scheme not in schemes:
                raise UsageError(
                    f"'{scheme}' in '{text}' is not a scheme of this scenario.\n"
                    f"  {suggest(scheme, schemes, label='Schemes')}"
                )
            names = (*known(), *_phase_metrics(schemes if scheme == EACH else {scheme}))
            if metric not in names:
                raise UsageError(
                    f"'{metric}' in '{text}' is not a metric.\n"
                    f"  {suggest(metric, names, label='Metrics')}"
                )
        case _:
            raise UsageError(_not_understood(text))


def _phase_metrics(schemes: set[str]) -> list[str]:
    """The metrics of the recovery phases of these schemes."""
    phases = [
        phase
        for scheme in all_schemes()
        if _identifier(scheme.name) in schemes
        for phase in scheme.recovery_phases
    ]
    return sorted({recovery.phase_metric(phase) for phase in phases})


def _not_understood(text: str) -> str:
    return (
        f"'{text}' is not understood: a threshold is a comparison such as "
        f"SCHEME.throughput_ops >= 2 * OTHER.throughput_ops."
    )


def _identifier(scheme: str) -> str:
    return scheme.replace("-", "_")


def fits(expression: Expression, schemes: Iterable[str]) -> bool:
    """Whether an expression names none but these schemes."""
    return _names(expression) <= {EACH, *map(_identifier, schemes)}


def is_about_each(expression: Expression) -> bool:
    """Whether it holds for each scheme or not, independently of the others."""
    return _names(expression) == {EACH}


def _names(expression: Expression) -> set[str]:
    return {
        node.value.id
        for side in (expression.left, expression.right)
        for node in ast.walk(side)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
