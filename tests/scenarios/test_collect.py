"""The result of a run has its violations, recoveries and control-plane bytes."""

from __future__ import annotations

import time
import tracemalloc
from dataclasses import replace
from typing import Any

from netkv.control.base import Recovered
from netkv.metrics.common import MIB
from netkv.model.report import ClientSample, RackEvent, RackSample
from netkv.rack.sampling import client_sample
from netkv.scenarios.collect import Collector
from netkv.scenarios.results import Phase, Provenance, RunStart

VIOLATION = {
    "key": "00" * 16,
    "kind": "stale-read",
    "text": "Get 2/9 returned the initial value, although put 1/1 had replaced it.",
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


def collector(scheme: str = "netcache") -> Collector:
    start = RunStart(
        id="r1",
        scenario="quickstart",
        title="",
        scheme=scheme,
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
        interval=1.0,
        client_statistics=statistics,
    )


def history(linearizable: bool | None, **more: Any) -> dict[str, Any]:
    return {"linearizable": linearizable, "checked_ops": 10, "unchecked_keys": 0, **more}


def test_violations_are_those_of_the_last_sample() -> None:
    run = collector()
    run.sample("warmup", sample(history(True, violation_count=0, violations=[])))
    run.sample("measure", sample(history(False, violation_count=2, violations=[VIOLATION])))
    run.sample("verify", sample(history(False, violation_count=3, violations=[VIOLATION])))
    result = run.result(None)
    assert result.linearizable is False
    assert result.violation_count == 3
    assert result.violations[0].kind == "stale-read"
    assert result.violations[0].operations[1].writer is not None


def test_verdict_is_kept_after_the_load_generator_ended() -> None:
    run = collector()
    run.sample("measure", sample(history(False, violation_count=1, violations=[VIOLATION])))
    run.sample("drain", sample({}))
    assert run.result("the client died").linearizable is False


def test_preserved_records_are_in_series_and_as_peak() -> None:
    run = collector("farreach")
    phases: list[tuple[Phase, int, int, int]] = [("warmup", 9, 9, 2), ("measure", 4, 12, 3)]
    for phase, kept, most, unknown in phases:
        counts = {"preserved": kept, "preserved_bytes": 100 * kept, "preserved_peak": most}
        reply = {**counts, "preserved_peak_bytes": 100 * most, "unknown": unknown, "ignored": 1}
        taken = replace(sample({}), client=client_sample({**reply, "interval_s": 1.0}))
        run.sample(phase, taken)
    # The client process was restarted, so its peak begins at 0 again.
    run.sample("measure", replace(sample({}), client=client_sample({"preserved_peak": 1})))
    result = run.result(None)
    assert (result.preserved_peak, result.preserved_peak_bytes) == (12, 1200)
    assert (result.unknown, result.ignored) == (3, 1), "without those of the warm-up"
    assert result.series["preserved"] == [9, 4, 0]
    assert result.series["preserved_bytes"] == [900, 400, 0]
    assert result.series["unknown"] == [2, 3, 0]


def test_without_a_checker_linearizable_is_unset() -> None:
    assert collector().result(None).linearizable is None


def test_times_of_recoveries_count_from_the_measured_part() -> None:
    run = collector()
    recovered = Recovered((("collect", 0.25), ("restore", 0.5)), {"records": 12})
    run.epoch = 100.0
    emitted = run.event(RackEvent(98.0, "recovered", "leaf-1", recovered.describe(), recovered))
    assert emitted.recovery is not None
    assert [(phase.name, phase.seconds) for phase in emitted.recovery.phases] == [
        ("collect", 0.25),
        ("restore", 0.5),
    ]
    run.event(RackEvent(99.0, "note", "rack", "something else"))
    run.epoch = 90.0
    (found,) = run.result(None).model_dump(mode="json")["recoveries"]
    assert found == {
        "at": 8.0,
        "switch": "leaf-1",
        "seconds": 0.75,
        "phases": [{"name": "collect", "seconds": 0.25}, {"name": "restore", "seconds": 0.5}],
        "counts": {"records": 12},
    }


def test_control_plane_rate_is_by_switch_and_in_total() -> None:
    run = collector()

    def bytes_of(leaf: int, spine: int) -> RackSample:
        by_switch = {"leaf": leaf, "spine": spine}
        return replace(
            sample({}),
            control_plane_bytes=leaf + spine,
            control_plane_bytes_by_switch=by_switch,
        )

    run.sample("warmup", bytes_of(100 * MIB, 0))
    run.sample("measure", bytes_of(3 * MIB, 1 * MIB))
    reported = run.sample("measure", bytes_of(0, 2 * MIB))
    run.sample("drain", bytes_of(100 * MIB, 0))
    assert reported.control_plane_mib_per_s == 2
    assert reported.control_plane_mib_per_s_by_switch == {"leaf": 0, "spine": 2}
    result = run.result(None)
    assert result.control_plane_mib_per_s == 3
    assert result.control_plane_bytes_per_s == 3 * MIB
    assert result.control_plane_mib_per_s_by_switch == {"leaf": 1.5, "spine": 1.5}
    assert result.series["control_plane_mib_per_s"] == [100, 4, 2]
    assert result.series["control_plane_mib_per_s_by_switch"][1] == {"leaf": 3, "spine": 1}


def test_series_takes_little_memory_for_each_interval() -> None:
    """It is all that grows with the length of a run: a model for each interval took 4 KiB."""
    run = collector()
    run.sample("measure", sample({}))
    tracemalloc.start()
    try:
        for second in range(500):
            run.sample("measure", replace(sample({}), server_load=(float(second),)), float(second))
        each = tracemalloc.get_traced_memory()[0] / 500
    finally:
        tracemalloc.stop()
    assert each < 2000
