"""What the history checker found reaches the result, whenever in the run it was found."""

from __future__ import annotations

import time
from typing import Any

from netkv.lab.report import ClientSample, RackSample
from netkv.scenarios.collect import Collector
from netkv.scenarios.results import Provenance, RunStart

VIOLATION = {
    "key": "00" * 16,
    "kind": "stale-read",
    "text": "Get 2/9 returned the initial value, although put 1/1 had taken its place.",
    "operations": [
        {
            "client": 1,
            "request": 1,
            "what": "put",
            "writer": {"client": 1, "request": 1},
            "result": "ok",
            "start_ns": 1000,
            "end_ns": 2000,
        },
        {
            "client": 2,
            "request": 9,
            "what": "get",
            "writer": {"client": 0, "request": 0},
            "result": "initial value",
            "start_ns": 3000,
            "end_ns": None,
        },
    ],
}


def collector() -> Collector:
    start = RunStart(
        id="r1",
        scenario="quickstart",
        title="",
        scheme="netcache",
        params={},
        repeat=0,
        seed=7,
        started_at=time.time(),
        duration=1,
        warmup=0,
        parameters={"lab": {"servers": 1}},
        provenance=Provenance(netkv_version="0", program="p4", program_hash="h"),
    )
    return Collector(start)


def sample(statistics: dict[str, Any]) -> RackSample:
    return RackSample(
        time=time.time(),
        client=ClientSample(interval=1.0),
        phase="measure",
        server_load=(1.0,),
        server_dropped=(0,),
        client_statistics=statistics,
    )


def history(linearizable: bool | None, **more: Any) -> dict[str, Any]:
    return {"linearizable": linearizable, "checked_ops": 10, "unchecked_keys": 0, **more}


def test_violations_are_those_of_the_last_sample_whatever_the_phase() -> None:
    run = collector()
    run.sample("warmup", sample(history(True, violation_count=0, violations=[])))
    run.sample("measure", sample(history(False, violation_count=2, violations=[VIOLATION])))
    run.sample("verify", sample(history(False, violation_count=3, violations=[VIOLATION])))
    result = run.result(None)
    assert result.linearizable is False
    assert result.violation_count == 3
    assert result.violations[0].kind == "stale-read"
    assert result.violations[0].operations[1].writer is not None


def test_a_generator_that_has_gone_away_does_not_take_its_verdict_with_it() -> None:
    run = collector()
    run.sample("measure", sample(history(False, violation_count=1, violations=[VIOLATION])))
    run.sample("drain", sample({}))
    assert run.result("the client died").linearizable is False


def test_without_a_checker_nothing_is_called_linearizable() -> None:
    assert collector().result(None).linearizable is None
