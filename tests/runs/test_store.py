"""The run store: stored runs are read back, even if their process was killed."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.orm import Session

from netkv.errors import NetkvError, UsageError
from netkv.metrics.common import MIB
from netkv.runs import Store, StoreSink, default_url
from netkv.runs.owner import Owner
from netkv.runs.schema import GroupRow, RunRow
from netkv.scenarios.results import CANCELLED, HistoryOperation, Violation
from netkv.scenarios.values import of_run
from netkv.schemes import metric_table
from tests.runs.raw_store import execute
from tests.runs.recorded_runs import (
    CONTROL,
    record,
    record_comparison,
    record_recovery,
    recovery,
    result,
    samples,
    start,
)
from tests.waiting import PATIENCE_S

ROOT = Path(__file__).parents[2]


def test_run_is_read_back_with_all_fields(store: Store) -> None:
    with StoreSink(store, group="g1", command=["netkv"]) as sink:
        outcome = record(sink, start("r1", "netcache", params={"workload.zipf": 0.9}))
    run = store.record("r1")
    assert run.status == "done"
    assert run.group == "g1"
    assert run.params == {"workload.zipf": 0.9}
    assert run.throughput_ops == outcome.throughput_ops
    assert run.latency_us == outcome.latency_us
    assert run.server_load == outcome.server_load
    assert run.latency_histogram == outcome.latency_histogram
    assert run.provenance.program_hash == "hash-of-netcache"
    assert run.provenance.host["cpu"] == "Test CPU"
    assert [event.kind for event in run.events] == ["killed", "started"]
    assert len(run.series["time"]) == 23
    assert run.series["phase"].count("warmup") == 3
    assert all(len(column) == 23 for column in run.series.values())
    assert run.result().throughput_ops == outcome.throughput_ops


def test_verdicts_belong_to_all_runs_of_the_invocation(store: Store) -> None:
    for run_id in record_comparison(store):
        (threshold,) = store.record(run_id).thresholds
        assert threshold.ok
        assert "nocache.throughput_ops" in threshold.expr


def test_samples_can_be_read_during_the_run(url: str, store: Store) -> None:
    run = start("live")
    with Store(url) as reader, StoreSink(store) as sink:
        sink.begin(run)
        for count, sample in enumerate(samples(run), start=1):
            sink.sample(run.id, sample)
            assert len(reader.samples("live")[0]) == count
        assert reader.head("live").status == "running"
        assert [head.id for head in reader.running()] == ["live"]


WRITER = textwrap.dedent("""
    import sys, time
    from netkv.runs import Store, StoreSink
    from tests.runs.recorded_runs import samples, start
    sink = StoreSink(Store(sys.argv[1]))
    run = start("victim")
    sink.begin(run)
    for sample in samples(run):
        sink.sample(run.id, sample)
        if sample.time == 8:
            print("half-way", flush=True)
            time.sleep(600)
""")


def test_run_of_a_killed_process_keeps_its_figures(url: str) -> None:
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, url],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    with writer:
        assert writer.stdout is not None
        assert writer.stdout.readline().strip() == "half-way"
        with Store(url) as store:
            assert store.head("victim").status == "running", "its process runs"
        writer.kill()
    with Store(url) as store:
        run = store.record("victim")
    assert run.status == "failed"
    assert run.reason is not None
    assert str(writer.pid) in run.reason
    assert len(run.series["time"]) == 11
    measured = run.series["throughput_ops"][3:]
    assert run.throughput_ops == pytest.approx(sum(measured) / len(measured))
    assert len(run.server_load) == 8


def test_reused_pid_does_not_keep_a_run_running() -> None:
    me = Owner.this_process()
    assert me.is_alive
    assert not Owner(me.host, replace(me.process, start=me.process.start - 1)).is_alive
    assert not Owner(me.host, replace(me.process, boot="another")).is_alive
    assert Owner("another-host", replace(me.process, pid=1)).is_alive, "on another host"


def test_interrupted_run_is_cancelled(store: Store) -> None:
    def interrupted() -> None:
        with StoreSink(store) as sink:
            sink.begin(start("stopped"))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert store.head("stopped").status == "cancelled"
    assert store.head("stopped").reason == CANCELLED
    assert store.record("stopped").result().status == "cancelled"
    assert store.result("stopped") is None, "a repetition executes it again"


def test_several_invocations_can_write_at_once(url: str) -> None:
    failures: list[BaseException] = []

    def write(name: str) -> None:
        try:
            with Store(url) as mine, StoreSink(mine) as sink:
                for index in range(3):
                    record(sink, start(f"{name}-{index}"))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    with Store(url) as store:
        assert len(store.heads()) == 9
        assert all(len(store.samples(head.id)[0]) == 23 for head in store.heads())


def test_error_of_an_ambiguous_id_lists_the_matches(store: Store) -> None:
    record_comparison(store)
    with pytest.raises(UsageError, match=r"compared-netcache-0, compared-nocache-0"):
        store.find(["compared-n"])
    with pytest.raises(UsageError, match="No run has an id that begins with 'xyz'"):
        store.find(["xyz"])
    with pytest.raises(UsageError, match="No run"):
        store.find(["%"])
    assert store.find(["compared-ne"]) == ["compared-netcache-0"]
    assert store.find(["gcomp"]) == ["compared-nocache-0", "compared-netcache-0"]


def test_exact_id_wins_over_longer_ids(store: Store) -> None:
    with StoreSink(store) as sink:
        record(sink, start("run-1"))
        record(sink, start("run-10"))
    assert store.find(["run-1"]) == ["run-1"]


def test_deletion_removes_samples_and_empty_groups(store: Store, url: str) -> None:
    record_comparison(store, "gone")
    record_comparison(store, "gtwo")
    store.delete(store.find(["gone"]))
    assert {head.group for head in store.heads()} == {"gtwo"}
    left = execute(url, "SELECT count(*) FROM samples WHERE run_id LIKE 'one%'")
    groups = execute(url, "SELECT count(*) FROM groups")
    assert (left, groups) == ([(0,)], [(1,)])


def test_running_run_is_not_deleted(store: Store) -> None:
    with StoreSink(store) as sink:
        sink.begin(start("busy"))
        with pytest.raises(NetkvError, match="is in progress"):
            store.delete(["busy"])
    assert store.head("busy").id == "busy"


def test_news_returns_only_later_samples_and_events(store: Store) -> None:
    record_comparison(store)
    assert store.latest() == (46, 4)
    seen, happened = store.newer(44, 3)
    assert [number for number, _, _ in seen] == [45, 46]
    assert [number for number, _, _ in happened] == [4]


@pytest.mark.parametrize(
    ("version", "sentence"),
    [
        (99, r"a newer netkv .* 99, .* Update netkv"),
        (7, r"an older netkv .* 7, .* 'netkv runs upgrade' upgrades it"),
        (6, r"an older netkv .* 6, .*runs export"),
    ],
)
def test_store_of_another_version_is_refused(url: str, version: int, sentence: str) -> None:
    Store(url).close()
    execute(url, "UPDATE store_info SET version = :version", version=version)
    with pytest.raises(NetkvError, match=sentence):
        Store(url)


def test_error_of_an_invalid_store_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "runs.db").write_text("this is not a database, it is a text file" * 50)
    with pytest.raises(NetkvError, match=r"runs\.db is damaged"):
        Store(f"sqlite:///{tmp_path / 'runs.db'}")


@pytest.mark.parametrize("wrong", ["nonsense", "mysterydb://host/netkv"])
def test_wrong_url_is_explained(wrong: str) -> None:
    with pytest.raises(UsageError, match="NETKV_STORE is"):
        Store(wrong)


def test_store_in_an_impossible_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NetkvError, match="cannot be made"):
        Store(f"sqlite:///{tmp_path / 'file' / 'runs.db'}")


def test_default_store_is_in_the_state_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("NETKV_STORE", raising=False)
    monkeypatch.setenv("NETKV_HOME", str(tmp_path))
    assert default_url() == f"sqlite:///{tmp_path}/runs.db"
    monkeypatch.setenv("NETKV_STORE", "sqlite:////elsewhere.db")
    assert default_url() == "sqlite:////elsewhere.db"


def test_interrupt_inside_a_commit_is_an_interrupt(store: Store) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), store.transaction() as session:  # noqa: PT012
        session.add(
            GroupRow(
                id="g",
                created_at=0.0,
                command=[],
                owner_host="",
                owner_boot="",
                owner_pid=0,
                owner_started=0,
            )
        )
        # The first transaction to end is the one that a commit makes for its changes.
        event.listen(session, "after_transaction_end", interrupt, once=True)


BUSY_WRITER = textwrap.dedent("""
    import sys
    from netkv.runs import Store, StoreSink
    from tests.runs.recorded_runs import samples, start
    from netkv.cli import signals
    signals.install()
    try:
        with Store(sys.argv[1]) as store, StoreSink(store) as sink:
            for number in range(10_000):
                run = start(f"busy-{number}")
                sink.begin(run)
                print(number, flush=True)
                for sample in samples(run):
                    sink.sample(run.id, sample)
    except KeyboardInterrupt:
        sys.exit(130)
""")


def test_interrupt_during_a_write_takes_effect(url: str) -> None:
    for delay in (0.01, 0.04, 0.1):
        writer = subprocess.Popen(
            [sys.executable, "-c", BUSY_WRITER, url],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        with writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            time.sleep(delay)
            writer.send_signal(signal.SIGINT)
            _, complaints = writer.communicate(timeout=PATIENCE_S)
            assert writer.returncode == 130, complaints
        with Store(url) as store:
            assert store.running() == []
            store.delete([head.id for head in store.heads()])


def test_interrupt_while_changes_are_stored_stores_them_once(store: Store) -> None:
    run = start("r1")
    first, second, *_ = samples(run)

    def work() -> None:
        with StoreSink(store) as sink:
            sink.begin(run)
            sink.sample(run.id, first)
            interrupt_after_next_commit()
            sink.sample(run.id, second)
            sink.sample(run.id, first)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert store.samples(run.id)[0] == [first, second]
    assert store.head(run.id).status == "cancelled"


def test_interrupt_while_a_run_begins_cancels_it(store: Store) -> None:
    interrupt_after_next_commit()
    with pytest.raises(KeyboardInterrupt), StoreSink(store) as sink:
        sink.begin(start("r1"))
    assert store.head("r1").status == "cancelled"


def interrupt_after_next_commit() -> None:
    event.listen(Session, "after_commit", lambda _: signal.raise_signal(signal.SIGINT), once=True)


def test_violations_are_read_back_with_the_run(store: Store) -> None:
    with StoreSink(store, group="g1", command=["netkv"]) as sink:
        outcome = record(sink, start("r1", "netcache"))
        operation = HistoryOperation(client=1, request=2, what="get", result="not found")
        violation = Violation(
            key="00" * 16, kind="lost-write", text="Lost.", operations=[operation]
        )
        sink.finish(
            outcome.model_copy(
                update={"linearizable": False, "violation_count": 4, "violations": [violation]}
            )
        )
    run = store.record("r1")
    assert run.linearizable is False
    assert run.violations == [violation]
    assert run.result().violation_count == 4


def test_run_without_fields_of_the_checker_can_be_read(store: Store) -> None:
    with StoreSink(store, group="g1", command=["netkv"]) as sink:
        record(sink, start("r1", "netcache"))
    new = {"linearizable", "checked_ops", "unchecked_keys", "violation_count", "violations"}
    with store.transaction() as session:
        row = session.get_one(RunRow, "r1")
        row.figures = {name: value for name, value in row.figures.items() if name not in new}
    run = store.record("r1")
    assert run.linearizable is None
    assert run.violations == []


def test_stored_recoveries_and_their_events_are_read_back(store: Store) -> None:
    with StoreSink(store, group="g1", command=["netkv"]) as sink:
        outcome = record_recovery(sink, start("r1", "netcache"), collect=0.5, restore=0.25)
    run = store.record("r1")
    assert run.recoveries == outcome.recoveries
    assert of_run(metric_table.get("recovery_time"), run) == 0.75
    assert run.result().recoveries == outcome.recoveries
    recoveries = {event.kind: event.recovery for event in run.events}
    assert recoveries["killed"] is None
    assert recoveries["recovered"] is not None
    assert [phase.name for phase in recoveries["recovered"].phases] == ["collect", "restore"]
    assert recoveries["recovered"].counts == {"records": 12}


def test_control_plane_traffic_by_switch_is_read_back(store: Store) -> None:
    with StoreSink(store, group="g1", command=["netkv"]) as sink:
        record(sink, start("r1", "netcache"))
    run = store.record("r1")
    assert run.control_plane_mib_per_s == pytest.approx(CONTROL / MIB)
    assert run.control_plane_mib_per_s_by_switch == {"switch": pytest.approx(CONTROL / MIB)}
    assert run.series["control_plane_mib_per_s"][5] == pytest.approx(CONTROL / MIB)
    assert run.series["control_plane_mib_per_s_by_switch"][5] == {
        "switch": pytest.approx(CONTROL / MIB)
    }


def test_unfinished_run_keeps_its_recoveries(url: str) -> None:
    with Store(url) as store:
        sink = StoreSink(store)
        run = start("cut", "netcache")
        sink.begin(run)
        for sample in samples(run):
            sink.sample(run.id, sample)
        sink.event(run.id, recovery(7.5, collect=0.5))
        store.end(["cut"], "cancelled", CANCELLED)
        found = store.record("cut")
    assert found.status == "cancelled"
    assert [each.at for each in found.recoveries] == [7.5]
    assert found.control_plane_mib_per_s_by_switch == {"switch": pytest.approx(CONTROL / MIB)}
    assert found.control_plane_mib_per_s == pytest.approx(CONTROL / MIB)


def test_plan_and_progress_belong_to_the_group(store: Store) -> None:
    plan: list[dict[str, Any]] = [
        {"scheme": scheme, "params": {}, "repeat": 0} for scheme in ("nocache", "netcache")
    ]
    progress = {"done": 0, "total": 2, "fraction": 0.25, "left_seconds": 30.0, "phase": "measure"}
    with StoreSink(store) as sink:
        sink.plan(plan)
        sink.progress(progress)
        assert store.planned(sink.group) == [], "a group exists from its first run on"
        record(sink, start("r1"))
        assert store.planned(sink.group) == plan
        assert store.progress(sink.group) is None
        sink.progress(progress)
        sink.plan(plan[:1])
    assert store.progress(sink.group) == progress
    assert store.planned(sink.group) == plan[:1]
    assert store.progress("no-such-group") is None
    assert store.planned("no-such-group") == []


def test_tags_notes_and_pins_are_kept(store: Store, url: str) -> None:
    record_comparison(store)
    one, two = store.find(["gcompared"])
    store.tag([one, two], add=["paper", "fig:7", "paper"])
    store.tag([one], add=["a/b.c-d_e", "fig:7"], remove=["paper", "unknown"])
    store.note(one, "Größer als erwartet\nwarum?")
    store.pin([two], True)
    with Store(url) as reader:
        first, second = reader.head(one), reader.record(two)
    assert first.tags == ["fig:7", "a/b.c-d_e"]
    assert second.tags == ["paper", "fig:7"]
    assert (first.note, second.note) == ("Größer als erwartet\nwarum?", "")
    assert (first.pinned, second.pinned) == (False, True)
    store.note(one, "")
    assert store.head(one).note == ""


@pytest.mark.parametrize(
    ("add", "remove", "sentence"),
    [
        (["two words"], [], "'two words' cannot be a tag: tags have 1 to 40 letters"),
        ([""], [], "cannot be a tag"),
        (["x" * 41], [], "cannot be a tag"),
        ([f"t{n}" for n in range(20)], [], "at most 20 tags; this would be 21"),
        (["a"], ["a"], "added and removed at once"),
    ],
)
def test_impossible_tag_changes_no_run(
    store: Store, add: list[str], remove: list[str], sentence: str
) -> None:
    one, two = record_comparison(store)
    store.tag([two], add=["kept"])
    with pytest.raises(UsageError, match=re.escape(sentence)):
        store.tag([one, two], add, remove)
    assert store.head(one).tags == []
    assert store.head(two).tags == ["kept"]
    with pytest.raises(UsageError, match="at most 10,000 characters; this one has 10,001"):
        store.note(one, "x" * 10_001)
    for text in ("nothing\0", "half \ud83d"):
        with pytest.raises(UsageError, match="plain text"):
            store.note(one, text)
    with pytest.raises(UsageError, match="There is no run 'nope'"):
        store.tag([one, "nope"], ["a"], [])
    assert store.head(one).tags == []


def test_pinned_run_is_not_deleted(store: Store) -> None:
    one, two = record_comparison(store)
    store.pin([two], True)
    with pytest.raises(NetkvError, match=f"Run {two} is pinned; unpin it before you delete it"):
        store.delete([one, two])
    assert len(store.heads()) == 2, "nothing was deleted"
    store.pin([two], False)
    store.delete([one, two])
    assert store.heads() == []


def test_repeated_simulation_keeps_what_the_user_added(store: Store) -> None:
    run = start("sim-x", mode="sim")
    with StoreSink(store) as sink:
        record(sink, run)
    store.tag(["sim-x"], add=["paper"])
    store.note("sim-x", "why?")
    store.pin(["sim-x"], True)
    with StoreSink(store) as sink:
        record(sink, run)
    head = store.head("sim-x")
    assert head.group == sink.group, "it was repeated"
    assert (head.tags, head.note, head.pinned) == (["paper"], "why?", True)


def test_run_can_be_tagged_during_its_execution(store: Store) -> None:
    run = start("r")
    with StoreSink(store) as sink:
        sink.begin(run)
        store.tag(["r"], add=["early"])
        store.pin(["r"], True)
        measured = list(samples(run))
        for sample in measured:
            sink.sample(run.id, sample)
        sink.finish(result(run, measured))
    assert (store.head("r").status, store.head("r").tags) == ("done", ["early"])
    assert store.head("r").pinned
