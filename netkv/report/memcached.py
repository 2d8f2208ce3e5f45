"""Results of `netkv bench memcached` as a table, for the terminal and for a document."""

from __future__ import annotations

from collections.abc import Iterator

from rich import box
from rich.table import Table

from netkv.bench.memcached import WINDOW, Measured

NAME = "memcached-live"
"""Name of the table's marker in the document, and of the file with its data."""
_COLUMNS = (
    "on this machine",
    f"requests/s, {WINDOW} outstanding",
    "in the best turn",
    "core time of a request in µs",
    "p50 in µs, 1 outstanding",
    "p99 in µs, 1 outstanding",
)


def table(found: Measured) -> Table:
    """A line for memcached, for the echo, and for the ratio of their core times."""
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, name in enumerate(_COLUMNS):
        shown.add_column(name, justify="right" if number else "left")
    for row in _rows(found):
        shown.add_row(*row)
    return shown


def markdown(found: Measured) -> str:
    """The same for a document, with the machine and the command that made it."""
    lines = [_COLUMNS, ("---", *["---:"] * (len(_COLUMNS) - 1)), *_rows(found)]
    text = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    return f"\n{text}\n\n`netkv bench memcached`; {found.machine}.\n\n"


def _rows(found: Measured) -> Iterator[tuple[str, ...]]:
    for row in found.rows:
        times = (f"{us:.1f}" for us in (row.core_us, row.p50_us, row.p99_us))
        rates = (f"{rate:,.0f}" for rate in (row.requests_per_s, row.best_requests_per_s))
        yield (row.name, *rates, *times)
    yield ("memcached over echo", "", "", f"{found.core_to_echo:.2f}", "", "")
