"""Deterministic runs, reported to a sink as a rack does, for tests of stores and reports."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

from hdrh.histogram import HdrHistogram  # type: ignore[import-untyped]

from netkv.metrics.common import MIB
from netkv.runs import Store, StoreSink
from netkv.scenarios.recovery import unfinished
from netkv.scenarios.results import (
    Latency,
    Provenance,
    Recovery,
    RecoveryDetails,
    RecoveryPhase,
    RunEvent,
    RunResult,
    RunSample,
    RunSink,
    RunStart,
    Threshold,
)

SERVERS = 8
WARMUP = 3
FACTOR = {"nocache": 1.0, "netcache": 2.6}
HITS = {"netcache": 0.48}
"""Hit ratio of reads, by scheme; other schemes have no cache."""
CONTROL = 1200.0
"""Bytes per second between controller and switch."""


def start(run_id: str, scheme: str = "nocache", **changes: Any) -> RunStart:
    fields: dict[str, Any] = {
        "id": run_id,
        "scenario": "quickstart",
        "title": "NetCache against NoCache",
        "scheme": scheme,
        "params": {},
        "repeat": 0,
        "seed": 1,
        "started_at": 1_790_000_000.0,
        "duration": 20.0,
        "warmup": float(WARMUP),
        "parameters": {"lab": {"servers": SERVERS}, "workload": {"zipf": 0.99, "writes": 0.05}},
        "provenance": Provenance(
            netkv_version="0.1.0",
            source_revision="abc123",
            program=f"{scheme}.p4",
            program_hash=f"hash-of-{scheme}",
            host={"cpu": "Test CPU", "cores": 2},
        ),
    }
    return RunStart.model_validate({**fields, **changes})


def samples(run: RunStart, base: float = 2000.0) -> Iterator[RunSample]:
    chance = random.Random(f"{run.scheme}{run.seed}{run.repeat}{run.params}")
    caches = run.scheme in HITS
    for second in range(-WARMUP, int(run.duration)):
        rate = base * FACTOR.get(run.scheme, 1.0) * (1 + chance.uniform(-0.04, 0.04))
        if second in (10, 11):
            rate *= 0.55
        skew = [1.0] * SERVERS if caches else [3.2, 1.4, 1.0, 0.8, 0.6, 0.5, 0.3, 0.2]
        served = rate * (0.52 if caches else 1.0)
        yield RunSample.model_validate(
            {
                "time": float(second + 1),
                "phase": "warmup" if second < 0 else "measure",
                "interval": 1.0,
                "throughput_ops": rate,
                "hit_ratio": HITS[run.scheme] + chance.uniform(-0.01, 0.01) if caches else 0.0,
                "latency_us": Latency(
                    mean=900 / FACTOR.get(run.scheme, 1.0),
                    p50=700 / FACTOR.get(run.scheme, 1.0),
                    p95=1500 / FACTOR.get(run.scheme, 1.0),
                    p99=2400 * (1 + chance.uniform(-0.1, 0.3)) / FACTOR.get(run.scheme, 1.0),
                    p999=4000 / FACTOR.get(run.scheme, 1.0),
                ),
                "server_load": [served * share / sum(skew) for share in skew],
                "lost_ops": 3 if second == 10 else 0,
                "retries": 5 if second == 10 else 0,
                "cached": 1000 if caches else 0,
                "control_plane_bytes_per_s": CONTROL if caches else 0.0,
                "control_plane_mib_per_s": CONTROL / MIB if caches else 0.0,
                "control_plane_mib_per_s_by_switch": {"switch": CONTROL / MIB if caches else 0.0},
            }
        )


def histogram(mean_us: float, seed: int = 1) -> str:
    chance = random.Random(seed)
    recorded = HdrHistogram(1, 60_000_000_000, 3)
    for _ in range(3000):
        recorded.record_value(int(1000 * mean_us * math.exp(chance.gauss(0, 0.5))))
    text: bytes = recorded.encode()
    return text.decode()


def result(run: RunStart, measured: list[RunSample]) -> RunResult:
    rate = sum(sample.throughput_ops for sample in measured) / len(measured)
    caches = run.scheme in HITS
    return RunResult.model_validate(
        {
            "id": run.id,
            "scheme": run.scheme,
            "params": run.params,
            "repeat": run.repeat,
            "seed": run.seed,
            "status": "done",
            "throughput_ops": rate,
            "latency_us": measured[0].latency_us,
            "hit_ratio": 0.481 if caches else 0.0,
            "predicted_hit_ratio": 0.484 if caches else None,
            "server_load": measured[0].server_load,
            "completed_ops": round(rate * len(measured)),
            "lost_ops": 3,
            "retries": 5,
            "acked_writes_lost": 0,
            "control_plane_bytes_per_s": CONTROL if caches else 0.0,
            "control_plane_mib_per_s": CONTROL / MIB if caches else 0.0,
            "control_plane_mib_per_s_by_switch": {"switch": CONTROL / MIB if caches else 0.0},
            "latency_histogram": histogram(900 / FACTOR.get(run.scheme, 1.0)),
            "finished_at": run.started_at + run.warmup + run.duration,
        }
    )


def record(sink: RunSink, run: RunStart, base: float = 2000.0) -> RunResult:
    """Report a whole run, with a server that is down for two seconds."""
    sink.begin(run)
    measured = []
    for sample in samples(run, base):
        if sample.time == 10:
            sink.event(
                run.id,
                RunEvent(time=10.0, kind="killed", node="servers-0", text="servers-0 was killed."),
            )
        if sample.time == 12:
            sink.event(
                run.id,
                RunEvent(time=12.0, kind="started", node="servers-0", text="servers-0 is back."),
            )
        sink.sample(run.id, sample)
        if sample.phase == "measure":
            measured.append(sample)
    outcome = result(run, measured)
    sink.finish(outcome)
    return outcome


def recovery(at: float, **seconds: float) -> RunEvent:
    """The event at the end of a recovery with these phases."""
    phases = [RecoveryPhase(name=name, seconds=spent) for name, spent in seconds.items()]
    return RunEvent(
        time=at,
        kind="recovered",
        node="switch",
        text=f"recovered in {sum(seconds.values()):g} s",
        recovery=RecoveryDetails(phases=phases, counts={"records": 12}),
    )


def record_recovery(sink: RunSink, run: RunStart, **seconds: float) -> RunResult:
    """As `record`, with a switch that is down from 4 to 5 s and recovers in these phases."""
    return _record_restart(sink, run, [recovery(5.25 + sum(seconds.values()), **seconds)])


def record_no_recovery(sink: RunSink, run: RunStart, *further: RunEvent) -> RunResult:
    """As `record_recovery`, but the controller is killed at 8 s, before the recovery ends."""
    happened = [
        RunEvent(time=5.5, kind="recovering", node="switch", text="recovery begins"),
        RunEvent(time=8.0, kind="killed", node="controller", text="The controller was killed."),
        *further,
    ]
    return _record_restart(sink, run, happened)


def _record_restart(sink: RunSink, run: RunStart, then: list[RunEvent]) -> RunResult:
    happened = [
        RunEvent(time=4.0, kind="killed", node="switch", text="The node 'switch' was killed."),
        RunEvent(time=5.0, kind="started", node="switch", text="The node 'switch' was started."),
        *then,
    ]
    sink.begin(run)
    measured = []
    for sample in samples(run):
        for event in [event for event in happened if sample.time - 1 <= event.time < sample.time]:
            sink.event(run.id, event)
        sink.sample(run.id, sample)
        if sample.phase == "measure":
            measured.append(sample)
    recoveries = [it for event in happened if (it := Recovery.of(event)) is not None]
    found = {"recoveries": recoveries, "unfinished_recoveries": unfinished(happened)}
    outcome = result(run, measured).model_copy(update=found)
    sink.finish(outcome)
    return outcome


def record_comparison(store: Store, group: str = "gcompared", repeats: int = 1) -> list[str]:
    """Store a run of NoCache and one of NetCache as `netkv scenario run` does; return the ids."""
    ids = []
    with StoreSink(store, group=group, command=["netkv", "scenario", "run", "quickstart"]) as sink:
        for repeat in range(repeats):
            for index, scheme in enumerate(("nocache", "netcache")):
                run = start(
                    f"{group[1:]}-{scheme}-{repeat}",
                    scheme,
                    repeat=repeat,
                    seed=1 + repeat,
                    started_at=1_790_000_000.0 + 60 * repeat + 30 * index,
                )
                record(sink, run)
                ids.append(run.id)
        sink.verdict(
            ids,
            [
                Threshold(
                    expr="netcache.throughput_ops >= 2 * nocache.throughput_ops",
                    ok=True,
                    value=5200.0,
                    detail="5200 >= 4000",
                )
            ],
        )
    return ids


def record_sweep(store: Store, mode: str = "live", **parameters: Any) -> list[str]:
    """Store runs of NoCache and NetCache at Zipf exponents 0.9 and 0.99, with these parameters
    beside the exponent; return their ids."""
    ids = []
    schemes = ["nocache", "netcache"]
    with StoreSink(store, group="gsweep") as sink:
        for at, zipf in enumerate((0.9, 0.99)):
            for later, scheme in enumerate(schemes):
                run = start(
                    f"{scheme}-{zipf}",
                    scheme,
                    params={"workload.zipf": zipf},
                    parameters={"schemes": schemes, "workload": {"zipf": zipf}, **parameters},
                    mode=mode,
                    started_at=1_790_000_000.0 + 20 * at + later,
                )
                record(sink, run)
                ids.append(run.id)
    return ids
