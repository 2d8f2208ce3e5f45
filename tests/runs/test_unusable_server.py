"""A server that refuses, fails or comes back: commands get a sentence, runs lose nothing."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import psycopg
import pytest

from netkv.errors import StoreError, UsageError
from netkv.runs import Store, StoreSink, store_url
from netkv.runs import sink as sinks
from netkv.runs.postgresql import LOCK
from netkv.runs.store_url import shown
from tests.runs.postgresql import PASSWORD, Server
from tests.runs.raw_store import execute
from tests.runs.recorded_runs import record, record_comparison, result, samples, start


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A retry at every call."""
    monkeypatch.setattr(sinks, "_PATIENCE_SECONDS", 0.05)
    monkeypatch.setattr(sinks, "_RETRY_SECONDS", (0.0, 0.0))


def refusal(url: str) -> str:
    """Why a store cannot be opened, in a sentence without the password."""
    with pytest.raises(StoreError) as refused:
        Store(url)
    text = str(refused.value)
    assert text.startswith(f"The run store {shown(url)} cannot be used: ")
    assert PASSWORD not in text + refused.value.why
    assert "\n" not in text
    return refused.value.why


def test_server_that_refuses_is_a_sentence(postgresql: Server, database: str) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        nowhere = f"postgresql://scram:{PASSWORD}@127.0.0.1:{port}/{database}"
        assert "Connection refused" in refusal(nowhere)
    assert "password authentication failed" in refusal(postgresql.url(database, "scram", "wrong"))
    assert 'database "nothing" does not exist' in refusal(postgresql.url("nothing"))
    Store(postgresql.url(database, "scram", PASSWORD)).close()


def test_too_many_connections_are_a_sentence(postgresql: Server, server_url: str) -> None:
    Store(server_url).close()
    with ExitStack() as opened:
        with suppress(psycopg.OperationalError):
            while True:
                opened.enter_context(postgresql.connected())
        assert "too many clients" in refusal(server_url)


@pytest.mark.parametrize(
    ("url", "text"),
    [
        (f"postgresql://me:{PASSWORD}@host/db", "postgresql://me:***@host/db"),
        (f"postgresql://host/db?password={PASSWORD}", "postgresql://host/db"),
        (f"postgresql//me:{PASSWORD}@host/db", "***@host/db"),
        (f"postgresql://me:{PASSWORD}@host:port/db", "***@host:port/db"),
        ("sqlite:////a b/runs.db", "sqlite:////a b/runs.db"),
    ],
)
def test_password_is_not_shown(url: str, text: str) -> None:
    assert shown(url) == text


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        (
            f"postgresql://me:{PASSWORD}@host/db?application_name=x&password={PASSWORD}",
            "postgresql+psycopg://me@host/db?application_name=x",
        ),
        ("postgresql://host/db", "postgresql://host/db"),
        ("sqlite:////a b/runs.db", "sqlite:////a b/runs.db"),
    ],
)
def test_password_is_not_kept_in_files(url: str, kept: str) -> None:
    assert store_url.without_secrets(url) == kept


def test_missing_driver_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(UsageError, match=r"pip install 'netkv\[postgresql\]'") as refused:
        Store(f"postgresql://me:{PASSWORD}@host/db")
    assert PASSWORD not in str(refused.value)


def test_service_file_and_password_file_are_read(
    postgresql: Server, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    services, passwords = tmp_path / "services", tmp_path / "pgpass"
    services.write_text(
        f"[netkv]\nhost=127.0.0.1\nport={postgresql.port}\nuser=scram\ndbname={database}\n"
    )
    passwords.write_text(f"127.0.0.1:*:*:scram:{PASSWORD}\n")
    passwords.chmod(0o600)
    monkeypatch.setenv("PGSERVICEFILE", str(services))
    monkeypatch.setenv("PGPASSFILE", str(passwords))
    with Store("postgresql+psycopg:///?service=netkv") as store:
        assert store.heads() == []


def test_wrong_url_is_refused_without_its_password() -> None:
    for url in (f"postgresql//me:{PASSWORD}@host/db", f"mysql://me:{PASSWORD}@host/db"):
        with pytest.raises(UsageError, match="NETKV_STORE is") as refused:
            store_url.parse(url)
        assert PASSWORD not in str(refused.value)


def test_driver_may_be_left_out(postgresql: Server, database: str) -> None:
    for scheme in ("postgresql", "postgres"):
        with Store(postgresql.url(database).replace("postgresql+psycopg", scheme)) as store:
            assert store.is_shared


def read_only_urls(postgresql: Server, database: str) -> Iterator[tuple[str, str]]:
    with postgresql.connected(database) as connection:
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
    yield postgresql.url(database, "reader"), "the user 'reader' may not write its tables"
    option = "?options=-c%20default_transaction_read_only%3Don"
    yield postgresql.url(database) + option, "transactions of its server are read-only"


def test_store_that_may_only_be_read_is_read(
    postgresql: Server, database: str, server_url: str
) -> None:
    with Store(server_url) as store:
        one, two = record_comparison(store)
    execute(server_url, "UPDATE runs SET status = 'running' WHERE id = :id", id=one)
    execute(server_url, "UPDATE groups SET owner_pid = 1")
    for url, why in read_only_urls(postgresql, database):
        with Store(url) as store:
            assert store.read_only is not None
            assert why in store.read_only
            assert store.head(one).status == "running"
            assert store.record(two).status == "done"
            with pytest.raises(StoreError, match="cannot be written"):
                store.pin([two], True)
            with pytest.raises(StoreError, match="cannot be written"):
                store.check_writable()


def test_standby_is_read(postgresql: Server, server_url: str) -> None:
    with Store(server_url) as store:
        ids = record_comparison(store)
    with postgresql.as_standby(), Store(server_url) as store:
        assert [head.id for head in store.heads()] == ids[::-1]
        with pytest.raises(StoreError, match="its server is a standby, which can only be read"):
            store.note(ids[0], "why?")


def test_deleted_tables_are_a_sentence(server_url: str) -> None:
    with Store(server_url) as store:
        for table in ("events", "samples", "verdicts", "runs"):
            execute(server_url, f"DROP TABLE {table}")
        with pytest.raises(StoreError, match="its tables were deleted"):
            store.heads()


def test_writer_that_stops_in_a_transaction_delays_others_only(
    postgresql: Server, database: str, server_url: str
) -> None:
    with Store(server_url) as store, postgresql.connected(database) as other:
        with other.transaction():
            other.execute(f"SELECT pg_advisory_xact_lock({LOCK})")
            began = time.monotonic()
            with (
                pytest.raises(StoreError, match="another process is writing to it"),
                store.transaction(patience=0.2),
            ):
                pass
            assert time.monotonic() - began < 5
        with store.transaction(patience=0.2) as session:
            limit = session.connection().exec_driver_sql("SHOW idle_in_transaction_session_timeout")
            assert limit.scalar() == "30s", "the server ends a writer that has stopped"


@pytest.mark.slow
def test_killed_server_costs_no_sample(postgresql: Server, server_url: str) -> None:
    told: list[str] = []
    run, other = start("r1"), start("r2")
    found = list(samples(run))
    with Store(server_url) as store, StoreSink(store, group="g1", warn=told.append) as sink:
        sink.begin(run)
        for number, sample in enumerate(found):
            if number == 5:
                postgresql.crash()
            if number == 15:
                postgresql.start()
            sink.sample(run.id, sample)
            sink.progress({"done": number})
        sink.finish(result(run, found))
        postgresql.crash()
        record(sink, other)
        assert sink.loss is not None
        with pytest.raises(StoreError):
            store.heads()
        postgresql.start()
        sink.verdict([run.id], [])
        assert sink.loss is None
        assert [each.time for each in store.samples("r1")[0]] == [each.time for each in found]
        assert [each.time for each in store.samples("r2")[0]] == [each.time for each in found]
        assert len(store.events("r2")) == 2
        numbers = [number for number, _, _ in store.newer(0, 0)[0]]
        assert numbers == sorted(set(numbers))
        assert len(numbers) == 2 * len(found)
    assert len(told) == 2
    assert "cannot be written" in told[0]
    assert "nothing is lost" in told[1]


@pytest.mark.parametrize("call", ["begin", "sample", "finish", "verdict"])
def test_change_whose_answer_was_lost_is_made_once(server_url: str, call: str) -> None:
    """The commit takes effect, and the connection ends before the client knows."""
    url = server_url
    run = start("sim-r", mode="sim")
    found = list(samples(run))
    with Store(url) as store, StoreSink(store, group="g1") as sink:
        error = psycopg.OperationalError

        def lose() -> None:
            of_dialect = store._engine.dialect.do_commit

            def commit(connection: object) -> None:
                of_dialect(connection)  # type: ignore[arg-type]
                store._engine.dialect.do_commit = of_dialect  # type: ignore[method-assign]
                raise error("server closed the connection unexpectedly")

            store._engine.dialect.do_commit = commit  # type: ignore[method-assign, assignment]

        steps: dict[str, Callable[[], None]] = {
            "begin": lambda: sink.begin(run),
            "sample": lambda: sink.sample(run.id, found[0]),
            "finish": lambda: sink.finish(result(run, found)),
            "verdict": lambda: sink.verdict([run.id], []),
        }
        for name, step in steps.items():
            if name == call:
                lose()
            step()
    assert sink.loss is None
    with Store(url) as store:
        assert store.head(run.id).status == "done"
        assert store.samples(run.id)[0] == found[:1]


def test_second_sink_of_a_group_is_no_repetition(store: Store) -> None:
    for name in ("r1", "r2"):
        with StoreSink(store, group="g1") as sink:
            record(sink, start(name))
    assert {head.id for head in store.heads()} == {"r1", "r2"}
