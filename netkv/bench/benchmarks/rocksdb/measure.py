"""Processor time of reads and writes of RocksDB in the calling thread, by where a record is.

The simulator's figures for stores on RocksDB rest on it (`netkv.sim.profiles`). A database with the
options of a published evaluation (docs/internals/benchmarks.md) is loaded in a temporary directory,
flushed and compacted. Then batches of operations are timed in turns, one batch of each kind in a
round, so that other load of the machine affects all kinds. Records are selected by their rank in
the order of keys, with more than a block between any two of them, so each has a block of its own.

1. Reads with empty memtables: of a few hundred hot records; of many records whose blocks are in
   the block cache; of records whose blocks are not, each read once. In turns with them, writes into
   a memtable that is half full: of a few hundred hot records, and of any. The writes go to a
   database of their own, or the reads would have to search their memtable.
2. The same reads with a part of one memtable, and then several memtables, full of recent writes to
   other records, which are searched first; and reads of records that are in the newest memtable.

Not counted: flushes and compactions, which threads of RocksDB do in the background. A read that is
not in the block cache finds its block in the page cache of the kernel, and a place in the block
cache that needs no eviction.
"""

from __future__ import annotations

import gc
import os
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from statistics import median, quantiles
from typing import TYPE_CHECKING, Literal, Self

from pydantic import BaseModel, ConfigDict

from netkv.bench.benchmark import Progress
from netkv.bench.benchmarks.rocksdb import Plan
from netkv.bench.result import Machine, this_machine
from netkv.errors import NetkvError, UsageError

if TYPE_CHECKING:
    from rocksdict import Cache, Rdict, WriteOptions

KEY_BYTES = 16
BLOCK_BYTES = 4096
BLOOM_BITS = 10
MERGED_MEMTABLES = 16
"""Number of full memtables at which a flush begins."""
PARTS = (0.05, 0.33, 0.67)
"""Parts of the first memtable that are full of writes, in further rows."""
ROUNDS = 40
BATCH = 500
"""Operations of a batch, at most: few enough for many batches without an interruption."""
HOT = 600
"""Hot records, at most."""
_MIB = 1 << 20
_LOAD_STEPS = 10

Operation = Literal["read", "write"]
Record = Literal["hot", "block-cached", "not-block-cached", "any", "in-memtable"]


class Options(BaseModel):
    """Options and content of the database."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    records: int
    key_size: int
    value_size: int
    block_cache_mib: int
    block_bytes: int
    bloom_bits_per_key: int
    memtable_mib: int
    merged_memtables: int


class Row(BaseModel):
    """One kind of operation."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    operation: Operation
    record: Record
    """Which records it is done to."""
    filled_memtables: float
    """Full memtables with recent writes to other records, beside the active memtable; or the part
    of the active one that such writes fill."""
    operations: int
    p10_us: float
    """Processor time of one operation in microseconds: 10th percentile of the batches."""
    median_us: float
    blocks_cached: float
    """Blocks that one operation brought into the block cache, on average."""


class Difference(BaseModel):
    """Cost of one row minus that of another; the interpreter's share cancels."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    p10_us: float
    median_us: float


class RocksdbCosts(BaseModel):
    """The whole document."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    machine: Machine
    load_average: tuple[float, float, float]
    """Of the machine after the last row, this process included, over 1, 5 and 15 minutes."""
    options: Options
    rows: list[Row]
    differences: dict[str, Difference]


def run(plan: Plan, progress: Progress) -> RocksdbCosts:
    """Measures; raises `UsageError` or `NetkvError` if the plan cannot be measured here."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="netkv-rocksdb-") as folder:
        _check_space(plan, folder)
        sample = _Sample(plan)
        filling = plan.memtables + len(PARTS) + 1 if plan.memtables else 0
        step = _Steps(_LOAD_STEPS + 2 + filling, progress)
        with _Store(plan, f"{folder}/reads") as store, _Store(plan, f"{folder}/writes") as written:
            store.load(sample, step)
            step("compacting")
            store.compact()
            step("reads and writes")
            store.warm(sample)
            written.write_some(sample, plan.memtable_mib * _MIB // 2)
            rows += _rows(0, [*_reads(store, sample), *_writes(written, sample)])
            for part in PARTS if plan.memtables else ():
                step(f"reads behind {part:.0%} of a memtable")
                store.write_some(sample, round(part * plan.memtable_mib * _MIB))
                rows += _rows(part, _reads_behind_writes(store, sample))
            for number in range(plan.memtables):
                step(f"filling memtable {number + 1}")
                store.fill_memtable(sample, number + 1)
            if plan.memtables:
                step("reads behind full memtables")
                rows += _rows(plan.memtables, _reads_behind_writes(store, sample))
            load_average = os.getloadavg()
    step.done()
    return RocksdbCosts(
        machine=this_machine(),
        load_average=load_average,
        options=Options(
            records=plan.records,
            key_size=KEY_BYTES,
            value_size=plan.value_size,
            block_cache_mib=plan.block_cache_mib,
            block_bytes=BLOCK_BYTES,
            bloom_bits_per_key=BLOOM_BITS,
            memtable_mib=plan.memtable_mib,
            merged_memtables=MERGED_MEMTABLES,
        ),
        rows=rows,
        differences=dict(_differences(rows)),
    )


class _Steps:
    """Counts steps for a progress bar."""

    def __init__(self, count: int, progress: Progress) -> None:
        self._at, self._count, self._progress = 0, count, progress

    def __call__(self, label: str) -> None:
        self._progress(self._at, self._count, label)
        self._at += 1

    def done(self) -> None:
        self._progress(self._count, self._count, "")


class _Sample:
    """The keys, and the selection of keys for each kind of operation."""

    def __init__(self, plan: Plan) -> None:
        self.random = random.Random(1)
        self.keys = [self.random.randbytes(KEY_BYTES) for _ in range(plan.records)]
        by_rank = sorted(self.keys)
        self._by_rank = by_rank
        # Any two of these have at least a whole block between them.
        self._apart = BLOCK_BYTES // (KEY_BYTES + plan.value_size) + 2
        half = plan.records // 2
        cached = by_rank[: half : self._apart]
        self._fresh = by_rank[half + self._apart :: self._apart]
        self.random.shuffle(cached)
        self.random.shuffle(self._fresh)
        # A quarter of the block cache each, so that nothing is evicted.
        limit = plan.block_cache_mib * _MIB // 4 // BLOCK_BYTES
        del cached[limit:], self._fresh[limit:]
        turns = ROUNDS * (2 + len(PARTS) if plan.memtables else 1)
        self.batch = min(BATCH, len(self._fresh) // turns)
        if self.batch < 1:
            raise UsageError(
                f"{plan.records:,} records with {plan.block_cache_mib} MiB of block cache give "
                f"{len(self._fresh)} blocks that are read once; {turns} are needed. Take more of "
                "both."
            )
        hot = min(HOT, len(cached) // 4)
        self.hot_reads, self.cached_reads = cached[:hot], cached[hot:]
        self.hot_writes = [self.other() for _ in range(hot)]

    def other(self) -> bytes:
        """A record that no measured read takes."""
        count = len(self._by_rank)
        half = count // 2
        while True:
            rank = self.random.randrange(count)
            if (rank if rank < half else rank - half) % self._apart:
                return self._by_rank[rank]

    def hot(self) -> list[bytes]:
        """A batch of reads of hot records."""
        return self.random.choices(self.hot_reads, k=self.batch)

    def cached(self) -> list[bytes]:
        """A batch of reads of records whose blocks are in the block cache."""
        return self.random.choices(self.cached_reads, k=self.batch)

    def fresh(self) -> list[bytes]:
        """A batch of reads of records whose blocks were not read before."""
        keys = self._fresh[-self.batch :]
        del self._fresh[-self.batch :]
        return keys

    def written(self) -> list[bytes]:
        """A batch of operations on hot records that are written, but never read otherwise."""
        return self.random.choices(self.hot_writes, k=self.batch)

    def any(self) -> list[bytes]:
        """A batch of writes of any records but those that reads are measured with."""
        return [self.other() for _ in range(self.batch)]


@dataclass(frozen=True)
class _Kind:
    """A kind of operation."""

    operation: Operation
    record: Record
    draw: Callable[[], list[bytes]]
    """The keys of a batch."""
    time: Callable[[Sequence[bytes]], float]
    """Seconds on a core for a batch."""
    cached_bytes: Callable[[], int]
    """Bytes in the block cache."""


class _Store:
    """The database, with the options of the published evaluation."""

    def __init__(self, plan: Plan, folder: str) -> None:
        try:
            import rocksdict
        except ImportError as error:
            raise NetkvError(
                f"rocksdict does not load: {error}.\n  'pip install rocksdict' installs it."
            ) from error
        self._rocksdict = rocksdict
        self._plan = plan
        self._cache: Cache = rocksdict.Cache(plan.block_cache_mib * _MIB)
        table = rocksdict.BlockBasedOptions()
        table.set_block_cache(self._cache)
        table.set_bloom_filter(BLOOM_BITS, False)
        table.set_block_size(BLOCK_BYTES)
        options = rocksdict.Options(raw_mode=True)
        options.create_if_missing(True)
        options.set_block_based_table_factory(table)
        options.set_write_buffer_size(plan.memtable_mib * _MIB)
        options.set_max_write_buffer_number(40)
        options.set_min_write_buffer_number_to_merge(MERGED_MEMTABLES)
        options.set_level_zero_file_num_compaction_trigger(10)
        options.set_target_file_size_base(512 * _MIB)
        options.set_max_bytes_for_level_base(10 * 512 * _MIB)
        options.set_level_compaction_dynamic_level_bytes(False)
        options.set_max_background_jobs(16)
        options.set_wal_bytes_per_sync(2 * _MIB)
        self._db: Rdict = rocksdict.Rdict(folder, options)
        self._values = [random.Random(2).randbytes(plan.value_size) for _ in range(64)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def load(self, sample: _Sample, step: _Steps) -> None:
        """Writes every record once, in random order."""
        unlogged = self._rocksdict.WriteOptions()
        # It is an attribute; the stub of rocksdict declares a method.
        unlogged.disable_wal = True  # type: ignore[method-assign,assignment]
        keys = sample.keys
        bounds = [len(keys) * tenth // _LOAD_STEPS for tenth in range(_LOAD_STEPS + 1)]
        for start, end in pairwise(bounds):
            step(f"loading {len(keys):,} records")
            self.write(islice(keys, start, end), sample.random, unlogged)

    def compact(self) -> None:
        """Moves all records to level 1; raises `NetkvError` if memtables or level 0 are not empty.

        A compaction reads files only: memtables are flushed first.
        """
        self._db.flush(wait=True)
        options = self._rocksdict.CompactOptions()
        options.set_bottommost_level_compaction(
            self._rocksdict.BottommostLevelCompaction.force_optimized()
        )
        self._db.compact_range(None, None, options)
        for name in ("num-entries-active-mem-table", "num-immutable-mem-table"):
            self._expect(name, 0)
        self._expect("num-files-at-level0", 0)

    def warm(self, sample: _Sample) -> None:
        """Brings the blocks of hot and block-cached reads into the block cache."""
        for key in (*sample.hot_reads, *sample.cached_reads):
            self._db.get(key)

    def write_some(self, sample: _Sample, size: int) -> None:
        """Writes records until the active memtable has `size` bytes."""
        while self._property("cur-size-active-mem-table") < size:
            self.write([sample.other() for _ in range(1000)], sample.random)

    def fill_memtable(self, sample: _Sample, number: int) -> None:
        """Writes records until `number` memtables are full."""
        while self._property("num-immutable-mem-table") < number:
            self.write([sample.other() for _ in range(1000)], sample.random)
        self._expect("num-immutable-mem-table", number)

    def kind(self, operation: Operation, record: Record, draw: Callable[[], list[bytes]]) -> _Kind:
        timed = self._read if operation == "read" else self._put
        return _Kind(operation, record, draw, timed, self._cache.get_usage)

    def _read(self, keys: Sequence[bytes]) -> float:
        get = self._db.get
        start = time.thread_time()
        for key in keys:
            get(key)
        return time.thread_time() - start

    def _put(self, keys: Sequence[bytes]) -> float:
        put, value = self._db.put, self._values[0]
        start = time.thread_time()
        for key in keys:
            put(key, value)
        return time.thread_time() - start

    def write(
        self, keys: Iterable[bytes], rng: random.Random, options: WriteOptions | None = None
    ) -> None:
        """Writes these records, in batches: that is faster than one by one."""
        keys = iter(keys)
        size = self._plan.value_size
        while some := list(islice(keys, 1000)):
            batch = self._rocksdict.WriteBatch(raw_mode=True)
            for key in some:
                batch.put(key, rng.randbytes(size))
            self._db.write(batch, options)

    def _property(self, name: str) -> int:
        return self._db.property_int_value(f"rocksdb.{name}") or 0

    def _expect(self, name: str, wanted: int) -> None:
        # Numbers of files at a level are no 'int' properties of RocksDB.
        found = int(self._db.property_value(f"rocksdb.{name}") or 0)
        if found != wanted:
            raise NetkvError(f"RocksDB's '{name}' is {found}; it should be {wanted}.")


def _check_space(plan: Plan, folder: str) -> None:
    """Raises `NetkvError` if the disk has too little room.

    A compaction stores all records twice; a write is in the log and, once flushed, in a file.
    """
    record = KEY_BYTES + plan.value_size
    needed = 3 * plan.records * record + 2 * (plan.memtables + 1) * plan.memtable_mib * _MIB
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise NetkvError(
            f"{folder} has {free // _MIB:,} MiB of free space; the database may take "
            f"{needed // _MIB:,} MiB. TMPDIR names another directory; --records takes fewer."
        )


def _reads(store: _Store, sample: _Sample) -> list[_Kind]:
    return [
        store.kind("read", "hot", sample.hot),
        store.kind("read", "block-cached", sample.cached),
        store.kind("read", "not-block-cached", sample.fresh),
    ]


def _reads_behind_writes(store: _Store, sample: _Sample) -> list[_Kind]:
    store.write(sample.hot_writes, sample.random)
    return [*_reads(store, sample), store.kind("read", "in-memtable", sample.written)]


def _writes(store: _Store, sample: _Sample) -> list[_Kind]:
    return [store.kind("write", "hot", sample.written), store.kind("write", "any", sample.any)]


def _rows(filled_memtables: float, kinds: Sequence[_Kind]) -> Iterator[Row]:
    """Times all kinds in turns."""
    times: list[list[float]] = [[] for _ in kinds]
    loops: list[list[float]] = [[] for _ in kinds]
    cached = [0] * len(kinds)
    operations = [0] * len(kinds)
    gc.disable()
    try:
        for _ in range(ROUNDS):
            for at, kind in enumerate(kinds):
                keys = kind.draw()
                loops[at].append(_loop_seconds(keys) / len(keys) * 1e6)
                before = kind.cached_bytes()
                seconds = kind.time(keys)
                cached[at] += kind.cached_bytes() - before
                operations[at] += len(keys)
                times[at].append(seconds / len(keys) * 1e6)
    finally:
        gc.enable()
    for at, kind in enumerate(kinds):
        # The fastest loop: a loop that was interrupted would make its own batch too cheap.
        loop = min(loops[at])
        yield Row(
            operation=kind.operation,
            record=kind.record,
            filled_memtables=filled_memtables,
            operations=operations[at],
            p10_us=quantiles(times[at], n=10, method="inclusive")[0] - loop,
            median_us=median(times[at]) - loop,
            blocks_cached=cached[at] / operations[at] / BLOCK_BYTES,
        )


def _loop_seconds(keys: Sequence[bytes]) -> float:
    """Seconds on a core for the loop alone."""
    start = time.thread_time()
    for _ in keys:
        pass
    return time.thread_time() - start


def _differences(rows: Sequence[Row]) -> Iterator[tuple[str, Difference]]:
    by_kind = {(row.operation, row.record, row.filled_memtables): row for row in rows}

    def of(more: Row, less: Row) -> Difference:
        return Difference(
            p10_us=more.p10_us - less.p10_us, median_us=more.median_us - less.median_us
        )

    hot, cached, fresh = (
        by_kind["read", record, 0] for record in ("hot", "block-cached", "not-block-cached")
    )
    write = by_kind["write", "any", 0]
    yield "read not block-cached - block-cached", of(fresh, cached)
    yield "read not block-cached - hot", of(fresh, hot)
    yield "read not block-cached - write any", of(fresh, write)
    yield "write any - hot", of(write, by_kind["write", "hot", 0])
    for row in rows:
        if row.filled_memtables and row.record != "in-memtable":
            name = f"read {row.record}, {row.filled_memtables:g} full memtables - none"
            yield name, of(row, by_kind[row.operation, row.record, 0])
