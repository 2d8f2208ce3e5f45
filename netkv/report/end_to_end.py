"""Results of `netkv bench e2e`: a table for the terminal, figures, and a page with both."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator

from rich import box
from rich.table import Table

from netkv.bench.end_to_end import EndToEnd
from netkv.bench.result import BenchResult, Document
from netkv.report import page, text
from netkv.report.figure import Axis, Figure, Series
from netkv.report.style import nth

TITLE = "End to end over UDP"

RATIOS = {
    "throughput_to_echo": "throughput, switch to echo",
    "latency_to_echo": "latency, switch to echo",
    "throughput_to_echo_with_trains": "throughput, switch to echo, both with trains",
    "latency_to_echo_with_trains": "latency, switch to echo, both with trains",
    "throughput_with_trains_to_plain_echo": "throughput, switch with trains to echo without",
}
"""Ratio in the document → its name for users."""

_OF_PIPELINES = re.compile(
    r"(throughput|capacity)_of_(echo|switch)(_with_trains)?_with_(\d)_pipelines"
)

_HEADER = ("program", "path", "executor", "value\nbytes", "requests/s", "to\necho")
_TIMES = ("p50", "p99", "core ns\na request")
_ORDER = ("udp-echo", "interpreter", "compiled", "handwritten", "redis", "memcached")


def shown(found: EndToEnd) -> Iterator[Table | str]:
    """A table with a line for each measurement, and the ratios."""
    yield _table(found)
    for name, ratio in ratios(found):
        yield f"{ratio:6.2f}  {name}"


def _table(found: EndToEnd) -> Table:
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in (*_HEADER, *_TIMES):
        left = name in _HEADER[:3]
        shown.add_column(name, justify="left" if left else "right", no_wrap=True)
    for row in _rows(found):
        shown.add_row(*row)
    return shown


def ratios(found: EndToEnd) -> Iterator[tuple[str, float]]:
    """The ratios with their names for users."""
    for name, ratio in found.benchmark.ratios.items():
        size = name.removesuffix("_bytes").rpartition("_")[2] if name.endswith("_bytes") else ""
        base = name.removesuffix(f"_{size}_bytes")
        yield _ratio_name(base) + (f", values of {size} bytes" if size else ""), ratio


def _ratio_name(ratio: str) -> str:
    """A ratio of the document, without a size, for users."""
    if (found := _OF_PIPELINES.fullmatch(ratio)) is None:
        return RATIOS.get(ratio, ratio)
    what, contender, trains, pipelines = found.groups()
    given = "a core for each thread, " if what == "capacity" else ""
    with_trains = " with trains" if trains else ""
    return f"throughput, {given}{contender}{with_trains} of {pipelines} pipelines to one"


def figures(found: EndToEnd) -> list[Figure]:
    """Throughput and latency as bars."""
    return [
        _figure(
            found.benchmark,
            "throughput",
            f"{TITLE}: throughput",
            Axis("Throughput", "requests/s", low=0.0),
            lambda result: result.pps,
            lambda result: text.rate(result.pps),
        ),
        _figure(
            found.benchmark,
            "latency",
            f"{TITLE}: latency of one outstanding request",
            Axis("Median", "µs", low=0.0),
            lambda result: None if result.ns_p50 is None else result.ns_p50 / 1000,
            lambda result: _microseconds(result.ns_p50),
        ),
    ]


def render(found: EndToEnd) -> str:
    """A self-contained HTML page with the figures and the table."""
    header = [name.replace("\n", " ") for name in (*_HEADER, *_TIMES)]
    of = [[name, text.number(ratio)] for name, ratio in ratios(found)]
    body = [
        page.plots(figures(found)),
        page.table(header, list(_rows(found))),
        page.table(("ratio", ""), of),
        f"<p>{html.escape(str(found.benchmark.machine))}</p>",
    ]
    return page.document(TITLE, "\n".join(body))


def _rows(found: EndToEnd) -> Iterator[list[str]]:
    results = found.benchmark.results
    # Reversed: the first result of a size, the echo without trains, overrides that with trains.
    echoes = {r.value_size: r.pps for r in reversed(results) if r.executor == "udp-echo"}
    for result, core_ns in zip(results, found.core_ns, strict=True):
        echo = echoes.get(result.value_size)
        yield [
            result.program,
            result.path,
            result.executor,
            text.count(result.value_size),
            text.rate(result.pps),
            text.factor(result.pps / echo if echo else None),
            _microseconds(result.ns_p50),
            _microseconds(result.ns_p99),
            text.rate(core_ns),
        ]


def _microseconds(nanoseconds: float | None) -> str:
    return text.NOTHING if nanoseconds is None else f"{nanoseconds / 1000:.1f} µs"


def _label(result: BenchResult) -> str:
    size = "" if result.value_size is None else f", {result.value_size} B"
    return f"{result.program} {result.path} ({result.executor}{size})"


def _figure(
    benchmark: Document,
    name: str,
    title: str,
    y: Axis,
    value: Callable[[BenchResult], float | None],
    label: Callable[[BenchResult], str],
) -> Figure:
    """A bar for each result, in the colour of its executor."""
    results = benchmark.results
    series = []
    for place, executor in enumerate(_ORDER):
        own = [at for at, result in enumerate(results) if result.executor == executor]
        series.append(
            Series(
                "",
                tuple(float(at) for at in own),
                tuple(value(results[at]) for at in own),
                "bars",
                nth(place),
                labels=tuple(label(results[at]) for at in own),
            )
        )
    x = Axis("", categories=tuple(_label(result) for result in results))
    return Figure(name, title, x, y, tuple(series), sideways=True, note=str(benchmark.machine))
