"""The output and the errors of `netkv bench rocksdb`, not the measured speed."""

from __future__ import annotations

import shutil
from types import SimpleNamespace

import pytest

from netkv.bench.benchmarks.rocksdb import Plan, measure
from netkv.errors import NetkvError
from tests.cli.commands import Netkv, assert_wrong_usage

SMALL = ["bench", "rocksdb", "--records", "20000", "--memtable-mib", "1"]


def test_document_has_reads_by_storage_level_and_writes(netkv: Netkv) -> None:
    result = netkv(*SMALL, "--memtables", "2", "--json")
    assert result.status == 0, result.err
    assert "loading 20,000 records" in result.err
    document = result.document
    assert set(document) == {"machine", "load_average", "options", "rows", "differences"}
    assert document["options"]["records"] == 20_000
    assert document["options"]["block_cache_mib"] == 1024
    reads = ["hot", "block-cached", "not-block-cached"]
    assert [
        (row["operation"], row["record"], row["filled_memtables"]) for row in document["rows"]
    ] == [
        *(("read", record, 0) for record in reads),
        *(("write", record, 0) for record in ("hot", "any")),
        *(
            ("read", record, filled)
            for filled in (*measure.PARTS, 2)
            for record in (*reads, "in-memtable")
        ),
    ]
    for row in document["rows"]:
        assert row["operations"] > 0
        assert 0 < row["p10_us"] <= row["median_us"]
        # Exactly the reads of not-block-cached records load a block.
        blocks = 1 if row["record"] == "not-block-cached" else 0
        assert row["blocks_cached"] == pytest.approx(blocks, abs=0.2)
    for difference in document["differences"].values():
        assert set(difference) == {"p10_us", "median_us"}
    assert "read not block-cached - block-cached" in document["differences"]
    assert "read hot, 2 full memtables - none" in document["differences"]


def test_table_is_printed_with_the_load_of_the_machine(netkv: Netkv) -> None:
    result = netkv(*SMALL, "--memtables", "0")
    assert result.status == 0, result.err
    assert "not in the block cache" in result.out
    assert "read not block-cached - hot" in result.out
    assert "newest memtable" not in result.out
    assert "Load average" in result.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--records", "10000", "--value-size", "1"], "40 are needed"),
        (["--records", "9"], "--records"),
        (["--memtables", "16"], "--memtables"),
    ],
)
def test_unsupported_options_are_refused(netkv: Netkv, arguments: list[str], message: str) -> None:
    assert_wrong_usage(netkv("bench", "rocksdb", "--memtables", "0", *arguments), message)


def test_full_disk_is_reported_before_the_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=5 << 20))
    steps: list[str] = []
    with pytest.raises(NetkvError, match=r"has 5 MiB of free space.*TMPDIR names another"):
        measure.run(Plan(), lambda _at, _count, label: steps.append(label))
    assert not steps


def test_records_to_read_are_never_written() -> None:
    """A written record is in a memtable, so its read would not measure what its row states."""
    plan = Plan(records=40_000)
    sample = measure._Sample(plan)
    written = {key for _ in range(2000) for key in sample.any()} | set(sample.hot_writes)
    assert len(written) > 3000
    assert written.isdisjoint(sample.hot_reads)
    assert written.isdisjoint(sample.cached_reads)
    rounds = (2 + len(measure.PARTS)) * measure.ROUNDS
    fresh = [key for _ in range(rounds) for key in sample.fresh()]
    assert written.isdisjoint(fresh)
    assert len(set(fresh)) == len(fresh) == rounds * sample.batch
