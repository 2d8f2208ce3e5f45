"""The memory that a run needs, from stored runs."""

from __future__ import annotations

import asyncio

from netkv.memory import measured
from netkv.runs import Store, StoreSink, walltime
from netkv.runs.walltime import History
from netkv.scenarios import loader
from netkv.scenarios.runner import run_scenario

TEXT = """\
name: memory
schemes: [nocache]
mode: sim
lab: {servers: 2, service_rate: 500}
workload: {keys: 100, arrivals: {outstanding: 4}}
warmup: 0
duration: 1
repeat: 2
"""


def test_memory_of_a_process_is_the_most_since_the_beginning() -> None:
    with measured() as peak:
        before = peak()
        held = bytearray(64 << 20)
        held[::4096] = b"x" * len(held[::4096])
        used = peak()
        del held
        after = peak()
    assert before is not None
    assert used is not None
    assert after is not None
    assert used - before > 50 << 20
    assert after > used - (8 << 20)  # the kernel counts in steps


def test_planned_runs_need_what_stored_ones_have_needed(store: Store) -> None:
    scenario = loader.loads(TEXT, "memory.yaml")
    assert walltime.memory_of_runs(scenario, History(store.timings())) == [None, None]
    with StoreSink(store) as sink:
        asyncio.run(run_scenario(scenario, sink=sink, jobs=2))
    history = History(store.timings())
    (one, other) = walltime.memory_of_runs(scenario, history)
    assert one == other
    assert one is not None
    assert 10 << 20 < one < 4 << 30
    larger = loader.loads(TEXT, "memory.yaml", ["workload.keys=200"])
    assert walltime.memory_of_runs(larger, history) == [None, None]
