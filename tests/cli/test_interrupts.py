"""A command that is stopped says what it was at, and what is left of it."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from netkv.cli import soak
from netkv.runs import Store
from netkv.soak.campaign import Search, Tally
from tests.cli.commands import NETKV, ROOT
from tests.waiting import PATIENCE_S


def wait_for_line(process: subprocess.Popen[str], part: str) -> Iterator[str]:
    """The lines of stderr up to the one with this part."""
    assert process.stderr is not None
    for line in process.stderr:
        yield line
        if part in line:
            return
    pytest.fail(f"it never said '{part}'")


def stopped(home: Path, number: signal.Signals, at: str, *arguments: str) -> tuple[str, str, int]:
    """Runs a command, stops it when it has said `at`; stdout, stderr and exit status."""
    with subprocess.Popen(
        [*NETKV, *arguments],
        cwd=ROOT,
        env={**os.environ, "NETKV_HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        before = "".join(wait_for_line(process, at))
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE_S)
    return out, before + err, process.returncode


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("more", [[], ["--json"]], ids=["text", "json"])
def test_stopped_benchmark_reports_no_result(
    home: Path, number: signal.Signals, more: list[str]
) -> None:
    out, err, status = stopped(
        home, number, "[1/", *("p4", "bench", "nocache", "--sweep", "none", "--seconds", "5"), *more
    )
    assert status == 130
    assert out == ""
    assert "Interrupted at step 1 of " in err
    assert "nothing is stored" in err
    assert "Traceback" not in err


def test_stopped_simulation_reports_what_is_stored(home: Path) -> None:
    options = ["--mode", "sim", "--set", "duration=600", "--scheme", "nocache", "--json"]
    out, err, status = stopped(
        home, signal.SIGTERM, "warm-up", "scenario", "run", "quickstart", *options
    )
    assert status == 130
    assert out == ""
    with Store() as store:
        (head,) = store.heads()
    assert head.status == "failed"
    assert f"Run {head.id} was stopped; it is stored as failed." in err
    assert "Traceback" not in err


def test_stopped_search_names_the_next_seed_and_failed_ones() -> None:
    wanted = Search("netcache", 10, 100, None, ())
    clean = soak._interrupted(wanted, Tally(seeds=5, following=14))
    assert "'netkv soak netcache --from 14' continues" in clean
    failed = soak._interrupted(wanted, Tally(seeds=5, following=14, violations=[13, 11]))
    assert "Seed 11 shows a violation: 'netkv soak netcache --replay 11'." in failed
