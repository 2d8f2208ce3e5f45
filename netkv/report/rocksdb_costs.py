"""Results of `netkv bench rocksdb` as tables."""

from __future__ import annotations

from rich import box
from rich.table import Table

from netkv.bench.rocksdb_costs import RocksdbCosts

_RECORDS = {
    "hot": "hot",
    "block-cached": "in the block cache",
    "not-block-cached": "not in the block cache",
    "any": "any",
    "in-memtable": "in the newest memtable",
}


def table(found: RocksdbCosts) -> Table:
    """A line for each kind of operation."""
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("operation", "record"):
        shown.add_column(name)
    for name in ("full memtables", "p10 us", "median us", "blocks cached"):
        shown.add_column(name, justify="right")
    for row in found.rows:
        shown.add_row(
            row.operation,
            _RECORDS[row.record],
            str(row.filled_memtables),
            f"{row.p10_us:.2f}",
            f"{row.median_us:.2f}",
            f"{row.blocks_cached:.2f}",
        )
    return shown


def differences(found: RocksdbCosts) -> Table:
    """Differences between the costs of two kinds of operations."""
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    shown.add_column("difference")
    for name in ("p10 us", "median us"):
        shown.add_column(name, justify="right")
    for name, more in found.differences.items():
        shown.add_row(name, f"{more.p10_us:.2f}", f"{more.median_us:.2f}")
    return shown


def load(found: RocksdbCosts) -> str:
    """The load average of the machine."""
    one, five, _ = found.load_average
    return (
        f"Load average {one:.1f} (1 minute) and {five:.1f} (5 minutes) on "
        f"{found.machine.cores} cores."
    )
