"""The package examples/write-around works as docs/extend/add-a-scheme.md says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from netkv.schemes import Scheme
from tests.docs.documents import ROOT
from tests.examples.write_around import files, install

PROGRAM = "write_around/write_around.p4"
RULE_2 = "if (hdr.stamp.sequence > sequence) { // rule 2"


@dataclass
class Package:
    """The installed package."""

    folder: Path

    def netkv(self, *arguments: str, status: int = 0) -> Any:
        """Runs a command in the package's folder; returns its JSON document."""
        ended = subprocess.run(
            [sys.executable, "-m", "netkv", *arguments, "--json"],
            cwd=self.folder,
            env={
                **os.environ,
                "PYTHONPATH": f"{self.folder}{os.pathsep}{ROOT}",
                "NETKV_HOME": str(self.folder / "home"),
            },
            capture_output=True,
            text=True,
        )
        assert ended.returncode == status, ended.stderr + ended.stdout
        return json.loads(ended.stdout)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Package:
    folder = tmp_path_factory.mktemp("write-around")
    install(folder)
    return Package(folder)


def test_package_has_about_300_lines() -> None:
    lines = [line for text in files().values() for line in text.splitlines() if line.strip()]
    assert len(files()) == 6
    assert 200 < len(lines) < 310


def test_scheme_is_listed_and_shown_with_its_options(package: Package) -> None:
    listed = package.netkv("scheme", "list")
    assert listed["problems"] == []
    assert ("writearound", "write-around") in {
        (each["name"], each["package"]) for each in listed["schemes"]
    }
    shown = package.netkv("scheme", "show", "writearound")
    (option,) = [each for each in shown["options"] if each["option"] == "lab.cached_bytes"]
    assert (option["default"], option["unit"]) == (128, "bytes")
    assert option["meaning"] == "Largest value that the switch caches."
    assert shown["server_role"] == "python:write_around.server:WriteAroundServer"


def test_program_has_no_errors(package: Package) -> None:
    assert package.netkv("p4", "check", PROGRAM)["ok"]


def test_scenario_meets_its_expectations_in_virtual_time(package: Package) -> None:
    document = package.netkv("scenario", "run", "writearound.yaml", "--mode", "sim")
    assert [each["ok"] for each in document["thresholds"]] == [True] * 3
    plain, cached = document["runs"]
    assert cached["hit_ratio"] > 0.3
    assert cached["refills"] > 0
    assert plain["hit_ratio"] == 0


def test_option_limits_what_is_cached(package: Package) -> None:
    small = ["--set", "lab.cached_bytes=64", "--set", "duration=1", "--scheme", "writearound"]
    run = ["scenario", "run", "writearound.yaml", "--mode", "sim", "--set", "events=[]"]
    (limited,) = package.netkv(*run, *small)["runs"]
    assert limited["hit_ratio"] == 0


@pytest.mark.slow
def test_soak_finds_no_violation_in_the_scheme(package: Package) -> None:
    assert package.netkv("soak", "writearound", "--seeds", "12")["violations"] == []


@pytest.mark.slow
def test_soak_finds_a_program_without_rule_2(package: Package) -> None:
    text = files()[PROGRAM]
    assert text.count(RULE_2) == 1
    mutant = package.folder / "mutant.p4"
    mutant.write_text(text.replace(RULE_2, "if (false) {"))
    found = ["soak", "writearound", "--seeds", "30", "--program", str(mutant), "--reduce", "0"]
    (violation,) = package.netkv(*found, status=1)["violations"]
    assert "had replaced it" in violation["text"]


@pytest.mark.live
def test_scenario_is_linearizable_live(package: Package) -> None:
    short = ["--set", "warmup=0.5", "--scheme", "writearound", "--mode", "live"]
    (run,) = package.netkv("scenario", "run", "writearound.yaml", *short)["runs"]
    assert run["status"] == "done"
    assert run["linearizable"]
    assert run["acked_writes_lost"] == 0
    assert run["hit_ratio"] > 0
    assert run["refills"] > 0


def test_fields_of_the_table_are_those_of_a_scheme() -> None:
    text = (ROOT / "docs/extend/add-a-scheme.md").read_text()
    table = text[text.index("| field | say") : text.index("Options are a model")]
    required = {"name", "title", "program", "server_role", "client_role", "caches", "paper"}
    for name in set(Scheme.__dataclass_fields__) - required - {"summary", "control_plane"}:
        assert f"`{name}`" in table, name
