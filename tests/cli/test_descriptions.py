"""Help texts and descriptions name what there is, and no more."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from netkv import schemes
from netkv.scenarios import loader
from tests.cli.commands import ROOT, Netkv


def test_help_of_soak_names_the_command_that_lists_schemes(netkv_here: Netkv) -> None:
    told = " ".join(netkv_here("soak", "--help").out.split())
    named = re.search(r"a scheme \('netkv ([^']*)'\)", told)
    assert named is not None
    listed = netkv_here(*named[1].split(), "--json").document["schemes"]
    assert [each["name"] for each in listed] == [each.name for each in schemes.all_schemes()]


def test_target_that_no_lab_can_use_is_refused(netkv_here: Netkv) -> None:
    said = netkv_here("scenario", "run", "quickstart", "--target", "bmv2")
    assert said.status == 2
    assert "'lab.target' is 'bmv2'; it should be 'engine'" in said.err


@pytest.mark.parametrize("name", ["switch-crash", "lossy-fabric", "hot-in"])
def test_scenario_is_shown_with_the_events_that_it_has(netkv_here: Netkv, name: str) -> None:
    said = netkv_here("scenario", "show", name)
    written = YAML(typ="safe").load((ROOT / "scenarios" / f"{name}.yaml").read_text())
    shown = YAML(typ="safe").load(said.out)
    assert shown["events"] == written["events"]
    assert shown.get("plots") == written.get("plots", [])
    assert shown["workload"]["deletes"] == 0, "defaults of load and lab are shown"


def test_shown_scenario_is_one_that_runs(netkv_here: Netkv, tmp_path: Path) -> None:
    said = netkv_here("scenario", "show", "lossy-fabric", COLUMNS="400")
    file = tmp_path / "shown.yaml"
    file.write_text(said.out)
    assert loader.load(file) == loader.load(loader.find("lossy-fabric"))
