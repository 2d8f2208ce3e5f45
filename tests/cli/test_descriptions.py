"""Help texts and shown scenarios match the code; errors name the valid values."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from netkv import schemes
from netkv.scenarios import loader
from tests.cli.commands import Netkv

PORT = "{node: a, number: 1, via: x}"


def test_help_of_soak_names_the_command_that_lists_schemes(netkv_in_process: Netkv) -> None:
    text = " ".join(netkv_in_process("soak", "--help").out.split())
    named = re.search(r"scheme to search \('netkv ([^']*)'\)", text)
    assert named is not None
    listed = netkv_in_process(*named[1].split(), "--json").document["schemes"]
    assert [each["name"] for each in listed] == [each.name for each in schemes.all_schemes()]


def test_unknown_target_is_refused(netkv_in_process: Netkv) -> None:
    result = netkv_in_process("scenario", "run", "quickstart", "--target", "tofino")
    assert result.status == 2
    assert (
        "'lab.target': it is 'tofino'; it should be 'engine', 'bmv2', 'bmv2://HOST' or "
        "'p4runtime://HOST:PORT'" in result.err
    )


def test_simulator_refuses_other_targets_than_the_engine(netkv_in_process: Netkv) -> None:
    result = netkv_in_process("scenario", "run", "quickstart", "--target", "bmv2", "--mode", "sim")
    assert result.status == 2
    assert "'lab.target': the simulator runs programs on netkv's own engine" in result.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "needs the ports of that switch: 'switch.ports', each"),
        (("--set", "lab.pipelines=2"), "needs 'target: engine'"),
        (("--fabric", "veth"), "the fabric 'veth' needs 'target: engine'"),
        (
            ("--set", "lab.switch.ports=[{node: client, number: 1, via: eth0}]"),
            "for the node 'external-1': one of 'lab.switch.ports' with 'node: external-1'",
        ),
        (
            ("--set", f"lab.switch.ports=[{PORT}, {{node: b, number: 1, via: x}}]"),
            "port 1 is that of 'a' already",
        ),
        (
            ("--set", f"lab.switch.ports=[{PORT}]", "--set", "lab.switch.config=my.bin"),
            "needs 'p4info', the file with its P4Info",
        ),
    ],
)
def test_switch_elsewhere_without_what_it_needs_is_refused(
    netkv_in_process: Netkv, options: tuple[str, ...], message: str
) -> None:
    result = netkv_in_process("up", "nowhere", "--target", "p4runtime://127.0.0.1:1", *options)
    assert result.status in (1, 2)
    assert message in result.err


@pytest.mark.parametrize("port", [0, 65534, 99999])
def test_bmv2_elsewhere_has_three_ports(netkv_in_process: Netkv, port: int) -> None:
    result = netkv_in_process("up", "nowhere", "--target", f"bmv2://127.0.0.1:{port}")
    assert result.status == 2
    assert "the port should be from 1 to 65,533, since the next two" in result.err


def test_ports_of_a_bmv2_elsewhere_are_refused(netkv_in_process: Netkv) -> None:
    ports = ("--set", f"lab.switch.ports=[{PORT}]")
    result = netkv_in_process("up", "nowhere", "--target", "bmv2://127.0.0.1", *ports)
    assert result.status == 2
    assert "'lab.switch.ports': the ports of 'bmv2://127.0.0.1' are all behind" in result.err


@pytest.mark.parametrize("name", ["switch-crash", "lossy-fabric", "hot-in"])
def test_shown_scenario_has_its_events_and_plots(netkv_in_process: Netkv, name: str) -> None:
    result = netkv_in_process("scenario", "show", name)
    written = YAML(typ="safe").load(loader.find(name).read_text())
    shown = YAML(typ="safe").load(result.out)
    assert shown["events"] == written["events"]
    assert shown.get("plots") == written.get("plots", [])
    assert shown["workload"]["deletes"] == 0, "defaults of load and lab are shown"


def test_shown_scenario_can_be_loaded(netkv_in_process: Netkv, tmp_path: Path) -> None:
    result = netkv_in_process("scenario", "show", "lossy-fabric", COLUMNS="400")
    file = tmp_path / "shown.yaml"
    file.write_text(result.out)
    assert loader.load(file) == loader.load(loader.find("lossy-fabric"))


def test_shown_scenario_has_the_switches_of_each_scheme(
    netkv_in_process: Netkv, tmp_path: Path
) -> None:
    file = tmp_path / "layers.yaml"
    file.write_text("name: layers\nschemes: [nocache, distnocache]\nlab: {servers: 4}\n")
    shown = netkv_in_process("scenario", "show", str(file), COLUMNS="400").out
    assert "\n# nocache: one switch\n# distnocache: 2 layers of 2 switches\nname: layers\n" in shown
    assert YAML(typ="safe").load(shown)["lab"]["topology"] == {
        "racks": 2,
        "layers": 2,
        "switches": 2,
    }
    document = netkv_in_process("scenario", "show", str(file), "--json").document
    kinds = {scheme: each["kind"] for scheme, each in document["topologies"].items()}
    assert kinds == {"nocache": "rack", "distnocache": "spine-leaf"}
    alone = netkv_in_process("scenario", "show", str(file), "--set", "schemes=[distnocache]").out
    assert "# distnocache" not in alone
    assert YAML(typ="safe").load(alone)["lab"]["topology"]["kind"] == "spine-leaf"
