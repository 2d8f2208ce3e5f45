"""Tables of the violations that the history checker found."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from netkv.report import text
from netkv.runs.records import RunHead
from netkv.scenarios.results import HistoryOperation, Violation


def tables(run: RunHead, most: int = 3) -> list[Table]:
    """A table for each of the first `most` violations of a run."""
    return [_table(violation) for violation in run.violations[:most]]


def summary(run: RunHead) -> str:
    """The checker's verdict on a run, as text."""
    if run.linearizable is False:
        count = run.violation_count
        return f"NOT linearizable: {count:,} violation{'' if count == 1 else 's'}"
    # Older versions of netkv called a history without operations linearizable.
    if run.linearizable and run.checked_ops:
        return f"linearizable ({run.checked_ops:,} operations checked)"
    if run.checked_ops:
        keys = run.unchecked_keys
        return f"no violation, but not all reads of {keys:,} key{'' if keys == 1 else 's'} judged"
    return "not checked"


def overview(runs: Sequence[RunHead]) -> Table:
    """The checker's verdict on each run, a line each."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for run in runs:
        wrong = run.linearizable is False
        parts = [run.scheme, text.params(run.params), f"#{run.repeat + 1}" if run.repeat else ""]
        table.add_row(
            " ".join(part for part in parts if part),
            Text(summary(run), style="bold red" if wrong else ""),
        )
    return table


def replay(run: RunHead) -> str:
    """Instructions to repeat a run."""
    command = (
        f"netkv scenario run {run.scenario} --scheme {run.scheme} --mode {run.mode} "
        f"--seed {run.seed} (and the same --set options, if there were any)"
    )
    if run.mode == "sim":
        return f"Seed {run.seed} replays it exactly: {command}"
    return (
        f"Seed {run.seed} sends the same operations again, though a live run never has the same "
        f"times: {command}"
    )


def row(operation: HistoryOperation, origin: int | None) -> tuple[str, str, str, str, str]:
    """An operation as cells of `COLUMNS`.

    Times are microseconds since `origin` (nanoseconds), from the first packet to the reply.
    """
    writer = operation.writer
    source = text.NOTHING
    if writer is not None:
        source = "initial" if writer.client == 0 else f"{writer.client}/{writer.request}"
    return (
        f"{_time(operation.start_ns, origin)} to {_time(operation.end_ns, origin)}",
        f"{operation.client}/{operation.request}",
        operation.what,
        source,
        operation.result,
    )


COLUMNS = ("time (µs)", "client/request", "operation", "value of", "result")
"""Headings of the cells of `row`."""


def origin(operations: Sequence[HistoryOperation]) -> int | None:
    """Start of the first operation, in nanoseconds; None if no time is known."""
    return min((each.start_ns for each in operations if each.start_ns is not None), default=None)


def _table(violation: Violation) -> Table:
    title = Text.assemble((violation.kind, "bold red"), f" on key {violation.key}\n")
    title.append(violation.text)
    table = Table(title=title, title_justify="left", title_style="", box=box.SIMPLE_HEAD)
    for name in COLUMNS:
        table.add_column(name, no_wrap=True)
    start = origin(violation.operations)
    for operation in violation.operations:
        table.add_row(*row(operation, start))
    return table


def _time(at: int | None, origin: int | None) -> str:
    return "?" if at is None or origin is None else f"{(at - origin) / 1000:,.1f}"
