"""The program, the query and the names of columns in docs/use/run-store.md are correct."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest

from netkv.runs import Store, export, reference
from netkv.runs.default_store import default_url
from tests.docs.documents import ROOT, blocks, run_python
from tests.runs.postgresql import Server
from tests.runs.recorded_runs import record_comparison

DOCUMENT = ROOT / "docs/use/run-store.md"


def test_tables_are_what_the_store_has() -> None:
    written = (ROOT / "docs/use/run-store-tables.md").read_text()
    assert reference.markdown() == written, "'make docs' writes docs/use/run-store-tables.md anew"
    for table in reference.document()["tables"]:
        assert table["meaning"]
        for column in table["columns"]:
            assert column["meaning"], f"{table['name']}.{column['name']} has no doc"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state directory with two runs in its store."""
    monkeypatch.setenv("NETKV_HOME", str(tmp_path))
    monkeypatch.delenv("NETKV_STORE", raising=False)
    assert default_url() == f"sqlite:///{tmp_path}/runs.db"
    with Store() as store:
        record_comparison(store)
    return tmp_path


@pytest.mark.usefixtures("home")
def test_program_of_the_document_reads_the_store() -> None:
    (program,) = blocks("python", DOCUMENT)
    output = run_python(program.text, options=["-W", "error"])
    with Store() as store:
        heads = store.heads()
    assert len(heads) == 2
    for head in heads:
        assert f"{head.id} {head.scheme} {round(head.throughput_ops)}" in output
    assert output.count("\n") > 4


def test_query_of_the_document_reads_json_columns(home: Path) -> None:
    (query,) = re.findall(r'"(SELECT scheme, .*)"', DOCUMENT.read_text())
    store = sqlite3.connect(home / "runs.db")
    with Store() as runs:
        heads = runs.heads()
    query = query.replace("quickstart", heads[0].scenario)
    assert dict(store.execute(query)) == {head.scheme: head.latency_us.p99 for head in heads}
    store.close()
    assert (home / "runs.db").is_file()


def test_queries_of_the_document_for_a_server_are_correct(
    postgresql: Server, database: str
) -> None:
    query, right = re.findall(r'psql netkv -c "(.*)"', DOCUMENT.read_text())[::-1]
    with Store(postgresql.url(database)) as store:
        record_comparison(store)
        heads = store.heads()
    with postgresql.connected(database) as connection:
        found = connection.execute(query.encode()).fetchall()
        connection.execute(right.encode())
    assert {run: float(p99) for run, p99 in found} == {
        each.id: each.latency_us.p99 for each in heads
    }
    with Store(postgresql.url(database, "reader")) as store:
        assert store.heads() == heads
        assert store.read_only


@pytest.mark.usefixtures("home")
def test_csv_has_the_columns_of_the_document() -> None:
    text = DOCUMENT.read_text()
    with Store() as store:
        header = export.to_csv(store.records([head.id for head in store.heads()])).splitlines()[0]
    names = header.split(",")
    assert names[:7] == re.findall(r"`(\w+)`", text.split("**CSV** has the columns")[1])[:7]
    assert "server_load_0" in names
    assert all(name in text for name in ("param:PATH", "control_plane_mib_per_s:NAME"))
