"""Tables of the durations of recoveries: comparisons of runs, and the phases of one run."""

from __future__ import annotations

from rich import box
from rich.table import Table
from rich.text import Text

from netkv.report import text
from netkv.runs.compare import ComparedRow, Comparison
from netkv.runs.records import RunHead
from netkv.scenarios.results import Recovery

_BAR = 30
"""Width of the bar of a whole recovery in characters."""
_COLOURS = ("blue", "yellow", "green", "red", "magenta", "cyan")


def header(compared: Comparison) -> list[str]:
    """Headings of a table of recoveries: scheme, sweep point, total and each phase."""
    return ["scheme", "sweep point", "recovery", *_phases(compared)]


def rows(compared: Comparison) -> list[list[str]]:
    """Cells of the table, with means over the repeats. Rows without completed or unfinished
    recoveries are left out."""
    return [
        [
            row.scheme,
            text.params({**row.params, **row.settings}),
            _whole(row),
            *(
                text.spread(row.recovery_phases.get(name), text.seconds)
                for name in _phases(compared)
            ),
        ]
        for row in _recovered(compared)
    ]


def overview(compared: Comparison) -> Table | None:
    """A line per scheme and sweep point; None if no switch had to recover."""
    cells = rows(compared)
    if not cells:
        return None
    table = Table(box=box.SIMPLE_HEAD)
    for number, name in enumerate(header(compared)):
        table.add_column(Text(name), justify="left" if number < 2 else "right")
    for line in cells:
        table.add_row(Text(line[0], style="bold"), *map(Text, line[1:]))
    return table


def details(run: RunHead) -> list[Table]:
    """A table for each recovery of a run: its phases as bars, and its counts."""
    return [_details(found) for found in run.recoveries]


def unfinished(run: RunHead) -> str:
    """Unfinished recoveries of a run, a line each."""
    return "\n".join(found.text for found in run.unfinished_recoveries)


def _whole(row: ComparedRow) -> str:
    """The total duration, and the numbers of unfinished recoveries."""
    parts = [] if row.recovery_time is None else [text.spread(row.recovery_time, text.seconds)]
    if row.recoveries_interrupted:
        parts.append(f"{row.recoveries_interrupted} interrupted, recovered by the next")
    if row.not_recovered:
        parts.append("not recovered by the end" + _times(row.not_recovered, row.runs))
    return "\n".join(parts)


def _times(count: int, runs: list[str]) -> str:
    return f" ({count} times in {len(runs)} runs)" if len(runs) > 1 or count > 1 else ""


def _details(found: Recovery) -> Table:
    counts = ", ".join(f"{name} {number:,}" for name, number in found.counts.items())
    table = Table(
        title=Text(f"{found.switch} was recovered at {found.at:.1f} s"),
        title_justify="left",
        title_style="bold",
        caption=Text(counts) if counts else None,
        caption_justify="left",
        box=box.SIMPLE_HEAD,
    )
    table.add_column("phase")
    table.add_column("takes", justify="right")
    table.add_column("")
    before = 0.0
    for number, phase in enumerate(found.phases):
        start, end = (
            round(_BAR * at / (found.seconds or 1.0)) for at in (before, before + phase.seconds)
        )
        before += phase.seconds
        bar = Text(" " * start + "█" * max(end - start, 1), style=_COLOURS[number % len(_COLOURS)])
        table.add_row(Text(phase.name), text.seconds(phase.seconds), bar)
    table.add_row("all", text.seconds(found.seconds), "", style="bold")
    return table


def _recovered(compared: Comparison) -> list[ComparedRow]:
    return [
        row
        for row in compared.rows
        if row.recovery_time is not None or row.recoveries_interrupted or row.not_recovered
    ]


def _phases(compared: Comparison) -> list[str]:
    return list(dict.fromkeys(name for row in compared.rows for name in row.recovery_phases))
