"""Long and many runs, stored in bulk, for measurements of the store and the dashboard."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from sqlalchemy import insert

from netkv.runs import Store
from netkv.runs.mapping import sample_values
from netkv.runs.schema import EventRow, GroupRow, RunRow, SampleRow
from netkv.scenarios.results import Latency, RunSample, RunStart
from netkv.schemes import all_schemes
from tests.runs.recorded_runs import result, start

SERVERS = 16
SWITCHES = 4


def samples(run: RunStart, seconds: float, interval: float = 1.0) -> Iterator[RunSample]:
    """Samples in which every chart of a run has all its series."""
    chance = random.Random(f"{run.id}")
    for number in range(int(seconds / interval)):
        rate = 4000 * chance.uniform(0.9, 1.1)
        loads = [rate / SERVERS * chance.uniform(0.2, 2) for _ in range(SERVERS)]
        slow = chance.uniform(1, 1.4)
        yield RunSample.model_validate(
            {
                "time": interval * (number + 1),
                "phase": "measure",
                "interval": interval,
                "throughput_ops": rate,
                "hits_ops": rate * 0.4,
                "hit_ratio": 0.42 + chance.uniform(-0.02, 0.02),
                "latency_us": Latency(
                    mean=400 * slow,
                    p50=350 * slow,
                    p95=800 * slow,
                    p99=1500 * slow,
                    p999=4000 * slow,
                ),
                "server_load": loads,
                "lost_ops": chance.choice((0, 0, 1)),
                "retries": chance.randrange(5),
                "refused_writes": chance.choice((0, 0, 2)),
                "stale_reads": 0,
                "cached": 1000,
                "control_plane_bytes_per_s": 4000.0,
                "control_plane_mib_per_s": 0.004,
                "control_plane_mib_per_s_by_switch": {
                    f"switch-{each}": 0.001 * chance.uniform(0.5, 1.5) for each in range(SWITCHES)
                },
            }
        )


def fill(store: Store, run: RunStart, measured: Sequence[RunSample]) -> None:
    """Store samples of a run in one transaction."""
    rows = [sample_values(run.id, sample) for sample in measured]
    with store.transaction() as session:
        session.execute(insert(SampleRow), rows)


def store_ended(store: Store, count: int, seconds: int) -> None:
    """Store so many ended runs, four to a group."""
    schemes = [scheme.name for scheme in all_schemes()]
    runs = [_nth(number, schemes, seconds) for number in range(count)]
    # Generated once: samples of other runs have the same values.
    measured = list(samples(runs[0], seconds))
    for number, run in enumerate(runs):
        outcome = result(run, measured)
        with store.transaction() as session:
            group = f"g{number // 4:010x}"
            if number % 4 == 0:
                session.add(
                    GroupRow(
                        id=group,
                        created_at=run.started_at,
                        command=["netkv"],
                        owner_host="x",
                        owner_boot="b",
                        owner_pid=1,
                        owner_started=1,
                        plan=[],
                    )
                )
                session.flush()
            session.add(
                RunRow(
                    group_id=group,
                    program_hash=run.provenance.program_hash,
                    status="done",
                    figures=outcome.figures(),
                    latency_histogram=outcome.latency_histogram,
                    finished_at=outcome.finished_at,
                    **run.model_dump(mode="json"),
                )
            )
            killed = {"time": 10.0, "kind": "killed", "node": "servers-0", "text": "It was killed."}
            session.add(EventRow(run_id=run.id, **killed))
        fill(store, run, measured)


def _nth(number: int, schemes: Sequence[str], seconds: int) -> RunStart:
    return start(
        f"run-{number:05}",
        schemes[number // 4 % len(schemes)],
        scenario=("quickstart", "hot-in", "switch-crash")[number // 4 % 3],
        repeat=number % 4,
        started_at=1_790_000_000.0 + 700 * number,
        duration=float(seconds),
    )
