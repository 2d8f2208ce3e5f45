"""`netkv calibrate`: with the resulting profile, simulated requests take the measured times."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from netkv.calibration import calibrate
from netkv.calibration.calibrate import Figures
from netkv.cli.app import app
from netkv.errors import NetkvError, UsageError
from netkv.model.profile import Profile, StoreModel, constant
from netkv.model.spec import ClosedLoop, WorkloadSpec
from netkv.scenarios import loader
from netkv.scenarios.runner import run_scenario
from netkv.schemes.spec import LabSpec, RackSpec
from netkv.sim import profiles
from netkv.sim.rack import SECOND
from tests.sim.driving import started

FIGURES = Figures(
    echo_round_trip=12.0,
    echo_frame=0.4,
    switch_packet=0.5,
    switch_single_packet=5.0,
    client_operation=2.0,
    server_get=1.0,
    server_put=3.0,
    server_delete=1.5,
    hit_round_trip=20.0,
    miss_round_trip=50.0,
    write_round_trip=800.0,
    packet_round_trip=600.0,
    writes_per_s=10_000,
    packets_per_s=5_000,
    backends={"rocksdb": StoreModel(get=constant(4), put=constant(300), delete=constant(200))},
)


def run_rack(profile: Profile, scheme: str, **workload: Any) -> tuple[float, float]:
    """Median latency in microseconds, and operations per second."""
    backend = workload.pop("backend", "memory")
    arrivals = ClosedLoop(outstanding=workload.pop("outstanding", 1))
    lab = LabSpec(servers=1, cache_entries=2000, backend=backend)
    load = WorkloadSpec(keys=1000, arrivals=arrivals, **workload)
    rack = started(RackSpec(scheme=scheme, lab=lab, workload=load), profile=profile)
    rack.command({"do": "phase", "name": "measure"})
    start = rack.nanoseconds
    rack.advance(start + SECOND // 10)
    statistics = rack.take_sample().client_statistics
    return statistics["latency_ns"]["p50"] / 1e3, statistics["completed"] * 10


def test_single_requests_take_the_measured_time() -> None:
    profile = calibrate.profile_of(FIGURES)
    assert run_rack(profile, "netcache")[0] == pytest.approx(FIGURES.hit_round_trip, rel=0.02)
    assert run_rack(profile, "nocache")[0] == pytest.approx(FIGURES.miss_round_trip, rel=0.02)


def test_throughput_of_busy_nodes_follows_from_their_costs() -> None:
    profile = calibrate.profile_of(FIGURES)
    _, reads = run_rack(profile, "netcache", outstanding=256)
    assert reads == pytest.approx(1e6 / FIGURES.client_operation, rel=0.03)
    _, writes = run_rack(profile, "nocache", writes=1.0, outstanding=256)
    assert writes == pytest.approx(1e6 / FIGURES.server_put, rel=0.03)


def test_slower_back_end_makes_the_simulated_server_slower() -> None:
    profile = calibrate.profile_of(FIGURES)
    _, writes = run_rack(profile, "nocache", writes=1.0, outstanding=64, backend="rocksdb")
    put = FIGURES.backends["rocksdb"].put.mean + FIGURES.echo_frame
    assert writes == pytest.approx(1e6 / put, rel=0.03)


@pytest.mark.live
def test_measurement_finds_every_figure_on_real_nodes() -> None:
    steps: list[int] = []
    figures = calibrate.measure(lambda at, *_: steps.append(at), turns=1, seconds=0.1)
    assert steps == sorted(steps)
    for name, value in figures.model_dump(exclude={"backends"}).items():
        assert value > 0, name
    assert {"rocksdb", "redis"} <= set(figures.backends)
    assert all(store.put.mean > 0 and store.get.mean > 0 for store in figures.backends.values())
    profile = calibrate.profile_of(figures)
    latency, _ = run_rack(profile, "nocache")
    # Link delays are never negative, so on a busy machine the latency may exceed the measured one.
    assert latency >= 0.95 * figures.miss_round_trip


def test_profile_is_saved_for_this_machine_or_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NETKV_HOME", str(tmp_path / "home"))
    profile = calibrate.profile_of(FIGURES)
    assert not profiles.is_measured()
    assert profiles.get(profiles.THIS_MACHINE) == profiles.get(profiles.FALLBACK)
    profiles.save(profile)
    assert profiles.get(profiles.THIS_MACHINE) == profile
    file = tmp_path / "lab.json"
    assert profiles.save(profile, file) == file
    assert profiles.get(str(file)) == profile
    file.write_text(json.dumps({"title": "half"}), encoding="utf-8")
    with pytest.raises(UsageError, match="is not a profile of this version"):
        profiles.get(str(file))
    with pytest.raises(UsageError, match=r"no\.json cannot be read"):
        profiles.get(str(tmp_path / "no.json"))
    with pytest.raises(NetkvError, match="cannot be written"):
        profiles.save(profile, tmp_path)


async def test_id_of_a_run_depends_on_the_calibration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NETKV_HOME", str(tmp_path))
    changes = ["mode=sim", "schemes=[nocache]", "warmup=0.1", "duration=0.5", "expect=[]"]
    scenario = loader.load(loader.find("quickstart"), changes)
    names = []
    for round_trip in (50.0, 50.0, 60.0):
        figures = FIGURES.model_copy(update={"miss_round_trip": round_trip})
        profiles.save(calibrate.profile_of(figures))
        names += [run.id for run in (await run_scenario(scenario)).runs]
    assert names[0] == names[1] != names[2]


def test_wrong_destination_is_reported_before_the_measurement(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    for out, sentence in [
        (tmp_path / "lab.yaml", "should end in '.json'"),
        (tmp_path / "nowhere" / "lab.json", "there is no directory"),
    ]:
        result = CliRunner().invoke(app, ["calibrate", "--out", str(out)])
        assert isinstance(result.exception, UsageError)
        assert sentence in str(result.exception)
