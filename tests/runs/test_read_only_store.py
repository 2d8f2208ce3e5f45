"""A store that cannot be written is read, and a change of it is refused with a sentence."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from netkv.errors import StoreError
from netkv.runs import Store, StoreSink, sqlite_file
from netkv.runs.query import RunQuery
from tests.runs.recorded_runs import record_comparison, start


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A store with two runs, alone in its folder."""
    path = tmp_path / "stored" / "runs.db"
    with Store(f"sqlite:///{path}") as store:
        record_comparison(store)
    return path


@pytest.fixture(params=["file", "folder"])
def frozen(
    file: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """The same, where the system forbids to write the file or anything in its folder.

    `os.access` says so in place of the system, which lets root write everything.
    """
    of_system = os.access
    refused = [file] if request.param == "file" else [file, file.parent]

    def access(path: Path, mode: int) -> bool:
        return not (mode & os.W_OK and Path(path) in refused) and of_system(path, mode)

    monkeypatch.setattr(os, "access", access)
    before = file.read_bytes()
    yield file
    assert file.read_bytes() == before
    if request.param == "folder":
        assert [each.name for each in file.parent.iterdir()] == ["runs.db"]


def test_runs_of_a_read_only_store_are_read(frozen: Path) -> None:
    with Store(f"sqlite:///{frozen}") as store:
        assert store.read_only is not None
        heads = store.heads()
        assert [head.scheme for head in heads] == ["netcache", "nocache"]
        assert len(store.record(heads[0].id).series["time"]) > 10
        assert len(store.comparable([head.id for head in heads])) == 2
        assert store.search(RunQuery(search="compared-netcache")).total == 1
        assert store.find(["compared-net"]) == [heads[0].id]


def test_change_of_a_read_only_store_is_refused(frozen: Path) -> None:
    with Store(f"sqlite:///{frozen}") as store:
        run = store.heads()[0].id
        sentence = r"runs\.db cannot be written: its (file|folder) is read-only\. Its runs can be"
        with pytest.raises(StoreError, match=sentence):
            store.tag([run], ["paper"])
        with pytest.raises(StoreError, match=sentence):
            store.note(run, "a note")
        with pytest.raises(StoreError, match=sentence):
            store.delete([run])


@pytest.mark.parametrize("frozen", ["folder"], indirect=True)
def test_runs_in_progress_stay_as_they_are(frozen: Path, file: Path) -> None:
    assert frozen == file
    with Store(f"sqlite:///{file}") as store:
        store.fail_abandoned()
        assert store.counts() == {"done": 2}


def test_log_that_cannot_be_read_is_named(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store(f"sqlite:///{file}") as store, StoreSink(store) as sink:
        sink.begin(start("last"))
        copy = tmp_path / "copy"
        copy.mkdir()
        for suffix in ("", "-wal"):
            shutil.copy(f"{file}{suffix}", copy / f"runs.db{suffix}")
    monkeypatch.setattr(os, "access", lambda _, mode: not mode & os.W_OK)
    with pytest.raises(StoreError, match=r"runs\.db-wal, which SQLite cannot read"):
        Store(f"sqlite:///{copy / 'runs.db'}")


def test_reader_sees_what_a_writer_elsewhere_stores(file: Path) -> None:
    with Store(f"sqlite:///{file}") as writer:
        other = sqlite_file.open_to_read(file)
        assert other.execute("SELECT count(*) FROM runs").fetchone() == (2,)
        with StoreSink(writer) as sink:
            sink.begin(start("later"))
            assert other.execute("SELECT count(*) FROM runs").fetchone() == (3,)
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            other.execute("DELETE FROM runs")
        other.close()
