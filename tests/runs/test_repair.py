"""A damaged store gives a sentence with the way out, and its repair saves what can be read."""

from __future__ import annotations

import contextlib
import os
import random
import resource
import signal
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from netkv.errors import NetkvError, StoreError, UsageError
from netkv.runs import Store, StoreSink, repair, salvage
from tests.runs.many_runs import store_ended
from tests.runs.recorded_runs import result, samples, start

PAGE = 4096
RUNS = 24


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of a store with many runs."""
    file = tmp_path_factory.mktemp("whole") / "runs.db"
    with Store(_url(file)) as store:
        store_ended(store, RUNS, seconds=30)
    return file.read_bytes()


@pytest.fixture
def file(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "runs.db"
    path.write_bytes(content)
    return path


def _url(file: Path) -> str:
    return f"sqlite:///{file}"


def _tables(file: Path) -> dict[str, list[Any]]:
    with contextlib.closing(sqlite3.connect(file)) as store:
        return {
            table.name: store.execute(f"SELECT * FROM {table.name} ORDER BY 1").fetchall()
            for table in salvage.tables()
        }


def _stores(folder: Path) -> list[str]:
    """The files in a folder without logs: SQLite makes one, empty, for a reader, too."""
    names = [each.name for each in folder.iterdir()]
    return sorted(name for name in names if not name.endswith(("-wal", "-shm")))


def _zero(file: Path, *pages: int) -> None:
    """Overwrites pages with zeros; the first one is 1."""
    with file.open("r+b") as opened:
        for page in pages:
            opened.seek((page - 1) * PAGE)
            opened.write(bytes(PAGE))


def _root(file: Path, table: str) -> int:
    with contextlib.closing(sqlite3.connect(file)) as store:
        found = store.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", [table])
        page: int = found.fetchone()[0]
    return page


def _read_all(file: Path) -> set[str]:
    """Every run, as all commands and pages read it."""
    with Store(_url(file)) as store:
        heads = store.heads()
        for head in heads:
            store.record(head.id)
        store.comparable([head.id for head in heads])
        store.values()
        store.timings()
    return {head.id for head in heads}


def _repair(file: Path) -> repair.Repaired:
    damaged = file.read_bytes()
    repaired = repair.repair(_url(file))
    assert repaired is not None
    assert repaired.damaged.read_bytes() == damaged
    assert _read_all(file) == set(repaired.runs.saved)
    assert repair.repair(_url(file)) is None
    return repaired


def test_rows_of_a_sound_file_are_read_as_by_sqlite(file: Path, tmp_path: Path) -> None:
    found = salvage.salvage(file, tmp_path / "new.db")
    assert _tables(tmp_path / "new.db") == _tables(file)
    assert (len(found.saved), found.lost, found.incomplete) == (RUNS, [], {})


def test_deleted_runs_do_not_return(file: Path, tmp_path: Path) -> None:
    with Store(_url(file)) as store:
        store.delete([f"run-{number:05}" for number in range(4, RUNS)])
    found = salvage.salvage(file, tmp_path / "new.db")
    assert found.saved == [f"run-{number:05}" for number in range(4)]
    assert _tables(tmp_path / "new.db") == _tables(file)


def test_sound_store_is_left_as_it_is(file: Path) -> None:
    before = file.read_bytes()
    assert repair.repair(_url(file)) is None
    assert file.read_bytes() == before
    assert _stores(file.parent) == ["runs.db"]


@pytest.mark.parametrize("table", ["runs", "samples", "groups", "store_info", "events"])
def test_lost_root_of_a_table_costs_no_run(file: Path, table: str) -> None:
    _zero(file, _root(file, table))
    with pytest.raises(StoreError, match="'netkv runs repair' saves"):
        _read_all(file)
    repaired = _repair(file)
    assert len(repaired.runs.saved) == RUNS
    assert repaired.runs.lost == []


def test_lost_first_page_costs_no_run(file: Path) -> None:
    _zero(file, 1)
    with pytest.raises(StoreError, match=r"not a database. 'netkv runs repair' saves"):
        _read_all(file)
    assert len(_repair(file).runs.saved) == RUNS


@pytest.mark.parametrize("place", [0, 16, 18, 28, 56])
def test_damaged_header_costs_no_run(file: Path, place: int) -> None:
    with file.open("r+b") as opened:
        opened.seek(place)
        opened.write(b"\xff\xfe\xff\xfe")
    with pytest.raises(StoreError, match="'netkv runs repair' saves"):
        _read_all(file)
    assert len(_repair(file).runs.saved) == RUNS


def test_random_pages_of_zeros_cost_the_runs_on_them(file: Path, content: bytes) -> None:
    chance = random.Random(1)
    for pages in (1, 3, 10):
        for kept in file.parent.glob("runs.db*"):
            kept.unlink()
        file.write_bytes(content)
        _zero(file, *chance.sample(range(1, len(content) // PAGE + 1), pages))
        with contextlib.suppress(StoreError):  # damage of an index may be in no query
            _read_all(file)
        found = _repair(file).runs
        assert len(found.saved) >= RUNS - 2 * pages
        assert len(found.saved) + len(found.lost) == RUNS
        assert set(found.incomplete) <= set(found.saved)


def test_truncated_store_keeps_its_first_part(file: Path, content: bytes) -> None:
    os.truncate(file, len(content) * 2 // 3 + 100)
    with pytest.raises(StoreError, match="'netkv runs repair' saves"):
        _read_all(file)
    found = _repair(file).runs
    assert RUNS // 3 < len(found.saved) < RUNS
    assert "run-00000" in found.saved
    assert found.lost


def test_changes_in_a_log_are_saved(file: Path) -> None:
    with Store(_url(file)) as store, StoreSink(store) as sink:
        sink.begin(start("last"))
        sink.finish(result(start("last"), list(samples(start("last")))))
        # As after a crash: the log is there, and not yet in the file.
        log = Path(f"{file}-wal").read_bytes()
        main = file.read_bytes()
    file.write_bytes(main)
    Path(f"{file}-wal").write_bytes(log)
    _zero(file, _root(file, "samples"))
    Path(f"{file}-wal").write_bytes(log)
    repaired = repair.repair(_url(file))
    assert repaired is not None
    assert "last" in repaired.runs.saved
    assert Path(f"{repaired.damaged}-wal").read_bytes() == log
    assert _read_all(file) == set(repaired.runs.saved)


@pytest.mark.parametrize("what", [b"certainly no database" * 1000, b"short", b"\0" * 9000])
def test_file_without_runs_is_left_as_it_is(tmp_path: Path, what: bytes) -> None:
    file = tmp_path / "runs.db"
    file.write_bytes(what)
    with pytest.raises(NetkvError, match=r"No run can be read .* as before"):
        repair.repair(_url(file))
    assert file.read_bytes() == what
    assert _stores(tmp_path) == ["runs.db"]


def test_value_that_netkv_does_not_write_is_damage(file: Path) -> None:
    with contextlib.closing(sqlite3.connect(file)) as raw:
        raw.execute("UPDATE runs SET figures = zeroblob(20) WHERE id = 'run-00003'")
        raw.execute("UPDATE samples SET metrics = '{' WHERE id = 1")
        raw.commit()
    with pytest.raises(StoreError, match="'netkv runs repair' saves"):
        _read_all(file)
    found = _repair(file).runs
    assert found.lost == ["run-00003"]
    assert found.incomplete == {"run-00000": 1}


def test_new_file_leaves_the_damaged_store(file: Path, tmp_path: Path) -> None:
    _zero(file, _root(file, "runs"))
    damaged = file.read_bytes()
    repaired = repair.repair(_url(file), tmp_path / "other.db")
    assert repaired is not None
    assert (repaired.file, repaired.damaged) == (tmp_path / "other.db", file)
    assert file.read_bytes() == damaged
    assert len(_read_all(tmp_path / "other.db")) == RUNS
    with pytest.raises(UsageError, match=r"other\.db exists already"):
        repair.repair(_url(file), tmp_path / "other.db")


def test_second_repair_overwrites_no_damaged_store(file: Path) -> None:
    for _ in range(2):
        _zero(file, _root(file, "runs"))
        _repair(file)
    assert len(_stores(file.parent)) == 3


def test_run_in_progress_prevents_a_repair(file: Path) -> None:
    with Store(_url(file)) as store, StoreSink(store) as sink:
        sink.begin(start("live"))
        _zero(file, _root(file, "events"))
        with pytest.raises(NetkvError, match=r"Run live .* is in progress"):
            repair.repair(_url(file))


@pytest.fixture
def full_disk() -> Iterator[Callable[[int], None]]:
    """Limits the size of files, as a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    yield lambda most: resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize("most", [100_000, 150_000])
def test_full_disk_leaves_the_damaged_store(
    file: Path, tmp_path: Path, full_disk: Callable[[int], None], most: int
) -> None:
    _zero(file, _root(file, "runs"))
    damaged = file.read_bytes()
    full_disk(most)
    with pytest.raises(NetkvError, match=r"cannot be repaired: .* as before. --output FILE"):
        repair.repair(_url(file))
    assert file.read_bytes() == damaged
    assert _stores(tmp_path) == ["runs.db"]


@pytest.mark.parametrize(("version", "sentence"), [(99, "Update netkv"), (6, "runs export")])
def test_store_of_another_version_is_not_repaired(file: Path, version: int, sentence: str) -> None:
    with contextlib.closing(sqlite3.connect(file)) as raw:
        raw.execute("UPDATE store_info SET version = ?", (version,))
        raw.commit()
    with pytest.raises(NetkvError, match=sentence):
        repair.repair(_url(file))


def test_repair_names_what_it_cannot_repair(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="There is no run store"):
        repair.repair(_url(tmp_path / "none.db"))
    with pytest.raises(UsageError, match="no SQLite file"):
        repair.repair("postgresql://host/netkv")


def test_rights_of_the_file_stay(file: Path) -> None:
    file.chmod(0o600)
    _zero(file, _root(file, "runs"))
    _repair(file)
    assert file.stat().st_mode & 0o777 == 0o600
