"""`netkv bench rocksdb`: the cost of reads and writes of RocksDB."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from netkv.bench.benchmark import Benchmark, Figure, Outcome, Progress, Table

if TYPE_CHECKING:
    from netkv.bench.benchmarks.rocksdb.measure import RocksdbCosts

_RECORDS = {
    "hot": "hot",
    "block-cached": "in the block cache",
    "not-block-cached": "not in the block cache",
    "any": "any",
    "in-memtable": "in the newest memtable",
}


@dataclass(frozen=True)
class Plan:
    records: Annotated[
        int, typer.Option(min=10_000, max=20_000_000, help="Records in the database.")
    ] = 3_000_000
    value_size: Annotated[
        int, typer.Option(min=1, max=1024, metavar="BYTES", help="Size of values.")
    ] = 128
    block_cache_mib: Annotated[
        int, typer.Option(min=4, max=65_536, metavar="MIB", help="Size of the block cache.")
    ] = 1024
    memtable_mib: Annotated[
        int, typer.Option(min=1, max=1024, metavar="MIB", help="Size of a memtable.")
    ] = 64
    memtables: Annotated[
        int, typer.Option(min=0, max=15, help="Memtables full of recent writes; 0: no such rows.")
    ] = 15


class Rocksdb(Benchmark):
    """Measure processor time of RocksDB's reads and writes, by where the record is.

    Rows: hot records, records in the block cache, records in the page cache only, and the same
    behind a part of a memtable, and behind memtables, full of recent writes. The options are those
    of a published evaluation. Flushes and compactions by background threads are not counted. The
    database is in a temporary directory (TMPDIR).
    """

    name = "bench rocksdb"
    title = "RocksDB"
    measures = "processor time of reads and writes, by where the record is"
    against = "reads of hot records"
    seconds = 180
    order = 7
    in_suite = True
    plan = Plan

    def run(self, plan: Plan, progress: Progress) -> Outcome:
        from netkv.bench.benchmarks.rocksdb import measure

        found = measure.run(plan, progress)
        hot, *others = found.rows
        one, five, _ = found.load_average
        return Outcome(
            document=found.model_dump(mode="json"),
            shown=_tables(found),
            remarks=[
                f"Load average {one:.1f} (1 minute) and {five:.1f} (5 minutes) on "
                f"{found.machine.cores} cores."
            ],
            figures=[
                Figure(f"{row.operation}, {row.record} / read, hot", row.p10_us / hot.p10_us)
                for row in others
            ],
        )

    def run_in_suite(self, seconds: float | None, progress: Progress) -> Outcome:  # noqa: ARG002
        """With fewer records than usual, and no full memtables: these take minutes."""
        return self.run(Plan(records=300_000, memtables=0), progress)


def _tables(found: RocksdbCosts) -> list[Table]:
    """The operations, and the differences between the costs of two kinds of them."""
    times = ("p10 us", "median us")
    operations = [
        (
            row.operation,
            _RECORDS[row.record],
            f"{row.filled_memtables:g}",
            *(f"{each:.2f}" for each in (row.p10_us, row.median_us, row.blocks_cached)),
        )
        for row in found.rows
    ]
    differences = [
        (name, f"{more.p10_us:.2f}", f"{more.median_us:.2f}")
        for name, more in found.differences.items()
    ]
    columns = ("operation", "record", "full memtables", *times, "blocks cached")
    return [Table(columns, operations, names=2), Table(("difference", *times), differences)]


BENCHMARK = Rocksdb()
