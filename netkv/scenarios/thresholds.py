"""`expect` lines: comparisons over results.

    netcache.throughput_ops >= 2 * nocache.throughput_ops

A line is one comparison. Either side may use numbers, + - * /, parentheses, `abs`, `min`, `max`,
and `SCHEME.METRIC`. A scheme whose name has a dash is written with an underscore; `each` stands for
every scheme that runs, and the line must hold for all of them. Over repeats the mean counts, and
over a sweep the line must hold at every sweep point. Counts of losses (`acked_writes_lost`,
`stale_reads`, `violations`, `lost_ops`, `unknown`, `failed`) are sums over the repeats;
`linearizable` is 1 if all of them are, and 0 if one is not. `recovery_time_PHASE` is a metric of
schemes whose recoveries have phases.

Lines are parsed into Python's syntax tree and walked here; nothing is ever evaluated as Python.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from netkv.errors import UsageError, suggest
from netkv.scenarios import recovery
from netkv.scenarios.results import Interval, RunResult, Summary, Threshold
from netkv.scenarios.statistics import all_of, interval
from netkv.schemes import all_schemes

_MEANS: dict[str, Callable[[RunResult], float | None]] = {
    "throughput_ops": lambda run: run.throughput_ops,
    "hit_ratio": lambda run: run.hit_ratio,
    "predicted_hit_ratio": lambda run: run.predicted_hit_ratio,
    "latency_mean_us": lambda run: run.latency_us.mean,
    "latency_p50_us": lambda run: run.latency_us.p50,
    "latency_p95_us": lambda run: run.latency_us.p95,
    "latency_p99_us": lambda run: run.latency_us.p99,
    "latency_p999_us": lambda run: run.latency_us.p999,
    "load_imbalance": lambda run: imbalance(run.server_load),
    "busiest_server_ops": lambda run: max(run.server_load, default=None),
    "keys_per_s": lambda run: run.keys_per_s,
    "groups_per_request": lambda run: run.groups_per_request,
    "coordinator_utilization": lambda run: run.coordinator_utilization,
    "control_plane_bytes_per_s": lambda run: run.control_plane_bytes_per_s,
    "control_plane_mib_per_s": lambda run: run.control_plane_mib_per_s,
    recovery.METRIC: lambda run: recovery.seconds(run.recoveries),
    "control_dropped": lambda run: float(run.control_dropped),
    "reports_dropped": lambda run: float(run.reports_dropped),
    "retries": lambda run: float(run.retries),
    "ignored": lambda run: float(run.ignored),
    "preserved_peak": lambda run: float(run.preserved_peak),
    "preserved_peak_bytes": lambda run: float(run.preserved_peak_bytes),
}
_SUMS: dict[str, Callable[[RunResult], float | None]] = {
    "acked_writes_lost": lambda run: run.acked_writes_lost,
    "stale_reads": lambda run: run.stale_reads,
    "phantom_reads": lambda run: run.phantom_reads,
    "violations": lambda run: run.violation_count if run.checked_ops else None,
    "lost_ops": lambda run: run.lost_ops,
    "unknown": lambda run: run.unknown,
    "failed": lambda run: float(run.status == "failed"),
}
METRICS = tuple(sorted({*_MEANS, *_SUMS, "linearizable"}))
"""What may stand behind `SCHEME.` of any scheme; `load_imbalance` is the busiest server's load over
the mean, `busiest_server_ops` that load in operations per second, `recovery_time` the seconds of
the longest recovery of a switch."""

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
_MAX_MISSES_TOLD = 5
"""Places beside the first at which a line does not hold that its verdict names."""
EACH = "each"
"""Stands for every scheme in turn."""
SUMS = tuple(_SUMS)
"""Metrics of which the sum over the repeats counts, not the mean."""


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
        """The (scheme, metric) pairs that it names."""
        return {
            (node.value.id, node.attr)
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        }

    def value(self, runs: Mapping[str, Mapping[str, float]]) -> float:
        """Its value; raises `KeyError` for a scheme or a metric that is not there."""
        return _value(self.tree, lambda scheme, metric: runs[scheme][metric])


def compile_quantity(text: str) -> Quantity:
    """Parses an expression such as `farreach.throughput_ops / nocache.throughput_ops`.

    Raises `UsageError` that says what is wrong with it.
    """
    tree = _parse(text)
    _check(tree, text, {_identifier(scheme.name) for scheme in all_schemes()})
    return Quantity(text, tree)


def metric_of(run: RunResult, metric: str) -> float | None:
    """A metric of one run; None if the run does not have it."""
    if metric == "linearizable":
        return None if run.linearizable is None else float(run.linearizable)
    of_run = _MEANS.get(metric) or _SUMS.get(metric)
    return of_run(run) if of_run else recovery.seconds(run.recoveries, metric)


def imbalance(load: Iterable[float]) -> float | None:
    """Load of the busiest server over the mean load: 1 is perfectly even; None without load."""
    values = list(load)
    total = sum(values)
    return max(values) * len(values) / total if values and total > 0 else None


def compile_expression(text: str, schemes: Iterable[str]) -> Expression:
    """Parses and checks an `expect` line; raises `UsageError` that says what is wrong with it."""
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

    `value` is that of the first miss; of a line that holds everywhere, of the first comparison.
    """
    points: dict[str, dict[str, list[RunResult]]] = {}
    for run in runs:
        point = ", ".join(f"{path}={value}" for path, value in run.params.items())
        points.setdefault(point, {}).setdefault(_identifier(run.scheme), []).append(run)
    return [_over_points(expression, points) for expression in expressions]


def summarise(runs: Iterable[RunResult]) -> list[Summary]:
    """One line per scheme and sweep point, in the order of the runs."""
    groups: dict[str, list[RunResult]] = {}
    for run in runs:
        groups.setdefault(f"{run.scheme} {sorted(run.params.items())}", []).append(run)
    return [_summary(group) for group in groups.values()]


def _summary(group: list[RunResult]) -> Summary:
    done = [run for run in group if run.status == "done"]

    def over(metric: str) -> Interval | None:
        values = [_MEANS[metric](run) for run in done]
        return interval([value for value in values if value is not None])

    lost = [run.acked_writes_lost for run in group]
    return Summary(
        scheme=group[0].scheme,
        params=group[0].params,
        throughput_ops=over("throughput_ops"),
        latency_mean_us=over("latency_mean_us"),
        latency_p99_us=over("latency_p99_us"),
        hit_ratio=over("hit_ratio"),
        predicted_hit_ratio=over("predicted_hit_ratio"),
        control_plane_mib_per_s=over("control_plane_mib_per_s"),
        recovery_time=over(recovery.METRIC),
        not_recovered=sum(len(recovery.not_recovered(run.unfinished_recoveries)) for run in group),
        acked_writes_lost=None if None in lost else sum(count or 0 for count in lost),
        stale_reads=sum(run.stale_reads for run in group),
        linearizable=all_of(run.linearizable for run in group),
        lost_ops=sum(run.lost_ops for run in group),
        failed=len(group) - len(done),
    )


class _UnknownError(Exception):
    """A value that the runs do not give."""


@dataclass(frozen=True)
class _Case:
    """One comparison of a line: for one scheme, if it is about each, and at one sweep point."""

    scheme: str
    """Empty if the line is not about each scheme."""
    point: str
    """Empty without a sweep."""
    ok: bool
    value: float | None
    finding: str
    """The figures, or why there are none."""

    @property
    def where(self) -> str:
        """`netcache at workload.zipf=0.9`, or what there is of it."""
        return " at ".join(part for part in (self.scheme, self.point) if part)


def _over_points(
    expression: Expression, points: Mapping[str, Mapping[str, list[RunResult]]]
) -> Threshold:
    everyone = EACH in _names(expression)
    cases = [
        _case(expression, {**runs, EACH: own}, scheme, point)
        for point, runs in points.items()
        for scheme, own in (runs.items() if everyone else [("", [])])
    ]
    if not cases:
        return Threshold(expr=expression.text, ok=False, value=None, detail="there were no runs")
    told = next((case for case in cases if not case.ok), cases[0])
    detail = _all_met(cases) if told.ok else _missed(cases, told)
    return Threshold(expr=expression.text, ok=told.ok, value=told.value, detail=detail)


def _case(
    expression: Expression, runs: Mapping[str, list[RunResult]], scheme: str, point: str
) -> _Case:
    def look_up(scheme: str, metric: str) -> float:
        return _metric(scheme, metric, runs.get(scheme, []))

    left: float | None = None
    try:
        left = _value(expression.left, look_up)
        right = _value(expression.right, look_up)
    except _UnknownError as unknown:
        return _Case(scheme, point, False, left, str(unknown))
    ok = _COMPARE[expression.compare](left, right)
    return _Case(scheme, point, ok, left, f"{left:.6g} against {right:.6g}")


def _all_met(cases: list[_Case]) -> str:
    """What to say of a line that holds everywhere."""
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
    """What to say of a line that does not hold: where it first does not, where else, and for which
    schemes it does."""
    of = f" for {first.where}" if first.scheme else f" at {first.point}" if first.point else ""
    detail = f"{first.finding}: not met{of}"
    others = [case.where for case in cases if not case.ok and case is not first]
    if others:
        rest = len(others) - _MAX_MISSES_TOLD
        more = f" and {rest} more" if rest > 0 else ""
        detail += f"; nor {'for' if first.scheme else 'at'} "
        detail += f"{', '.join(others[:_MAX_MISSES_TOLD])}{more}"
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
                raise _UnknownError(f"'{ast.unparse(right)}' is 0") from None
        case ast.Call(func=ast.Name(id=name), args=args):
            return float(_FUNCTIONS[name](*(_value(arg, look_up) for arg in args)))
        case ast.Attribute(value=ast.Name(id=scheme), attr=metric):
            return look_up(scheme, metric)
        case _:
            raise AssertionError(f"{ast.dump(node)} passed the check")


def _metric(scheme: str, metric: str, runs: list[RunResult]) -> float:
    if not runs:
        raise _UnknownError(f"'{scheme}' did not run")
    if metric == "linearizable":
        verdict = all_of(run.linearizable for run in runs)
        if verdict is None:
            raise _UnknownError(
                f"'{scheme}.linearizable' is unknown: no read was wrong, but not all were judged"
            )
        return float(verdict)
    if metric in _SUMS:
        counts = [_SUMS[metric](run) for run in runs]
        if any(count is None for count in counts):
            raise _UnknownError(
                f"'{scheme}.{metric}' is unknown: a run failed before its verification"
            )
        return float(sum(count for count in counts if count is not None))
    if failed := [run for run in runs if run.status == "failed"]:
        raise _UnknownError(f"a run of '{scheme}' failed: {failed[0].reason}")
    if metric.startswith(recovery.METRIC):
        for run in runs:
            for found in recovery.not_recovered(run.unfinished_recoveries):
                raise _UnknownError(f"'{scheme}.{metric}' has no value ({found.text})")
    of_run = _MEANS.get(metric) or (lambda run: recovery.seconds(run.recoveries, metric))
    values = [value for run in runs if (value := of_run(run)) is not None]
    if not values and metric.startswith(recovery.METRIC):
        phases = {
            phase.name: None for run in runs for each in run.recoveries for phase in each.phases
        }
        seen = f"phases: {', '.join(phases)}" if phases else "no switch recovered"
        raise _UnknownError(f"'{scheme}.{metric}' has no value ({seen})")
    if not values:
        raise _UnknownError(f"'{scheme}.{metric}' has no value")
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
            known = (*METRICS, *_phase_metrics(schemes if scheme == EACH else {scheme}))
            if metric not in known:
                raise UsageError(
                    f"'{metric}' in '{text}' is not a metric.\n"
                    f"  {suggest(metric, known, label='Metrics')}"
                )
        case _:
            raise UsageError(_not_understood(text))


def _phase_metrics(schemes: set[str]) -> list[str]:
    """Metrics that only schemes have whose recoveries have phases."""
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
        f"netcache.throughput_ops >= 2 * nocache.throughput_ops."
    )


def _identifier(scheme: str) -> str:
    return scheme.replace("-", "_")


def schemes_in(expression: Expression) -> set[str]:
    """The schemes that an expression names, dashes written as underscores."""
    return _names(expression) - {EACH}


def _names(expression: Expression) -> set[str]:
    return {
        node.value.id
        for side in (expression.left, expression.right)
        for node in ast.walk(side)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
