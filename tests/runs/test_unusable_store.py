"""A run store that is full, locked, read-only, damaged or gone: a run ends with its result."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from netkv.errors import StoreError
from netkv.runs import Store, StoreSink
from netkv.runs import sink as sinks
from tests.runs.recorded_runs import result, samples, start


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No waiting for locks, and a retry at every call."""
    monkeypatch.setattr(sinks, "_PATIENCE_SECONDS", 0.05)
    monkeypatch.setattr(sinks, "_RETRY_PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(sinks, "_RETRY_SECONDS", (0.0, 0.0))


Breaks = Callable[[Store, Path], Callable[[], None]]
"""Makes a store unusable; returns what makes it usable again."""


def _pragma(store: Store, broken: str, mended: str) -> Callable[[], None]:
    """Sets a pragma at the beginning of every transaction; returns what sets the other one."""
    now = [broken]

    def begin(connection: Any) -> None:
        connection.exec_driver_sql(f"PRAGMA {now[0]}")

    event.listen(store._engine, "begin", begin, insert=True)
    return lambda: now.__setitem__(0, mended)


def full(store: Store, file: Path) -> Callable[[], None]:
    return _pragma(store, f"max_page_count = {store_pages(file)}", "max_page_count = 1000000")


def store_pages(file: Path) -> int:
    with contextlib.closing(sqlite3.connect(file)) as connection:
        found: int = connection.execute("PRAGMA page_count").fetchone()[0]
    return found


def locked(store: Store, file: Path) -> Callable[[], None]:  # noqa: ARG001
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    return other.close


def read_only(store: Store, file: Path) -> Callable[[], None]:  # noqa: ARG001
    return _pragma(store, "query_only = ON", "query_only = ON")


def gone(store: Store, file: Path) -> Callable[[], None]:  # noqa: ARG001
    kept = file.with_suffix(".kept")
    file.rename(kept)
    return lambda: os.replace(kept, file)


def replaced(store: Store, file: Path) -> Callable[[], None]:
    mend = gone(store, file)
    file.write_bytes(b"")
    return mend


BREAKS: dict[str, Breaks] = {
    each.__name__: each for each in (full, locked, read_only, gone, replaced)
}


@pytest.fixture(params=BREAKS)
def breaks(request: pytest.FixtureRequest) -> Breaks:
    return BREAKS[request.param]


@pytest.fixture
def opened(file: Path) -> Iterator[Store]:
    with Store(f"sqlite:///{file}") as store:
        yield store


def _big(text: str) -> dict[str, Any]:
    """Parameters that need further pages of a full store."""
    return {"parameters": {"text": text * 60_000}}


STEPS = ["begin", "sample", "finish", "verdict"]


@pytest.mark.parametrize("step", STEPS)
def test_run_goes_on_without_its_store(
    breaks: Breaks, step: str, opened: Store, file: Path
) -> None:
    told: list[str] = []
    run = start("r1", **_big("x"))
    found = list(samples(run))
    mend: Callable[[], None] = lambda: None  # noqa: E731
    with StoreSink(opened, group="g1", warn=told.append) as sink:
        sink.plan([{"scheme": "nocache", "params": {}, "repeat": 0}])
        for at in STEPS:
            if at == step:
                mend = breaks(opened, file)
            if at == "begin":
                sink.begin(run)
            elif at == "sample":
                for each in found:
                    sink.sample(run.id, each)
                    sink.progress({"text": "y" * 100})
            elif at == "finish":
                sink.finish(result(run, found))
            else:
                sink.verdict([run.id], [])
        if step != "verdict":
            assert len(told) <= 1, told
            sink.begin(start("r2", **_big("z")))
            sink.finish(result(start("r2"), found))
            assert sink.finished == ["r1", "r2"]
            assert len(told) == 1, told
            assert "cannot be written" in told[0]
            assert sink.loss is not None
            assert sink.loss.runs >= 1
            assert sink.record(result(run, found)).throughput_ops > 0
        mend()
    if breaks is read_only:
        return  # its connections stay read-only
    assert sink.loss is None
    assert opened.record("r1").status == "done"
    assert len(opened.record("r1").series["time"]) == len(found)
    if step != "verdict":
        assert told[1:] == ["The run store can be written again; nothing is lost."]


def test_what_is_lost_at_the_end_is_counted(breaks: Breaks, opened: Store, file: Path) -> None:
    run = start("r1", **_big("x"))
    found = list(samples(run))
    mend = breaks(opened, file)
    with StoreSink(opened, group="g1") as sink:
        sink.begin(run)
        for each in found:
            sink.sample(run.id, each)
        sink.finish(result(run, found))
    assert sink.loss is not None
    assert (sink.loss.runs, sink.loss.samples) == (1, len(found))
    assert sink.loss.reason
    mend()


@pytest.mark.slow
def test_unfinished_run_at_the_end_is_counted(breaks: Breaks, opened: Store, file: Path) -> None:
    with StoreSink(opened, group="g1") as sink:
        sink.begin(start("r1"))
        mend = breaks(opened, file)
        sink.sample("r1", next(samples(start("r1", **_big("x")))))
        if BREAKS["full"] is breaks:
            return  # the end of a run needs no further page
    assert sink.finished == ["r1"]
    assert sink.loss is not None
    assert sink.loss.runs == 1
    mend()


def test_memory_of_waiting_samples_is_bounded(
    opened: Store, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sinks, "MAX_UNSTORED", 10)
    run = start("r1")
    with StoreSink(opened) as sink:
        mend = gone(opened, file)
        sink.begin(run)
        for each in samples(run):
            sink.sample(run.id, each)
        assert len(sink._unstored) == 10
        mend()
    assert sink.loss is not None
    assert sink.loss.samples == len(list(samples(run))) - 9


def test_damaged_store_is_a_sentence_at_every_query(file: Path) -> None:
    with Store(f"sqlite:///{file}") as store, StoreSink(store) as sink:
        sink.begin(start("r1"))
    file.write_bytes(b"certainly no database" * 1000)
    for suffix in ("-wal", "-shm"):
        file.with_name(file.name + suffix).unlink(missing_ok=True)
    with pytest.raises(StoreError, match="not a database"):
        Store(f"sqlite:///{file}")


def test_store_that_cannot_be_opened_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "runs.db").mkdir()
    with pytest.raises(StoreError, match="unable to open database file"):
        Store(f"sqlite:///{tmp_path}/runs.db")


def test_locked_store_can_be_read(opened: Store, file: Path) -> None:
    with StoreSink(opened) as sink:
        sink.begin(start("r1"))
        sink.finish(result(start("r1"), list(samples(start("r1")))))
        mend = locked(opened, file)
        assert opened.record("r1").status == "done"
        mend()


@pytest.mark.parametrize("whole_group", [False, True])
@pytest.mark.parametrize("step", ["sample", "finish", "verdict"])
def test_run_that_is_deleted_meanwhile_has_its_result(
    step: str, *, whole_group: bool, opened: Store, file: Path
) -> None:
    """Other programs may delete rows of a run in progress; the runs after it are stored."""
    told: list[str] = []
    run, other = start("r1"), start("r2")
    found = list(samples(run))
    with StoreSink(opened, group="g1", warn=told.append) as sink:
        sink.begin(run)
        for at in ("sample", "finish", "verdict"):
            if at == step:
                _delete(file, "groups" if whole_group else "runs")
            if at == "sample":
                for each in found:
                    sink.sample(run.id, each)
                    sink.progress({"text": "y"})
            elif at == "finish":
                sink.finish(result(run, found))
            else:
                sink.verdict([run.id], [])
        sink.begin(other)
        sink.finish(result(other, found))
        assert sink.record(result(run, found)).throughput_ops > 0
        loss = sink.loss
    assert opened.record("r2").status == "done"
    lost = {"sample": (1, len(found)), "finish": (1, 0)}.get(step)
    if lost is None:
        assert loss is None
    else:
        assert loss is not None
        assert (loss.runs, loss.samples) == lost
        assert "deleted" in loss.reason
        assert len(told) == 1, told


def _delete(file: Path, table: str) -> None:
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"DELETE FROM {table}")
