"""Stores of older versions are upgraded on request, and end with the tables of a new store."""

from __future__ import annotations

import os
import re
import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import create_engine, inspect

from netkv.errors import NetkvError, UsageError
from netkv.processes import boot
from netkv.runs import Store, StoreSink, database, migrations
from netkv.runs.repair import repair
from netkv.runs.schema import VERSION, Base
from netkv.runs.upgrade import upgrade
from tests.runs.raw_store import execute
from tests.runs.recorded_runs import record, start

ROOT = Path(__file__).parents[2]
OLD_GROUP = """INSERT INTO groups (id, created_at, command, owner_host, owner_boot, owner_pid,
    owner_started, plan) VALUES ('gold', 1.0, '["netkv"]', :host, :boot, :pid, 2, '[]')"""


def create(url: str, version: int) -> None:
    """Make a store of this version without runs."""
    engine = database.connect(url)
    with engine.begin() as connection:
        list(migrations.run(connection, None, version))
    engine.dispose()


@pytest.fixture
def old(url: str, tmp_path: Path) -> str:
    """The URL of a store of version 7 with a run."""
    create_old(url, tmp_path)
    return url


def create_old(url: str, tmp_path: Path) -> None:
    """Make a store of version 7 with a run, which this netkv has recorded elsewhere."""
    source = f"sqlite:///{tmp_path / 'source.db'}"
    with Store(source) as store, StoreSink(store, group="gold") as sink:
        record(sink, start("r1", "netcache"))
    create(url, 7)
    execute(url, OLD_GROUP, host=socket.gethostname(), boot=boot(), pid=1)
    with sqlite3.connect(source.removeprefix("sqlite:///")) as raw:
        raw.row_factory = sqlite3.Row
        for table in ("runs", "samples", "events"):
            for row in raw.execute(f"SELECT * FROM {table} ORDER BY id"):
                values: dict[str, Any] = dict(row)
                if table == "runs":
                    values["pinned"] = bool(values["pinned"])
                    del values["peak_memory"]  # newer than that version
                else:
                    del values["id"]
                names = ", ".join(f'"{name}"' for name in values)
                marks = ", ".join(f":{name}" for name in values)
                execute(url, f"INSERT INTO {table} ({names}) VALUES ({marks})", **values)
    raw.close()


def tables(url: str) -> dict[str, Any]:
    """What the database says about its tables, without the order of indexes."""
    engine = create_engine(url)
    found = inspect(engine)
    described = {
        table: {
            "columns": [
                (each["name"], str(each["type"]), each["nullable"], each["default"])
                for each in found.get_columns(table)
            ],
            "indexes": sorted(str(each) for each in found.get_indexes(table)),
            "keys": sorted(str(each) for each in found.get_foreign_keys(table)),
        }
        for table in found.get_table_names()
    }
    engine.dispose()
    return described


def test_scripts_lead_to_the_tables_of_a_new_store(url: str) -> None:
    create(url, VERSION)
    engine = database.connect(url)
    options = {"compare_type": True, "compare_server_default": True}
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, Base.metadata) == []
    upgraded = tables(url)
    with engine.begin() as connection:
        Base.metadata.drop_all(connection)
    engine.dispose()
    Store(url).close()
    assert tables(url) == upgraded


def test_older_store_is_refused_until_it_is_upgraded(old: str) -> None:
    with pytest.raises(NetkvError, match="'netkv runs upgrade' upgrades it"):
        Store(old)
    done = upgrade(old)
    assert done is not None
    assert (done.since, done.version) == (7, VERSION)
    assert "from version 7 to 8" in done.sentences()[0]
    assert upgrade(old) is None, "it is upgraded"
    with Store(old) as store:
        run = store.record("r1")
        assert (run.status, run.group, len(run.series["time"])) == ("done", "gold", 23)
        assert [event.kind for event in run.events] == ["killed", "started"]
        with StoreSink(store) as sink:
            record(sink, start("r2"))
        (samples, events), (last, _) = store.newer(23, 2), store.latest()
    assert [number for number, _, _ in samples] == list(range(24, last + 1))
    assert [number for number, _, _ in events] == [3, 4]


def test_upgrade_of_a_file_keeps_a_copy(file_url: str, tmp_path: Path) -> None:
    create(file_url, 7)
    done = upgrade(file_url)
    assert done is not None
    assert done.backup is not None
    assert done.backup.parent == tmp_path / "state"
    assert re.fullmatch(r"runs\.db\.version-7-\d{8}-\d{6}", done.backup.name)
    assert execute(f"sqlite:///{done.backup}", "SELECT version FROM store_info") == [(7,)]


def test_upgraded_file_can_be_repaired(file_url: str, tmp_path: Path) -> None:
    """The salvage knows rows by the number of their values: those of older rows have grown."""
    create_old(file_url, tmp_path)
    upgrade(file_url)
    file = tmp_path / "state" / "runs.db"
    sqlite3.connect(file).execute("PRAGMA wal_checkpoint(TRUNCATE)").connection.close()
    with file.open("r+b") as damaged:
        damaged.write(bytes(100))
    repaired = repair(file_url)
    assert repaired is not None
    assert repaired.runs.saved == ["r1"]
    assert execute(file_url, "SELECT owner_pid FROM groups") == [(1,)]


def test_store_with_a_run_in_progress_is_not_upgraded(old: str) -> None:
    execute(old, "UPDATE runs SET status = 'running'")
    started = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    execute(
        old,
        "UPDATE groups SET owner_pid = :pid, owner_started = :started",
        pid=os.getpid(),
        started=int(started),
    )
    with pytest.raises(NetkvError, match=rf"Run r1 .* is in progress \(process {os.getpid()}\)"):
        upgrade(old)
    assert execute(old, "SELECT version FROM store_info") == [(7,)]


def test_failing_upgrade_changes_nothing(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(connection: Any, *_: int) -> Sequence[Any]:
        connection.exec_driver_sql("ALTER TABLE groups ADD COLUMN last_change VARCHAR")
        return connection.exec_driver_sql("SELECT missing FROM nowhere").all()  # type: ignore[no-any-return]

    before = tables(old)
    monkeypatch.setattr(migrations, "run", run)
    with pytest.raises(NetkvError, match="nowhere"):
        upgrade(old)
    assert tables(old) == before


def at_once(work: Callable[[], object]) -> None:
    """Do something in four threads; raises what it raises."""
    barrier = threading.Barrier(4)

    def start() -> None:
        barrier.wait()
        work()

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(start) for _ in range(4)]:
            done.result()


def test_store_is_upgraded_once_by_many_at_once(old: str) -> None:
    at_once(lambda: upgrade(old))
    with Store(old) as store:
        assert len(store.heads()) == 1


def test_store_is_created_once_by_many_at_once(url: str) -> None:
    at_once(lambda: Store(url).close())
    assert execute(url, "SELECT version FROM store_info") == [(VERSION,)]


def test_missing_and_newer_stores_are_not_upgraded(url: str) -> None:
    with pytest.raises(UsageError, match="There is no run store"):
        upgrade(url)
    Store(url).close()
    execute(url, "UPDATE store_info SET version = 99")
    with pytest.raises(NetkvError, match="a newer netkv"):
        upgrade(url)


def test_opening_a_store_does_not_import_alembic(file_url: str) -> None:
    Store(file_url).close()
    program = (
        "import sys; from netkv.runs import Store; Store(sys.argv[1]).close(); "
        "sys.exit('alembic' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program, file_url], cwd=ROOT, check=True)
