"""Results of `netkv p4 bench`: tables for the terminal, figures, and a page with both."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from rich import box
from rich.table import Table
from rich.text import Text

from netkv.bench.data_plane import (
    RECORDED_BMV2_PPS,
    USUAL,
    YARDSTICK_PATH,
    DataPlaneBenchmark,
    DataPlaneResult,
    by_case,
    ratio_to,
)
from netkv.bench.table_writes import YARDSTICK
from netkv.report import page, text
from netkv.report.figure import Axis, Figure, Reference, Series, run_ticks
from netkv.report.style import nth

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


def shown(found: DataPlaneBenchmark) -> Iterator[Table | Text]:
    """Tables of paths, sweeps and loading, as far as they were measured; and bmv2's figure."""
    for title, header, rows in _parts(found):
        table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
        for at, name in enumerate(header):
            left = name in ("program", "path", "table")
            table.add_column(name, justify="left" if left else "right", no_wrap=at == 0)
        for row in rows:
            table.add_row(*row)
        yield table
    yield Text(BMV2, style="dim", no_wrap=True)


def figures(found: DataPlaneBenchmark) -> list[Figure]:
    """Figures of paths and of sweeps over sizes, as far as they were measured."""
    drawn = [_paths_figure(found), *(_sweep_figure(found, at) for at in range(len(SIZES)))]
    return [figure for figure in drawn if figure is not None]


def render(found: DataPlaneBenchmark) -> str:
    """A self-contained HTML page with the figures and tables."""
    shown = "\n".join(
        f"<h2>{title}</h2>\n{page.table([name.replace(chr(10), ' ') for name in header], rows)}"
        for title, header, rows in _parts(found)
    )
    where = f"{found.machine}; one core in use."
    body = f"{page.plots(figures(found))}\n{shown}\n<p>{html.escape(where)} {html.escape(BMV2)}</p>"
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
    """Results of the yardstick over one size, sorted; the other sizes are the usual ones."""
    points = []
    for (program, path, *sizes), of in by_case(found.results).items():
        others = [size for place, size in enumerate(sizes) if place != at]
        usual = [size for place, size in enumerate(USUAL) if place != at]
        if (program, path) == (YARDSTICK, YARDSTICK_PATH) and others == usual:
            points.append((sizes[at], of))
    return sorted(points, key=lambda point: point[0])


def _paths_figure(found: DataPlaneBenchmark) -> Figure | None:
    usual = [(case[:2], of) for case, of in by_case(found.results).items() if case[2:] == USUAL]
    if not usual:
        return None
    series = []
    for place, (executor, name) in enumerate(EXECUTORS.items()):
        own = [at for at, (_, of) in enumerate(usual) if executor in of]
        if own:
            rates = tuple(usual[at][1][executor].pps for at in own)
            at_x = tuple(float(at) for at in own)
            series.append(Series(name, at_x, rates, "bars", nth(place), slot=place))
    return Figure(
        "paths",
        "Paths: packets per second, one core",
        Axis("", categories=tuple(" ".join(names) for names, _ in usual)),
        Axis("Throughput", "packets/s", log=True),
        tuple(series),
        references=(Reference(RECORDED_BMV2_PPS, "bmv2, recorded, not measured beside"),),
        sideways=True,
        note=str(found.machine),
    )


def _sweep_figure(found: DataPlaneBenchmark, at: int) -> Figure | None:
    points = _sweep(found, at)
    if len(points) < 2:
        return None
    ticks = run_ticks((float(x) for x, _ in points), log=True)
    series = []
    for place, (executor, name) in enumerate(EXECUTORS.items()):
        own = [(x, of[executor]) for x, of in points if executor in of]
        sizes = tuple(float(x) for x, _ in own)
        times = tuple(1e9 / result.pps for _, result in own)
        series.append(Series(name, sizes, times, "lines", nth(place)))
    return Figure(
        SIZES[at].replace(" ", "-"),
        f"Read hit of the yardstick: cost against {SIZES[at]}",
        Axis(SIZES[at].capitalize(), log=True, ticks=ticks),
        Axis("Cost of a packet", "ns", log=True),
        tuple(series),
        note=str(found.machine),
    )
