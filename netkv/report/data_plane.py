"""What `netkv p4 bench` found: tables for the terminal, and one page with figures."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import plotly.graph_objects as go  # type: ignore[import-untyped]
from rich import box
from rich.table import Table

from netkv.bench.data_plane import (
    RECORDED_BMV2_PPS,
    USUAL,
    YARDSTICK,
    YARDSTICK_PATH,
    DataPlaneBenchmark,
    DataPlaneResult,
    by_case,
    ratio_to,
)
from netkv.report import page, text
from netkv.report.figures import COLOURS, dressed

EXECUTORS = {"interpreter": "interpreter", "compiled": "compiled", "handwritten": "by hand"}
SIZES = ("entries", "value bytes", "key bits")

BMV2 = (
    f"bmv2: {RECORDED_BMV2_PPS:,.0f} read hits of {YARDSTICK} per second on one core "
    "(simple_switch, -O3, no logging), recorded on another machine, not measured beside."
)

Row: TypeAlias = list[str]

_RATES = ("interpreter\nMpps", "compiled\nMpps", "by hand\nMpps")
_RATIOS = ("compiled /\ninterpreter", "compiled /\nby hand", "compiled /\nbmv2 (rec.)")
_TIMES = ("compiled\np50", "compiled\np99")


def tables(found: DataPlaneBenchmark) -> Iterator[Table]:
    """Paths, sweeps and loading, a table each; what was not measured has none."""
    for title, header, rows in _parts(found):
        table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
        for at, name in enumerate(header):
            left = name in ("program", "path", "table")
            table.add_column(name, justify="left" if left else "right", no_wrap=at == 0)
        for row in rows:
            table.add_row(*row)
        yield table


def render(found: DataPlaneBenchmark) -> str:
    """A page with the figures and the same tables. It needs no network."""
    drawn = [_paths_figure(found), *(_sweep_figure(found, at) for at in range(len(SIZES)))]
    shown = "\n".join(
        f"<h2>{title}</h2>\n{page.table([name.replace(chr(10), ' ') for name in header], rows)}"
        for title, header, rows in _parts(found)
    )
    machine = found.machine
    where = f"{machine.processor}, {machine.cores} cores, {machine.kernel}; one core in use."
    body = f"{page.plots(drawn)}\n{shown}\n<p>{html.escape(where)} {html.escape(BMV2)}</p>"
    return page.document("Data plane: packets per second", body)


def _parts(found: DataPlaneBenchmark) -> Iterator[tuple[str, Sequence[str], list[Row]]]:
    """Title, header and rows of each table."""
    cases = by_case(found.results)
    usual = [(case[:2], of) for case, of in cases.items() if case[2:] == USUAL]
    header: Sequence[str]
    if usual:
        header = ("program", "path", *_RATES, *_RATIOS, *_TIMES)
        rows = [[*names, *_figures(of)] for names, of in usual]
        yield "10,000 entries, values of 128 bytes, keys of 128 bits", header, rows
    for at, size in enumerate(SIZES):
        points = _sweep(found, at)
        if len(points) > 1:
            rows = [[f"{value:,}", *_figures(of)] for value, of in points]
            title = f"{YARDSTICK} {YARDSTICK_PATH}: cost against {size}"
            yield title, (size, *_RATES, *_RATIOS, *_TIMES), rows
    if found.loads:
        header = ("program", "source to IR", "IR to interpreter", "IR to machine code")
        rows = [
            [each.program, *map(_seconds, (each.front_end_s, each.interpreter_s, each.compiled_s))]
            for each in found.loads
        ]
        yield "Loading a program", header, rows
    if found.table_writes:
        rows = [
            [each.program, each.table, text.count(each.entries), _seconds(each.seconds)]
            for each in found.table_writes
        ]
        yield "Entries through P4Runtime", ("program", "table", "entries", "time"), rows


def _figures(of: dict[str, DataPlaneResult]) -> Row:
    compiled = of.get("compiled")
    ratios = (ratio_to(of, other) for other in ("interpreter", "handwritten", "bmv2"))
    return [
        *(_millions(of.get(executor)) for executor in EXECUTORS),
        *(
            text.factor(ratio) if ratio is None or ratio < 100 else f"{ratio:.0f}x"
            for ratio in ratios
        ),
        *(
            text.NOTHING if time is None else f"{time:,.0f} ns"
            for time in (compiled and compiled.ns_p50, compiled and compiled.ns_p99)
        ),
    ]


def _millions(result: DataPlaneResult | None) -> str:
    return text.NOTHING if result is None else f"{result.pps / 1e6:.2f}"


def _seconds(value: float) -> str:
    return text.latency(value * 1e6)


def _sweep(found: DataPlaneBenchmark, at: int) -> list[tuple[int, dict[str, DataPlaneResult]]]:
    """The yardstick with all sizes as usual but that one, in order of it."""
    points = []
    for (program, path, *sizes), of in by_case(found.results).items():
        others = [size for place, size in enumerate(sizes) if place != at]
        usual = [size for place, size in enumerate(USUAL) if place != at]
        if (program, path) == (YARDSTICK, YARDSTICK_PATH) and others == usual:
            points.append((sizes[at], of))
    return sorted(points, key=lambda point: point[0])


def _paths_figure(found: DataPlaneBenchmark) -> go.Figure | None:
    usual = [(case[:2], of) for case, of in by_case(found.results).items() if case[2:] == USUAL]
    if not usual:
        return None
    figure = go.Figure()
    for colour, (executor, name) in zip(COLOURS, EXECUTORS.items(), strict=False):
        shown = [
            (f"{program}<br>{path}", of[executor])
            for (program, path), of in usual
            if executor in of
        ]
        figure.add_bar(
            name=name,
            x=[label for label, _ in shown],
            y=[result.pps for _, result in shown],
            marker_color=colour,
        )
    # A line of its own: plotly misplaces the text of a horizontal line on a logarithmic axis.
    labels = ["<br>".join(names) for names, _ in usual]
    figure.add_scatter(
        name="bmv2, read hit of the yardstick (recorded, not measured beside)",
        x=labels,
        y=[RECORDED_BMV2_PPS] * len(labels),
        mode="lines",
        line={"dash": "dash", "color": "#888"},
    )
    return _logarithmic(dressed(figure, "Paths", "", "packets per second, one core"))


def _sweep_figure(found: DataPlaneBenchmark, at: int) -> go.Figure | None:
    points = _sweep(found, at)
    if len(points) < 2:
        return None
    figure = go.Figure()
    for colour, (executor, name) in zip(COLOURS, EXECUTORS.items(), strict=False):
        shown: list[tuple[int, Any]] = [(x, of[executor]) for x, of in points if executor in of]
        figure.add_scatter(
            name=name,
            x=[x for x, _ in shown],
            y=[1e9 / result.pps for _, result in shown],
            mode="lines+markers",
            line_color=colour,
        )
    title = f"Read hit of the yardstick: cost against {SIZES[at]}"
    dressed(figure, title, SIZES[at], "nanoseconds per packet")
    figure.update_xaxes(type="log", tickvals=[x for x, _ in points])
    return _logarithmic(figure)


def _logarithmic(figure: go.Figure) -> go.Figure:
    figure.update_yaxes(type="log", rangemode="normal")
    return figure
