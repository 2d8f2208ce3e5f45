"""Parts of a rack that are simulated in threads: the results are those of one thread."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path
from typing import Any

import pytest

from netkv.model.hardware import TopologySpec
from netkv.model.spec import ClosedLoop, WorkloadSpec
from netkv.scenarios import loader
from netkv.scenarios.runner import run_scenario
from netkv.scenarios.simulated import SimRun
from netkv.schemes.spec import LabSpec, RackSpec
from netkv.sim.rack import SECOND, SimRack
from netkv.soak.case_generator import generate
from netkv.soak.run import Hooks, Outcome, play

pytestmark = pytest.mark.slow

SEVERAL_SWITCHES = ("distnocache", "distcache", "distreach")
SCHEMES = ("nocache", "netcache", "farreach", "netmc", "coordimc", "memcached", *SEVERAL_SWITCHES)


def outcome(scheme: str, seed: int, threads: int) -> Outcome:
    """That of a soak case, with crashes and impaired links."""

    def use_threads(rack: SimRack) -> None:
        rack.threads, rack.always_threads = threads, True

    return play(generate(scheme, seed), Hooks(on_rack=use_threads))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("scheme", SCHEMES)
def test_two_threads_change_no_result(scheme: str, seed: int) -> None:
    alone = outcome(scheme, seed, 1)
    assert alone.operations > 1000
    assert outcome(scheme, seed, 2) == alone


@pytest.mark.parametrize("scheme", SEVERAL_SWITCHES)
def test_threads_for_groups_of_switches_change_no_result(scheme: str) -> None:
    # More threads than cores wait for each other in turns, so the case is a short one.
    assert outcome(scheme, 3, 3) == outcome(scheme, 3, 1)


def loaded(scheme: str, threads: int, *, always: bool = False, **lab: Any) -> SimRack:
    """A rack with thousands of requests outstanding."""
    spec = RackSpec(
        scheme=scheme,
        retry=1,
        deadline=60,
        lab=LabSpec(
            **{"servers": 32, "clients": 16, "cache_entries": 100, "scale": 1000, **lab},
            profile="netcache-testbed",
        ),
        workload=WorkloadSpec(keys=10_000, writes=0.1, arrivals=ClosedLoop(outstanding=4000)),
    )
    rack = SimRack(spec)
    rack.threads, rack.always_threads = threads, always
    asyncio.run(rack.compile())
    rack.bring_up()
    rack.command({"do": "phase", "name": "measure"})
    return rack


BUSY = {
    "netcache": TopologySpec(kind="rack"),
    "netcache in racks": TopologySpec(kind="racks", racks=4),
    # Here one controller has several groups of switches.
    "distcache in layers": TopologySpec(kind="spine-leaf", layers=2, switches=3),
}


@pytest.mark.parametrize("name", BUSY)
def test_busy_rack_has_the_same_results_in_threads(name: str) -> None:
    def results(threads: int, *, always: bool = False) -> list[Any]:
        rack = loaded(name.split()[0], threads, always=always, topology=BUSY[name])
        seen: list[Any] = []
        for _ in range(5):
            rack.advance(rack.nanoseconds + SECOND // 25)
            seen += [rack.take_sample().client_statistics, rack.statistics]
        asyncio.run(rack.stop())
        return seen

    alone = results(1)
    assert alone[-1]["events"] > 100_000
    assert results(2) == alone
    assert results(3, always=True) == alone


def test_busy_rack_uses_threads_and_a_stopped_one_has_none() -> None:
    def threads() -> int:
        tasks = Path("/proc/self/task").glob("*/comm")
        return sum(task.read_text(encoding="ascii") == "simulation\n" for task in tasks)

    gc.collect()  # racks that other tests have left in cycles would end during this one
    before = threads()
    alone = loaded("netcache", 1)
    alone.advance(alone.nanoseconds + SECOND // 10)
    assert threads() == before
    rack = loaded("netcache", 2)
    assert threads() == before, "filling the caches is the work of the controller"
    rack.advance(rack.nanoseconds + SECOND // 10)
    assert threads() == before + 1
    asyncio.run(rack.stop())
    assert threads() == before


def test_journal_is_the_same_in_threads() -> None:
    def journal(threads: int) -> list[str]:
        rack = loaded("netcache", threads)
        rack.watch([], 500)
        rack.advance(rack.nanoseconds + SECOND // 20)
        lines = rack.journal()
        asyncio.run(rack.stop())
        return lines

    alone = journal(1)
    assert len(alone) == 500
    assert journal(2) == alone


async def test_run_alone_gets_the_cores_of_all_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
name: one-run
mode: sim
schemes: [netcache]
lab: {servers: 2, cache_entries: 10}
workload: {keys: 100, writes: 0.1, arrivals: {outstanding: 4}}
warmup: 0.5
duration: 1
"""
    seen: list[int] = []
    original = SimRun.use_threads

    def use_threads(run: SimRun, threads: int) -> None:
        seen.append(threads)
        original(run, threads)

    monkeypatch.setattr(SimRun, "use_threads", use_threads)
    scenario = loader.loads(text, "one-run.yaml")
    alone = await run_scenario(scenario)
    together = await run_scenario(scenario, jobs=3)
    assert seen == [1, 3]
    assert together.model_dump_json() == alone.model_dump_json()
