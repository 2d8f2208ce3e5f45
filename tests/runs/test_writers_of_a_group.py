"""Several hosts write to one store: order of ids, the same run twice, signs of life."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from sqlalchemy import literal

from netkv.errors import NetkvError, UsageError
from netkv.runs import Store, StoreSink, heartbeat
from netkv.runs import store as stores
from netkv.runs.heartbeat import SILENT_SECONDS
from netkv.runs.owner import Owner
from tests.runs.postgresql import Server
from tests.runs.raw_store import execute
from tests.runs.recorded_runs import record, result, samples, start
from tests.waiting import until

LATER = "UPDATE groups SET seen_at = seen_at - :seconds"


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Makes this process look like one of another host to what opens the store afterwards."""

    def pretend() -> None:
        here = Owner.this_process()
        other = Owner("another-host", replace(here.process, boot="another"))
        monkeypatch.setattr(Owner, "this_process", lambda: other)

    return pretend


def silent(url: str, seconds: float) -> None:
    """Let the last sign of life be so much older."""
    execute(url, LATER, seconds=seconds)


def test_ids_are_in_the_order_of_commits(url: str) -> None:
    """Else a reader that asks for what is after the last id would miss rows."""
    runs = [start(f"r{number}") for number in range(6)]
    ended = threading.Event()

    def write(run_id: str) -> None:
        run = next(each for each in runs if each.id == run_id)
        with Store(url) as store, StoreSink(store) as sink:
            record(sink, run)

    def read() -> list[int]:
        seen: list[int] = []
        with Store(url) as store:
            while True:
                last = ended.is_set()
                new, _ = store.newer(seen[-1] if seen else 0, 0)
                seen += [number for number, _, _ in new]
                if last and not new:
                    return seen

    Store(url).close()
    with ThreadPoolExecutor(8) as pool:
        reader = pool.submit(read)
        for writer in [pool.submit(write, run.id) for run in runs]:
            writer.result()
        ended.set()
        seen = reader.result()
    assert len(seen) == len(set(seen)) == 6 * 23
    assert seen == sorted(seen)


def test_simulation_that_two_begin_at_once_runs_once(url: str) -> None:
    barrier, ended = threading.Barrier(4), threading.Event()
    run = start("sim-x", mode="sim")

    def begin() -> str:
        with Store(url) as store, StoreSink(store) as sink:
            barrier.wait()
            try:
                sink.begin(run)
            except UsageError as error:
                return str(error)
            ended.wait()
            sink.finish(result(run, list(samples(run))))
            return ""

    Store(url).close()
    with ThreadPoolExecutor(4) as pool:
        begun = [pool.submit(begin) for _ in range(4)]
        until(lambda: sum(each.done() for each in begun) == 3, "three are refused")
        ended.set()
        texts = [text for each in begun if (text := each.result())]
    assert len(texts) == 3
    assert all("already in progress" in text for text in texts)


def test_silent_process_of_another_host_has_failed(
    server_url: str, elsewhere: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "ServerStart", lambda: literal(0.0))
    elsewhere()
    with Store(server_url) as store:
        sink = StoreSink(store, group="g1")
        sink.begin(start("r1"))
    silent(server_url, SILENT_SECONDS - 10)
    with Store(server_url) as store:
        assert store.head("r1").status == "running"
        with pytest.raises(NetkvError, match="is in progress"):
            store.delete(["r1"])
    silent(server_url, 20)
    with Store(server_url) as store:
        run = store.head("r1")
        assert run.status == "failed"
        assert run.reason is not None
        assert "of another-host) ended before the run was finished" in run.reason
        store.delete(["r1"])


def test_process_that_was_silent_goes_on_with_its_run(
    server_url: str, elsewhere: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was stopped, or had no network."""
    monkeypatch.setattr(stores, "ServerStart", lambda: literal(0.0))
    elsewhere()
    run = start("r1")
    found = list(samples(run))
    with Store(server_url) as store, StoreSink(store) as sink:
        sink.begin(run)
        sink.sample(run.id, found[0])
        silent(server_url, SILENT_SECONDS + 1)
        with Store(server_url) as other:
            assert other.head("r1").status == "failed"
            sink.sample(run.id, found[1])
            again = other.head("r1")
            assert (again.status, again.reason, again.finished_at) == ("running", None, None)
            assert again.throughput_ops == 0
        sink.finish(result(run, found[:2]))
        assert store.head("r1").status == "done"


def test_time_without_a_server_is_no_silence(
    postgresql: Server, server_url: str, elsewhere: Callable[[], None]
) -> None:
    elsewhere()
    with Store(server_url) as store, StoreSink(store) as sink:
        sink.begin(start("r1"))
        silent(server_url, 10 * SILENT_SECONDS)
        postgresql.crash()
        postgresql.start()
        with Store(server_url) as other:
            assert other.head("r1").status == "running"


def test_process_without_samples_gives_signs_of_life(
    server_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heartbeat, "BEAT_SECONDS", 0.05)
    query = "SELECT seen_at FROM groups"
    with Store(server_url) as store:
        with StoreSink(store) as sink:
            sink.begin(start("r1"))
            ((first,),) = execute(server_url, query)
            assert abs(first - time.time()) < 60
            until(lambda: execute(server_url, query)[0][0] > first, "it was seen again")
        names = [thread.name for thread in threading.enumerate()]
        until(lambda: "heartbeat" not in [t.name for t in threading.enumerate()], str(names))


def test_processes_of_a_file_give_no_signs_of_life(file_url: str) -> None:
    with Store(file_url) as store, StoreSink(store) as sink:
        sink.begin(start("r1"))
        assert "heartbeat" not in [thread.name for thread in threading.enumerate()]
        assert execute(file_url, "SELECT seen_at FROM groups") == [(None,)]


def test_host_of_the_same_name_is_another_host(
    server_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many machines are named `localhost`; only the boot distinguishes them."""
    here = Owner.this_process()
    other = Owner(here.host, replace(here.process, boot="another", pid=1))
    monkeypatch.setattr(Owner, "this_process", lambda: other)
    with Store(server_url) as store, StoreSink(store) as sink:
        sink.begin(start("r1"))
        with Store(server_url) as reader:
            assert reader.head("r1").status == "running"
