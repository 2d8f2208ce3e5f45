"""The wall time of a scenario: measured if it store_run on this machine before, else estimated."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from netkv import library_cache, resources, schemes
from netkv.errors import NetkvError
from netkv.fpga import build, card
from netkv.machine import host
from netkv.runs import Store, StoreSink, design_builds, walltime
from netkv.runs.walltime import History, WallTime
from netkv.scenarios import loader
from netkv.scenarios.model import Scenario
from netkv.scenarios.results import Provenance
from netkv.scenarios.run_plan import PlannedRun, plan
from netkv.sim import speed
from netkv.sim import timing as simulated_rack
from tests.runs.recorded_runs import record, start

SPEED = 200_000.0


@pytest.fixture
def url(file_url: str) -> str:
    """One kind of store suffices: it only reads durations, and other tests read them of both."""
    return file_url


@pytest.fixture(autouse=True)
def known_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "requests_per_core_s", lambda: SPEED)


@pytest.fixture(autouse=True)
def built(monkeypatch: pytest.MonkeyPatch) -> None:
    """All designs are built."""
    monkeypatch.setattr(build, "is_built", lambda _: True)


@pytest.fixture
def nothing_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, built: None) -> None:
    """The cache of designs is empty; a build takes 100 s."""
    assert built is None
    monkeypatch.undo()
    monkeypatch.setenv("NETKV_HOME", str(tmp_path))
    for name in (library_cache.QUICK, library_cache.FOLDER):
        monkeypatch.delenv(name)
    monkeypatch.setattr(speed, "requests_per_core_s", lambda: SPEED)


def scenario(*changes: str, name: str = "quickstart") -> Scenario:
    return loader.load(loader.find(name), list(changes))


def store_run(store: Store, item: PlannedRun, seconds: float, **changes: Any) -> None:
    """Store a run of this duration, by default from this machine."""
    where = changes.pop("host", host())
    origin = Provenance(
        netkv_version="0", source_revision="", program="", program_hash="", host=where
    )
    fields = {
        "scenario": item.scenario.name,
        "mode": item.scenario.mode,
        "params": item.params,
        "repeat": item.repeat,
        "parameters": item.scenario.model_dump(mode="json"),
        "provenance": origin,
        # A recorded run ends with its load.
        "warmup": 0.0,
        "duration": seconds,
        **changes,
    }
    with StoreSink(store) as sink:
        record(sink, start(f"r{len(store.heads())}", item.scheme, **fields))


def takes(store: Store, asked: Scenario) -> WallTime:
    return walltime.of_scenario(asked, History(store.timings()))


def test_time_of_a_scenario_that_ran_here_is_measured(store: Store) -> None:
    asked = scenario("repeat=2")
    for item in plan(asked):
        store_run(store, item, 21.0 if item.scheme == "nocache" else 23.0)
    found = takes(store, asked)
    assert (found.source, found.runs, found.virtual_seconds) == ("measured", 4, None)
    assert found.wall_seconds == 2 * 21 + 2 * 23
    assert takes(store, scenario("repeat=5")).wall_seconds == 5 * 21 + 5 * 23, (
        "further repeats take the mean"
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"host": {**host(), "processors": 999}},
        {"scenario": "another"},
        {"mode": "sim"},
        {"params": {"workload.zipf": 0.9}},
    ],
)
def test_runs_of_another_kind_are_ignored(store: Store, changes: dict[str, Any]) -> None:
    for item in plan(scenario()):
        store_run(store, item, 500.0, **changes)
    found = takes(store, scenario())
    assert found.source == "estimated"
    assert found.wall_seconds < 100


def test_time_depends_on_the_load_but_not_on_titles(store: Store) -> None:
    for item in plan(scenario()):
        store_run(store, item, 25.0)
    assert takes(store, scenario("title=Mine", "expect=[]", "seed=5")).source == "measured"
    assert takes(store, scenario("duration=100")).source == "estimated"
    assert takes(store, scenario("lab.servers=16")).source == "estimated"


def test_failed_runs_have_no_timing(store: Store) -> None:
    item = plan(scenario())[0]
    with StoreSink(store) as sink:
        sink.begin(start("failed", scenario=item.scenario.name))
    assert store.timings() == []


def test_live_estimate_is_the_load_and_a_little_for_each_run(store: Store) -> None:
    found = takes(store, scenario("warmup=5", "duration=60", "repeat=3"))
    assert found.source == "estimated"
    assert 6 * 65 < found.wall_seconds < 6 * 75


def test_estimate_of_a_simulation_follows_from_its_requests(store: Store) -> None:
    """128 servers serve 10,000 requests a second each, for 2 virtual seconds."""
    options = ("sweep={}", "schemes=[nocache]", "workload.zipf=0", "expect=[]", "plots=[]")
    found = takes(store, scenario(*options, name="netcache-skew"))
    assert found.virtual_seconds == 2
    assert found.wall_seconds == pytest.approx(2 * 128 * 10_000 / SPEED, rel=0.1)
    twice = takes(store, scenario(*options, "duration=3", name="netcache-skew"))
    assert twice.wall_seconds == pytest.approx(2 * found.wall_seconds, rel=0.1)
    cores = len(os.sched_getaffinity(0))
    again = takes(store, scenario(*options, f"repeat={2 * cores}", name="netcache-skew"))
    assert again.wall_seconds == pytest.approx(2 * found.wall_seconds), "one on each core"


def test_estimate_depends_on_skew_and_cache(
    store: Store,
) -> None:
    def seconds(scheme: str, zipf: float) -> float:
        options = ("sweep={}", f"schemes=[{scheme}]", f"workload.zipf={zipf}")
        return takes(
            store, scenario(*options, "expect=[]", "plots=[]", name="netcache-skew")
        ).wall_seconds

    assert seconds("nocache", 0.99) < seconds("nocache", 0) / 2
    assert seconds("netcache", 0.99) > seconds("netcache", 0)


def test_estimate_of_a_write_back_cache_counts_writes_that_the_switch_answers() -> None:
    def load_s(scheme: str, writes: float) -> float:
        options = ("sweep={}", f"schemes=[{scheme}]", f"workload.writes={writes}", "repeat=1")
        one = scenario(*options, "expect=[]", "plots=[]", name="farreach-skew")
        (phases,) = walltime.phases_of_runs(one, walltime.History(()))
        return phases["measure"]

    assert load_s("farreach", 0.5) > 1.2 * load_s("netcache", 0.5)
    assert load_s("farreach", 0.0) == load_s("netcache", 0.0)


def test_estimate_of_a_card_follows_from_its_clock_under_full_load_and_from_requests_otherwise(
    store: Store,
) -> None:
    def seconds(*options: str) -> float:
        kept = ("sweep={}", "schemes=[lake]", "repeat=1", "expect=[]", "plots=[]", "warmup=0")
        return takes(store, scenario(*kept, "duration=1", *options, name="lake-clock")).wall_seconds

    slow, fast = seconds("lab.card_clock=100"), seconds("lab.card_clock=200")
    assert fast - slow == pytest.approx(100e6 * walltime._CYCLE_S)
    few = seconds("workload.arrivals={rate: 10000}", "lab.card_clock=100")
    many = seconds("workload.arrivals={rate: 20000}", "lab.card_clock=100")
    assert few < many < slow
    assert many == pytest.approx(2 * few, rel=0.3)


def test_estimate_of_cards_in_clients_follows_from_their_functions_and_who_is_behind_them() -> None:
    def load_s(*options: str) -> float:
        kept = ("sweep={}", "schemes=[client-cache]", "repeat=1", "expect=[]", "plots=[]")
        one = scenario(*kept, *options, name="client-cache-tenants")
        (phases,) = walltime.phases_of_runs(one, History(()))
        return phases["measure"]

    one, two, four, eight = (load_s(f"lab.card_functions={count}") for count in (1, 2, 4, 8))
    # Every function has a clock cycle when one has, until their requests share the cycles.
    assert two == pytest.approx(2 * one, rel=0.1)
    assert one < two < four == eight
    assert load_s("lab.card_clients=4") == pytest.approx(one / 2, rel=0.1)
    slow = load_s("lab.card_functions=8", "lab.card_clock=10")
    assert slow < eight / 4, "no request takes more cycles than the clock has"


@pytest.mark.usefixtures("nothing_built")
@pytest.mark.parametrize("mode", ["sim", "live"])
def test_first_run_with_a_design_waits_for_its_build(mode: str) -> None:
    options = (f"mode={mode}", "repeat=2", "sweep={}", "expect=[]", "plots=[]")
    asked = scenario(*options, "schemes=[nocache, lake]", name="lake-clock")
    once, first = design_builds.BUILD_S, 1
    assert [item.scheme for item in plan(asked)] == ["nocache", "lake", "nocache", "lake"]
    found = walltime.of_scenario(asked, History(()), 1)
    runs = walltime.of_runs(asked, History(()))
    assert found.build_seconds == once
    assert found.wall_seconds == pytest.approx(sum(runs) + once)
    phases = [sum(each.values()) for each in walltime.phases_of_runs(asked, History(()))]
    waits = [after - before for after, before in zip(phases, runs, strict=True)]
    assert waits == pytest.approx([once * (at == first) for at in range(len(runs))])


@pytest.mark.usefixtures("nothing_built")
def test_design_that_is_built_or_cannot_be_built_takes_no_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = scenario(name="lake-clock")
    lab = plan(asked)[0].scenario.lab
    wanted = schemes.get("lake").card
    assert wanted is not None
    both = walltime.of_scenarios([asked, asked], History(()))
    assert [each.build_seconds for each in both] == [design_builds.BUILD_S, 0]
    assert both[0].wall_seconds == pytest.approx(both[1].wall_seconds + design_builds.BUILD_S)
    monkeypatch.setenv(library_cache.QUICK, "1")
    quick = walltime.of_scenario(asked, History(())).build_seconds
    assert quick == design_builds.QUICK_BUILD_S
    key = build.key(card.find(wanted(lab).design, wanted(lab).changes), trace=False)
    library = library_cache.folder() / key / library_cache.LIBRARY
    library.parent.mkdir(parents=True)
    library.touch()
    assert walltime.of_scenario(asked, History(())).build_seconds == 0
    library.unlink()

    def fail(_: object) -> bool:
        raise NetkvError("Verilator is missing.")

    monkeypatch.setattr(build, "is_built", fail)
    assert walltime.of_scenario(asked, History(())).build_seconds == 0


def test_estimate_includes_the_time_to_fill_caches(store: Store) -> None:
    def seconds(entries: int) -> float:
        options = ("sweep={}", "schemes=[distreach]", "repeat=1", "expect=[]", "plots=[]")
        sizes = (f"lab.cache_entries={entries}", "lab.topology={layers: 3, switches: 2}")
        return takes(store, scenario(*options, *sizes, name="distreach-skew")).wall_seconds

    # Two switches of the last layer hold 10,000 keys each, and the other layers have copies.
    more = seconds(10_000) - seconds(1000)
    assert more == pytest.approx(2 * 9000 * 3 * walltime._PRELOAD_S, rel=0.2)


def test_number_of_runs_at_a_time(store: Store) -> None:
    """Short simulated runs stay in one process; live runs are one after the other."""
    options = ("sweep={}", "schemes=[nocache]", "expect=[]", "plots=[]", "repeat=2")
    long = scenario(*options, "duration=10", name="netcache-skew")
    short = scenario(*options, "duration=0.1", "warmup=0", name="netcache-skew")
    cores = len(os.sched_getaffinity(0))
    assert takes(store, long).jobs == cores
    assert takes(store, short).jobs == 1
    assert takes(store, scenario()).jobs == 1
    history = History(())
    assert walltime.of_scenario(short, history, 3).jobs == 3
    assert walltime.of_scenario(scenario(), history, 3).jobs == 1
    alone = walltime.of_scenario(long, history, 1).wall_seconds
    assert walltime.of_scenario(long, history, 2).wall_seconds == pytest.approx(alone / 2)


def test_stored_runs_correct_the_estimate_of_the_others(store: Store) -> None:
    asked = scenario(name="netcache-skew")
    before = takes(store, asked)
    first = plan(asked)[0]
    alone = walltime.of_runs(asked, History(()))[0]
    store_run(store, first, 3 * round(alone))
    after = takes(store, asked)
    assert after.source == "estimated"
    assert after.wall_seconds == pytest.approx(3 * before.wall_seconds, rel=0.1)


def test_jobs_beyond_the_cores_gain_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walltime, "cores", lambda: 2)
    asked = scenario("duration=10", "repeat=4", name="netcache-skew")
    both = walltime.of_scenario(asked, History(()), 2)
    many = walltime.of_scenario(asked, History(()), 16)
    assert (many.wall_seconds, many.jobs) == (both.wall_seconds, 16)


def test_estimate_includes_reading_back_what_was_written(store: Store) -> None:
    """A simulated write costs more than a read, and is read back after the load."""
    options = ("sweep={}", "schemes=[nocache]", "workload.zipf=0", "expect=[]", "plots=[]")
    reads = scenario(*options, name="netcache-skew")
    writes = scenario(*options, "workload.writes=1", name="netcache-skew")
    mix = scenario(*options, "workload.mix=ycsb-a", name="netcache-skew")
    read_s, mixed_s, written_s = (takes(store, each).wall_seconds for each in (reads, mix, writes))
    assert written_s > 2 * read_s
    assert mixed_s == pytest.approx((read_s + written_s) / 2, rel=0.01)


def test_seconds_of_each_run_and_phase(store: Store) -> None:
    """The load of a live run takes as long as it says; what a stored run took longer is the rest.

    Other runs are corrected by that rest only.
    """
    asked = scenario("warmup=5", "duration=30")
    items = plan(asked)
    store_run(store, items[0], 35 + 12)
    history = History(store.timings())
    first, second = walltime.phases_of_runs(asked, history)
    for phases in (first, second):
        assert (phases["warmup"], phases["measure"]) == (5, 30)
    assert sum(first.values()) == pytest.approx(47)
    assert sum(second.values()) == pytest.approx(47, rel=0.1), "and its cache is filled"
    assert walltime.of_runs(asked, history) == [47, pytest.approx(sum(second.values()))]
    store_run(store, items[1], 20)  # ended early
    shortened = walltime.phases_of_runs(asked, History(store.timings()))[1]
    assert sum(shortened.values()) == pytest.approx(20)
    assert min(shortened.values()) >= 0


def test_every_shipped_scenario_has_an_estimate() -> None:
    nothing = History(())
    for file in resources.scenarios().values():
        found = walltime.of_scenario(loader.load(file), nothing)
        assert 0.5 < found.wall_seconds < 3600, file


def test_simulator_speed_is_measured_once_for_each_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    monkeypatch.setenv("NETKV_HOME", str(tmp_path))
    measured = speed.requests_per_core_s()
    assert measured > 1000
    monkeypatch.setattr(speed, "_measure", lambda: 123.0)
    assert speed.requests_per_core_s() == measured
    kept = json.loads(speed.path().read_text(encoding="utf-8"))
    kept["host"]["processor"] = "another"
    speed.path().write_text(json.dumps(kept), encoding="utf-8")
    assert speed.requests_per_core_s() == 123
    speed.path().write_text("no JSON", encoding="utf-8")
    assert speed.requests_per_core_s() == 123


def test_speed_is_measured_again_after_a_starved_measurement(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A starved process measures no requests; a speed of 0 would cause a division by zero."""
    asked: list[float] = []

    def starved(case: simulated_rack.Case) -> SimpleNamespace:
        asked.append(case.seconds)
        return SimpleNamespace(requests=5000 if len(asked) == 2 else 0, cpu_s=0.5)

    monkeypatch.setattr(simulated_rack, "measure", starved)
    assert speed._measure() == 10_000
    assert len(asked) == 2
    monkeypatch.setattr(simulated_rack, "measure", lambda _: SimpleNamespace(requests=0, cpu_s=0.0))
    assert speed._measure() > 0
