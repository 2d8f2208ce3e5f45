"""The output and the errors of `netkv scenario run --mode sim`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.commands import Netkv, assert_wrong_usage

SHORT = ["--mode", "sim", "--set", "duration=2", "--set", "warmup=0.5"]


def test_same_seed_prints_identical_documents(netkv: Netkv) -> None:
    command = ["scenario", "run", "switch-crash", *SHORT[:2], "--json"]
    command += ["--set", "duration=5", "--set", "warmup=0.5"]
    for number, at in enumerate((1, 1.5, 2.5, 3)):
        command += ["--set", f"events.{number}.at={at}"]
    first, second = netkv(*command), netkv(*command)
    assert first.status == 0, first.err
    assert first.out == second.out
    other = netkv(*command, "--seed", "2")
    assert other.out != first.out
    # Runs with equal ids replace each other, so the store has one run of each scheme.
    stored = netkv("runs", "list", "--json").document["runs"]
    schemes = sorted(run["scheme"] for run in stored if run["seed"] == 1)
    assert schemes == ["farreach", "netcache", "nocache"]


def test_runs_side_by_side_print_the_same_document(netkv: Netkv) -> None:
    command = ["scenario", "run", "quickstart", *SHORT, "--repeat", "2", "--json"]
    alone = netkv(*command, "--jobs", "1")
    together = netkv(*command, "--jobs", "2")
    assert (alone.status, together.status) == (0, 0), together.err
    assert together.out == alone.out
    assert_wrong_usage(netkv(*command, "--jobs", "0"), "--jobs")


def test_five_seeds_give_a_mean_and_a_confidence_interval(netkv: Netkv) -> None:
    result = netkv("scenario", "run", "quickstart", *SHORT, "--repeat", "5", "--json")
    document = result.document
    assert document["mode"] == "sim"
    seeds = [run["seed"] for run in document["runs"] if run["scheme"] == "nocache"]
    assert seeds == [1, 2, 3, 4, 5]
    for line in document["summary"]:
        assert line["throughput_ops"]["n"] == 5
        assert 0 < line["throughput_ops"]["ci95"] < line["throughput_ops"]["mean"]
    assert all(run["linearizable"] for run in document["runs"])


@pytest.mark.parametrize("scenario", ["lossy-fabric", "popularity-shift"])
def test_general_scenarios_run_in_virtual_time_too(netkv: Netkv, scenario: str) -> None:
    result = netkv("scenario", "run", scenario, "--mode", "sim", "--set", "duration=12", "--json")
    assert result.status == 0, result.err
    for run in result.document["runs"]:
        assert run["acked_writes_lost"] == 0
        assert run["linearizable"] is True


def test_unknown_mode_is_refused_with_the_known_ones(netkv: Netkv) -> None:
    result = netkv("scenario", "run", "quickstart", "--mode", "dream")
    assert result.status == 2
    assert "live" in result.err
    assert "sim" in result.err


def test_rack_of_several_switches_is_simulated(netkv: Netkv) -> None:
    racks = ["--set", "lab.topology.kind=racks", "--set", "lab.topology.racks=3"]
    result = netkv(
        "scenario", "run", "quickstart", *SHORT, *racks, "--scheme", "netcache", "--json"
    )
    assert result.status == 0, result.err


LAYERS = """\
name: layers
schemes: [nocache, distnocache]
lab: {servers: 4}
workload: {keys: 1000, arrivals: {rate: 1000}}
mode: sim
duration: 1
warmup: 0
expect: [each.linearizable == 1]
"""


def test_each_scheme_runs_on_its_switches(netkv: Netkv, tmp_path: Path) -> None:
    file = tmp_path / "layers.yaml"
    file.write_text(LAYERS)
    kinds = {"nocache": "rack", "distnocache": "spine-leaf"}
    result = netkv("scenario", "run", str(file), "--json")
    assert result.status == 0, result.err
    for run in result.document["runs"]:
        stored = netkv("runs", "show", run["id"], "--json").document
        assert stored["parameters"]["lab"]["topology"]["kind"] == kinds[run["scheme"]]
        by_switch = set(run["control_plane_mib_per_s_by_switch"])
        layers = {"edge-0", "spine-0", "spine-1", "leaf-0", "leaf-1"}
        assert by_switch == ({"switch"} if run["scheme"] == "nocache" else layers)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["lab.topology.layers=0"], "lab.topology.layers"),
        (["lab.topology.spines=2"], "'lab.topology.spines' is not an option"),
        (["events=[{at: 0.5, kill: switch}]"], "there is no node 'switch' in this lab"),
        (["mode=live", "lab.target=bmv2"], "topology 'spine-leaf' needs 'lab.target: engine'"),
    ],
)
def test_what_layers_do_not_support_is_refused(
    netkv: Netkv, tmp_path: Path, arguments: list[str], message: str
) -> None:
    file = tmp_path / "layers.yaml"
    file.write_text(LAYERS)
    sets = [text for change in arguments for text in ("--set", change)]
    assert_wrong_usage(netkv("scenario", "run", str(file), *sets), message)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("lab.profile=nowhere", "no profile 'nowhere'"),
        ("lab.scale=0", "lab.scale"),
        ("lab.topology.kind=ring", "lab.topology.kind"),
    ],
)
def test_unsupported_simulation_options_are_refused(
    netkv: Netkv, change: str, message: str
) -> None:
    result = netkv("scenario", "run", "quickstart", "--mode", "sim", "--set", change)
    assert_wrong_usage(result, message)
