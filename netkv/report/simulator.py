"""Results of `netkv bench sim`: a table for the terminal, figures, and a page with both."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from rich import box
from rich.table import Table

from netkv.bench.simulator import (
    MAX_KEYS,
    SKEW,
    MemoryResult,
    SimulatorBenchmark,
    SimulatorResult,
    max_servers,
)
from netkv.report import page, text
from netkv.report.figure import Axis, Figure, Series, run_ticks
from netkv.report.style import of_scheme
from netkv.sim.timing import OUTSTANDING_PER_SERVER as PER_SERVER

TITLE = "Simulator: requests and events per second"

_Varied: TypeAlias = Callable[[SimulatorResult], float]

_HEADER = ("scheme", "topology", "switches", "servers", "keys", "load", "outstanding")
_RATES = ("requests\n/s wall", "events\n/s wall", "requests\n/s core", "events\n/s core")
_REST = ("events\na request", "hits", "Python", "set-up", "memory")
_MEMORY = (
    *("scheme", "servers", "keys", "crashes", "virtual\ntime", "operations", "written\nkeys"),
    *("memory", "10 times:\noperations", "written\nkeys", "memory", "bytes an\noperation more"),
    "bytes a\nkey more",
)


def shown(found: SimulatorBenchmark) -> Iterator[Table | str]:
    """A table with a line for each rack, one of the memory of runs, and the ratios."""
    yield _table(found)
    yield _memory_table(found)
    for name, ratio in found.ratios.items():
        yield f"{ratio:6.2f}  {name}"


def _table(found: SimulatorBenchmark) -> Table:
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in (*_HEADER, *_RATES, *_REST):
        left = name in ("scheme", "topology", "load")
        shown.add_column(name, justify="left" if left else "right", no_wrap=True)
    for row in _rows(found):
        shown.add_row(*row)
    return shown


def _memory_table(found: SimulatorBenchmark) -> Table:
    """A line for each rack with writes only: memory after a time, and after ten times that time."""
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in _MEMORY:
        left = name == "scheme"
        shown.add_column(name, justify="left" if left else "right", no_wrap=True)
    for each in found.memory:
        shown.add_row(*_memory_row(each))
    return shown


def figures(found: SimulatorBenchmark) -> list[Figure]:
    """The rates of all racks as bars, and sweeps over servers and keys if they were varied."""
    drawn: list[Figure | None] = [_bars(found)]
    drawn.append(_sweep(found, "servers", _servers, lambda each: each.keys == MAX_KEYS))
    drawn.append(
        _sweep(found, "keys", _keys, lambda each: each.servers == max_servers(each.scheme))
    )
    return [figure for figure in drawn if figure is not None]


def render(found: SimulatorBenchmark) -> str:
    """A self-contained HTML page with the figures and tables."""
    header = [name.replace("\n", " ") for name in (*_HEADER, *_RATES, *_REST)]
    ratios = [[name, text.number(ratio)] for name, ratio in found.ratios.items()]
    body = [
        page.plots(figures(found)),
        page.table(header, list(_rows(found))),
        page.table(
            [name.replace("\n", " ") for name in _MEMORY],
            [_memory_row(each) for each in found.memory],
        ),
        page.table(("ratio", ""), ratios),
        f"<p>{html.escape(str(found.machine))}</p>",
    ]
    return page.document(TITLE, "\n".join(body))


def _rows(found: SimulatorBenchmark) -> Iterator[list[str]]:
    for each in found.results:
        yield [
            each.scheme,
            each.topology,
            f"{each.switches}",
            f"{each.servers}",
            f"{each.keys:,}",
            _load(each),
            f"{each.outstanding:,}",
            text.rate(each.requests_per_s),
            text.rate(each.events_per_s),
            text.rate(each.requests_per_core_s),
            text.rate(each.events_per_core_s),
            f"{each.events_per_request:.1f}",
            text.share(each.hit_ratio),
            text.share(each.python_share),
            f"{each.setup_s:.1f} s",
            f"{each.memory_mb:,.0f} MiB",
        ]


def _memory_row(each: MemoryResult) -> list[str]:
    at = [
        (f"{operations:,}", f"{keys:,}", f"{memory:,.0f} MiB")
        for operations, keys, memory in zip(
            each.operations, each.written_keys, each.memory_mb, strict=True
        )
    ]
    return [
        each.scheme,
        f"{each.servers}",
        f"{each.keys:,}",
        "yes" if each.crashes else "",
        f"{each.virtual_s[0]:.3g} s",
        *at[0],
        *at[1],
        f"{each.bytes_per_operation:.1f}",
        "" if each.bytes_per_key is None else f"{each.bytes_per_key:.1f}",
    ]


def _load(result: SimulatorResult) -> str:
    return f"Zipf {result.zipf:g}" if result.zipf else "uniform"


def _label(result: SimulatorResult) -> str:
    where = "" if result.topology == "rack" else f"{result.topology}, {result.switches} switches, "
    servers = f"{result.servers} server{'s' if result.servers > 1 else ''}"
    load = f"{_load(result)}, {result.outstanding:,} outstanding"
    return f"{result.scheme}, {where}{servers}, {result.keys:,} keys, {load}"


def _bars(found: SimulatorBenchmark) -> Figure:
    series = []
    for scheme in _schemes(found.results):
        own = [at for at, each in enumerate(found.results) if each.scheme == scheme]
        rates = [found.results[at].requests_per_s for at in own]
        at_x = tuple(float(at) for at in own)
        labels = tuple(text.rate(rate) for rate in rates)
        series.append(Series("", at_x, tuple(rates), "bars", of_scheme(scheme), labels=labels))
    return Figure(
        "racks",
        "Simulated requests for each second of wall time",
        Axis("", categories=tuple(_label(each) for each in found.results)),
        Axis("Simulation speed", "requests/s", low=0.0),
        tuple(series),
        sideways=True,
        note=str(found.machine),
    )


def _sweep(
    found: SimulatorBenchmark,
    name: str,
    of: _Varied,
    usual: Callable[[SimulatorResult], bool],
) -> Figure | None:
    """Cost of a request in single racks over one size; `usual` selects racks that have the usual
    value of the other size."""
    results = [each for each in found.results if each.topology == "rack" and each.zipf == SKEW]
    results = [each for each in results if each.outstanding >= each.servers * PER_SERVER]
    results = sorted(filter(usual, results), key=of)
    sizes = {of(each) for each in results}
    if len(sizes) < 2:
        return None
    series = []
    for scheme in _schemes(results):
        own = [each for each in results if each.scheme == scheme]
        costs = tuple(1e6 / each.requests_per_core_s for each in own)
        at_x = tuple(of(each) for each in own)
        series.append(Series(scheme, at_x, costs, "lines", of_scheme(scheme)))
    return Figure(
        name,
        f"Cost of a simulated request against {name}",
        Axis(name.capitalize(), log=True, ticks=run_ticks(sizes, log=True)),
        Axis("Time on a core for a request", "µs", low=0.0),
        tuple(series),
        note=str(found.machine),
    )


def _servers(result: SimulatorResult) -> float:
    return float(result.servers)


def _keys(result: SimulatorResult) -> float:
    return float(result.keys)


def _schemes(results: Sequence[SimulatorResult]) -> list[str]:
    return list(dict.fromkeys(each.scheme for each in results))
