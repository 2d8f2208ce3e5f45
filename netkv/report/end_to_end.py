"""What `netkv bench e2e` found: a table for the terminal, a page, and an SVG of bars."""

from __future__ import annotations

import html
from collections.abc import Iterator

import plotly.graph_objects as go  # type: ignore[import-untyped]
from rich import box
from rich.table import Table

from netkv.bench.end_to_end import EndToEnd
from netkv.bench.result import Benchmark, BenchResult
from netkv.report import page, text
from netkv.report.figures import COLOURS, dressed

TITLE = "End to end over UDP"

RATIOS = {
    "throughput_to_echo": "throughput, switch to echo",
    "latency_to_echo": "latency, switch to echo",
    "throughput_to_echo_with_trains": "throughput, switch to echo, both with trains",
    "latency_to_echo_with_trains": "latency, switch to echo, both with trains",
    "throughput_with_trains_to_plain_echo": "throughput, switch with trains to echo without",
}
"""What the ratios of the document are called for people."""

_HEADER = ("program", "path", "executor", "value\nbytes", "requests/s", "to\necho")
_TIMES = ("p50", "p99", "core ns\na request")
_ORDER = ("udp-echo", "interpreter", "compiled", "handwritten", "redis", "memcached")
# Of the SVG, in pixels.
_WIDTH, _LEFT, _RIGHT, _BAR, _GAP, _TOP = 900, 330, 170, 22, 10, 64


def table(found: EndToEnd) -> Table:
    """A line for each thing that was measured."""
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in (*_HEADER, *_TIMES):
        left = name in _HEADER[:3]
        shown.add_column(name, justify="left" if left else "right", no_wrap=True)
    for row in _rows(found):
        shown.add_row(*row)
    return shown


def ratios(found: EndToEnd) -> Iterator[tuple[str, float]]:
    """The ratios with what they are of."""
    for name, ratio in found.benchmark.ratios.items():
        size = name.removesuffix("_bytes").rpartition("_")[2] if name.endswith("_bytes") else ""
        base = name.removesuffix(f"_{size}_bytes")
        yield RATIOS.get(base, base) + (f", values of {size} bytes" if size else ""), ratio


def render(found: EndToEnd) -> str:
    """A page with figures and the same table. It needs no network."""
    results = found.benchmark.results
    times = [None if result.ns_p50 is None else result.ns_p50 / 1000 for result in results]
    drawn = [
        _figure("Throughput", "requests per second", results, [r.pps for r in results]),
        _figure("Latency of one outstanding request, median", "microseconds", results, times),
    ]
    header = [name.replace("\n", " ") for name in (*_HEADER, *_TIMES)]
    of = [[name, text.number(ratio)] for name, ratio in ratios(found)]
    body = [
        page.plots(drawn),
        page.table(header, list(_rows(found))),
        page.table(("ratio", ""), of),
        f"<p>{html.escape(_machine(found.benchmark))}</p>",
    ]
    return page.document(TITLE, "\n".join(body))


def svg(found: EndToEnd) -> str:
    """Throughput as bars, for documents."""
    results = found.benchmark.results
    height = _TOP + len(results) * (_BAR + _GAP) + 16
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
            f'font-family="sans-serif" font-size="13">',
            f'<rect width="{_WIDTH}" height="{height}" fill="white"/>',
            f'<text x="12" y="24" font-size="17">{TITLE}, requests per second</text>',
            f'<text x="12" y="44" fill="#666">{html.escape(_machine(found.benchmark))}</text>',
            *_bars(results),
            "</svg>",
            "",
        ]
    )


def _rows(found: EndToEnd) -> Iterator[list[str]]:
    results = found.benchmark.results
    # The plain echo comes before the one with trains.
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


def _colour(result: BenchResult) -> str:
    return COLOURS[_ORDER.index(result.executor) % len(COLOURS)]


def _machine(benchmark: Benchmark) -> str:
    machine = benchmark.machine
    return f"{machine.processor}, {machine.cores} cores, {machine.kernel}"


def _figure(
    title: str, unit: str, results: list[BenchResult], values: list[float] | list[float | None]
) -> go.Figure:
    bars = go.Bar(
        x=values,
        y=[_label(result) for result in results],
        orientation="h",
        marker_color=[_colour(result) for result in results],
    )
    figure = dressed(go.Figure(bars), title, unit, "")
    figure.update_layout(height=150 + 34 * len(results), showlegend=False)
    figure.update_xaxes(rangemode="tozero")
    figure.update_yaxes(autorange="reversed", automargin=True)
    return figure


def _bars(results: list[BenchResult]) -> Iterator[str]:
    longest = max((result.pps for result in results), default=0.0) or 1.0
    for number, result in enumerate(results):
        top = _TOP + number * (_BAR + _GAP)
        width = max((_WIDTH - _LEFT - _RIGHT) * result.pps / longest, 1)
        said = f"{result.pps:,.0f}"
        if result.ns_p50 is not None:
            said += f"  (p50 {_microseconds(result.ns_p50)})"
        base = top + _BAR - 6
        label = html.escape(_label(result))
        yield f'<text x="{_LEFT - 8}" y="{base}" text-anchor="end">{label}</text>'
        yield (
            f'<rect x="{_LEFT}" y="{top}" width="{width:.1f}" height="{_BAR}" '
            f'fill="{_colour(result)}"/>'
        )
        yield f'<text x="{_LEFT + width + 6:.1f}" y="{base}">{said}</text>'
