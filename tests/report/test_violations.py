"""Violations on the terminal: their operations, and the command that replays the run."""

from __future__ import annotations

from netkv.report import violations
from netkv.runs.records import RunHead
from netkv.scenarios.results import HistoryOperation, HistoryRequest, Violation
from tests.report.terminal import text_of

PUT = HistoryOperation(
    client=1,
    request=17,
    what="put",
    writer=HistoryRequest(client=1, request=17),
    result="ok",
    start_ns=5_000_000_000,
    end_ns=5_000_040_000,
)
GET = HistoryOperation(
    client=2,
    request=9,
    what="get",
    writer=HistoryRequest(client=0, request=0),
    result="initial value",
    start_ns=5_000_050_500,
    end_ns=None,
)


def head(mode: str, **more: object) -> RunHead:
    fields: dict[str, object] = {
        "id": "r1",
        "group": "g1",
        "scenario": "hot-in",
        "title": "",
        "scheme": "netcache",
        "params": {"workload.zipf": 0.9},
        "repeat": 1,
        "seed": 43,
        "mode": mode,
        "target": "engine",
        "status": "done",
        "started_at": 0.0,
        "duration": 1.0,
        "warmup": 0.0,
        "linearizable": False,
        "checked_ops": 1234,
        "violation_count": 12,
        "violations": [
            Violation(key="ab" * 16, kind="stale-read", text="It was old.", operations=[PUT, GET])
        ],
    }
    return RunHead.model_validate({**fields, **more})


def shown(run: RunHead) -> str:
    return text_of(*violations.tables(run), width=100)


def test_each_operation_has_time_packets_writer_and_result() -> None:
    text = shown(head("live"))
    assert "stale-read on key " + "ab" * 16 in text
    assert "It was old." in text
    put, get = [line for line in text.splitlines() if " to " in line]
    assert put.split() == ["0.0", "to", "40.0", "1/17", "put", "1/17", "ok"]
    assert get.split() == ["50.5", "to", "?", "2/9", "get", "initial", "initial", "value"]


def test_replay_command_has_the_seed_of_the_repeat() -> None:
    command = "netkv scenario run hot-in --scheme netcache --mode {} --seed 43 (and"
    simulated = violations.replay(head("sim"))
    assert simulated.startswith(f"Seed 43 replays it exactly: {command.format('sim')}")
    live = violations.replay(head("live"))
    assert command.format("live") in live
    assert "exactly" not in live


def test_unchecked_run_is_not_called_linearizable() -> None:
    none = {"violation_count": 0, "violations": []}
    assert "NOT linearizable: 12 violations" in violations.summary(head("live"))
    assert violations.summary(head("live", linearizable=True, **none)).startswith("linearizable")
    unknown = violations.summary(head("live", linearizable=None, unchecked_keys=1, **none))
    assert unknown == "no violation, but not all reads of 1 key judged"
    nothing = head("live", linearizable=None, checked_ops=0, **none)
    assert violations.summary(nothing) == "not checked"
    old = head("live", linearizable=True, checked_ops=0, **none)
    assert violations.summary(old) == "not checked"
