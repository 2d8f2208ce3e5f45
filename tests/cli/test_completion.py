"""Completion of command lines, called as bash and zsh call it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TypeAlias

import pytest

from netkv import resources, schemes
from netkv.cli import completion, main
from netkv.home import home
from netkv.live import state
from netkv.processes import Identity
from netkv.runs import Store
from netkv.scenarios import option_paths
from netkv.scenarios.model import Scenario
from netkv.sim import profiles
from tests.cli.commands import NETKV, ROOT
from tests.runs.recorded_runs import record_comparison

SCHEMES = [scheme.name for scheme in schemes.all_schemes()]
SCENARIOS = list(resources.scenarios())


class Shell:
    """Calls the completion as a shell does, with the words of the line before the cursor."""

    def __init__(self, patch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str]) -> None:
        self._patch = patch
        self._capture = capture

    def bash(self, *words: str, status: int = 0) -> list[str]:
        self._patch.setenv("_NETKV_COMPLETE", "complete_bash")
        self._patch.setenv("COMP_WORDS", "\n".join(("netkv", *words)))
        self._patch.setenv("COMP_CWORD", str(len(words)))
        return self._complete(status)

    def zsh(self, line: str) -> list[str]:
        self._patch.setenv("_NETKV_COMPLETE", "complete_zsh")
        self._patch.setenv("_TYPER_COMPLETE_ARGS", f"netkv {line}")
        return self._complete(0)

    def _complete(self, status: int) -> list[str]:
        assert main() == status
        output = self._capture.readouterr()
        assert output.err == ""
        return output.out.splitlines()


@pytest.fixture
def shell(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    assert home
    return Shell(monkeypatch, capsys)


Words: TypeAlias = tuple[str, ...]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("scenario", "run", ""), SCENARIOS),
        (("scenario", "show", "netc"), [name for name in SCENARIOS if name.startswith("netc")]),
        (("up", "--scenario", "quick"), ["quickstart"]),
        (("runs", "list", "--scenario", "hot"), ["hot-in"]),
        (("scenario", "run", "quickstart", "--scheme", ""), SCHEMES),
        (("up", "--scheme", "net"), ["netcache", "netmc"]),
        (("soak", ""), [name for name in SCHEMES if name != "emu"]),
        (("scheme", "show", ""), SCHEMES),
        (("soak", "netcache", "--faults", "kill,par"), ["kill,partition"]),
        (("bench", "sim", "--scheme", "far"), ["farreach"]),
        (("scenario", "run", "quickstart", "--mode", ""), ["live", "sim"]),
        (("scenario", "run", "quickstart", "--target", ""), ["engine", "bmv2"]),
        (("up", "--executor", "c"), ["compiled"]),
        (("p4", "bench", "netc"), ["netcache"]),
        (("p4", "check", "p4/netcache/netc"), ["p4/netcache/netcache.p4"]),
        (
            ("p4", "stf", "tests/golden/arith.p4", "tests/golden/ari"),
            ["tests/golden/arith.stf"],
        ),
        (("soak", "netcache", "--program", "p4/farreach/far"), ["p4/farreach/farreach.p4"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_names_are_completed(shell: Shell, words: Words, expected: list[str]) -> None:
    assert shell.bash(*words) == expected


def test_options_of_a_scenario_are_completed_with_their_values(shell: Shell) -> None:
    run = ("scenario", "run", "quickstart", "--set")
    every = shell.bash(*run, "")
    assert "workload.zipf=" in every
    assert "workload.arrivals.outstanding=" in every
    assert "lab.redis.fsync=" in every
    assert set(shell.bash(*run, "workload.arr")) == {
        f"workload.arrivals.{name}=" for name in ("outstanding", "threads", "rate", "loss", "every")
    }
    assert shell.bash(*run, "lab.execu") == [
        "lab.executor=",
        "lab.executor=compiled",
        "lab.executor=interpreter",
    ]
    assert shell.bash("up", "--set", "workload.zip") == ["workload.zipf=", "workload.zipf=0.99"]
    # Bash splits words at '=' and completes the word after it.
    assert shell.bash(*run, "workload.mix", "=", "ycsb-") == [f"ycsb-{it}" for it in "abcdf"]
    assert shell.bash(*run, "workload.mix", "=") == [*(f"ycsb-{it}" for it in "abcdf"), "insert"]
    assert shell.bash(*run, "lab.preload", "=", "t") == ["true"]
    assert shell.bash(*run, "lab.profile", "=") == list(profiles.names())
    assert shell.bash(*run[:-1], "--set", "=", "workload.mix", "=", "ins") == ["insert"]
    assert shell.bash(*run, "lab.nothing", "=") == []
    assert shell.zsh("scenario run quickstart --set workload.mix=ins") == [
        "_arguments '*: :((\"workload.mix=insert\"))'"
    ]


def test_every_option_that_is_offered_can_be_set() -> None:
    offered = list(option_paths.leaves())
    assert len({leaf.name for leaf in offered}) == len(offered)
    for leaf in offered:
        assert option_paths.check(option_paths.parse(leaf.name)) is None
    assert {leaf.name.partition(".")[0] for leaf in offered} == set(Scenario.model_fields)


def test_runs_and_groups_of_the_store_are_completed(shell: Shell) -> None:
    assert shell.bash("runs", "show", "") == [], "completion creates no store"
    assert not list(home().glob("runs.db*"))
    with Store() as store:
        record_comparison(store, repeats=2)
        heads = store.heads()
    runs, groups = [head.id for head in heads], {head.group for head in heads}
    for command in ("show", "compare", "export", "plot", "delete"):
        offered = shell.bash("runs", command, "")
        assert offered[: len(runs)] == runs
        assert set(offered[len(runs) :]) == groups
    assert shell.bash("runs", "compare", runs[0], runs[1][:-1]) == [
        run for run in runs if run.startswith(runs[1][:-1])
    ]


def test_labs_and_their_nodes_are_completed(shell: Shell) -> None:
    assert shell.bash("node", "stop", "") == []
    for name, nodes in (("lab", ("switch", "servers-0", "client")), ("other", ("switch",))):
        lab = state.create(name, {}, None)
        lab.nodes = {node: Identity(2**22 + 1, 0, "") for node in nodes}
        lab.save()
        (lab.directory / "logs").mkdir()
        (lab.directory / "logs" / f"{name}-only.log").touch()
    assert shell.bash("status", "") == ["lab", "other"]
    assert shell.bash("down", "o") == ["other"]
    assert shell.bash("gateway", "--lab", "") == ["lab", "other"]
    assert shell.bash("node", "kill", "s") == ["switch", "servers-0"]
    assert shell.bash("node", "start", "--lab", "other", "") == ["switch", "controller"]
    assert shell.bash("logs", "--node", "") == ["lab-only"]
    assert shell.bash("logs", "other", "--node", "") == ["other-only"]


def test_completion_is_silent_after_an_error(
    shell: Shell, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.mkdir()
    (home / "runs.db").write_text("no database")
    assert shell.bash("runs", "show", "") == []
    (home / "labs").write_text("no directory")
    assert shell.bash("status", "") == []
    assert shell.bash("p4", "check", "no/such/place") == []
    monkeypatch.setenv("NETKV_STORE", "postgresql://nowhere/netkv")
    assert shell.bash("runs", "show", "") == []
    assert shell.bash("soak", "'unclosed", status=1) == []
    monkeypatch.delenv("COMP_WORDS")
    monkeypatch.setattr(completion, "joined", None)
    assert main() == 1


def test_completion_imports_no_large_libraries(home: Path) -> None:
    """Completion must be fast, and the library of the run store alone takes a second to load."""
    code = (
        "import sys; from netkv.cli import main; main(); "
        "print([m for m in ('sqlalchemy', 'finsy', 'grpc', 'plotly', 'netkv._engine')"
        " if m in sys.modules], file=sys.stderr)"
    )
    for words in ("runs show x", "scenario run quickstart --set workload.z", "node stop s"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={
                **os.environ,
                "NETKV_HOME": str(home),
                "_NETKV_COMPLETE": "complete_bash",
                "COMP_WORDS": f"netkv {words}",
                "COMP_CWORD": str(len(words.split())),
            },
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stderr.strip() == "[]", words


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_with_the_printed_script(home: Path, tmp_path: Path) -> None:
    command = tmp_path / "netkv"
    command.write_text(f'#!/bin/sh\nexec "{NETKV[0]}" -m netkv "$@"\n')
    command.chmod(0o755)
    script = """
source <(netkv --show-completion bash)
ask() { COMP_WORDS=(netkv "$@"); COMP_CWORD=$#; _netkv_completion netkv; echo "${COMPREPLY[*]}"; }
ask scenario run quicks
ask scenario run quickstart --set workload.mix = ycsb-a
"""
    done = subprocess.run(
        ["bash", "--norc", "-c", script],
        cwd=ROOT,
        env={**os.environ, "NETKV_HOME": str(home), "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["quickstart", "ycsb-a"], done.stderr
