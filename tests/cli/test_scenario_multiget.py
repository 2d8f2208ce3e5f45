"""`netkv scenario run` and `netkv soak` with the schemes for multigets."""

from __future__ import annotations

import pytest

from tests.cli.commands import Netkv

SIZES = ["--set", "sweep={workload.multiget: [2, 12]}"]


@pytest.mark.parametrize("mode", ["sim", "live"])
def test_multiget_schemes_are_compared_over_multiget_size(netkv: Netkv, mode: str) -> None:
    # In virtual time, a few milliseconds are thousands of requests.
    seconds = {"sim": "0.05", "live": "0.5"}[mode]
    command = ["scenario", "run", "multiget-size-sweep", "--mode", mode, *SIZES]
    command += ["--set", f"duration={seconds}", "--set", "warmup=0.05", "--json"]
    result = netkv(*command)
    assert result.status == 0, result.err
    runs = result.document["runs"]
    assert {(run["scheme"], run["params"]["workload.multiget"]) for run in runs} == {
        (scheme, size) for scheme in ("netmc", "climc", "coordimc") for size in (2, 12)
    }
    for run in runs:
        assert run["linearizable"] is True
        assert run["lost_ops"] == 0
        assert run["hit_ratio"] is None
        assert run["keys_per_s"] > run["throughput_ops"]
        busy = run["coordinator_utilization"]
        assert (busy is not None and busy > 0) == (run["scheme"] == "coordimc")
        # Only the switch that splits requests sends packets through its program again.
        assert (run["recirculations_per_s"] > 0) == (run["scheme"] == "netmc")
    one = netkv("runs", "show", runs[0]["id"])
    assert one.status == 0
    assert "keys/s" in one.out


def test_refused_multiget_names_schemes_for_multigets(netkv: Netkv) -> None:
    result = netkv("scenario", "run", "quickstart", "--set", "workload.multiget=4")
    assert result.status == 2
    assert "Schemes for multigets: netmc, climc, coordimc" in result.err
    assert "Traceback" not in result.err


def test_event_about_a_missing_coordinator_is_refused(netkv: Netkv) -> None:
    events = "events=[{at: 0.05, kill: coordinator}, {at: 0.1, start: coordinator}]"
    command = ["scenario", "run", "multiget-size-sweep", "--mode", "sim", *SIZES, "--json"]
    command += ["--set", "warmup=0.05", "--set", "duration=0.2", "--set", "deadline=5"]
    command += ["--set", events]
    refused = netkv(*command)
    assert refused.status == 2
    assert "'netmc' has none (schemes that do: coordimc)" in refused.err
    result = netkv(*command, "--set", "schemes=[coordimc]")
    assert result.status == 0, result.err
    (run, _) = result.document["runs"]
    assert run["lost_ops"] == 0
    assert {event["kind"] for event in run["events"]} >= {"killed", "started"}


@pytest.mark.parametrize("scheme", ["netmc", "climc", "coordimc"])
def test_soak_finds_no_violation_in_multiget_schemes(netkv: Netkv, scheme: str) -> None:
    result = netkv("soak", scheme, "--seeds", "8", "--json")
    assert result.status == 0, result.out
    assert result.document["violations"] == []
    assert result.document["faults"] > 20
