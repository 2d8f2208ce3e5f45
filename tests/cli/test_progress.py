"""Percentage and time left on stderr: lines without a terminal, bars on one."""

from __future__ import annotations

import os
import pty
import re
import subprocess
from pathlib import Path

import pytest

from netkv import steps
from netkv.cli import progress
from netkv.scenarios.schedule import Schedule, Step
from tests.cli.commands import NETKV, ROOT
from tests.waiting import PATIENCE_S

RUN = {"starting": 1.0, "warmup": 9.0, "measure": 90.0}


class Clock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(progress, "time", made)
    return made


def lines(capfd: pytest.CaptureFixture[str]) -> list[str]:
    return capfd.readouterr().err.splitlines()


def test_long_scenario_has_a_line_every_ten_seconds(
    clock: Clock, capfd: pytest.CaptureFixture[str]
) -> None:
    schedule = Schedule(["nocache", "netcache"], [RUN, RUN], 1)
    with progress.scenario("Mine") as shown:
        schedule.step(0, Step(0, "warmup", 0.0))
        for second in range(95):
            clock.now = 1000 + second
            phase = Step(0, "measure", max(second - 9, 0) / 90, ("switch",))
            schedule.step(second, phase)
            shown.state(schedule.state(second))
    printed = lines(capfd)
    assert printed[0] == "Mine"
    assert len(printed) == 1 + 9
    half_way = printed[5]
    found = re.fullmatch(
        r"(\d+)%, about (\d) min (\d+) s left "
        r"\(0 of 2 runs done; \[1/2\] nocache (\d+)%, measuring, switch recovers\)",
        half_way,
    )
    assert found, half_way
    share, minutes, seconds, fraction = map(int, found.groups())
    assert share == pytest.approx(25, abs=2)
    assert 60 * minutes + seconds == pytest.approx(150, abs=10)
    assert fraction == pytest.approx(50, abs=2), "of the run"


def test_short_scenario_has_no_such_line(clock: Clock, capfd: pytest.CaptureFixture[str]) -> None:
    schedule = Schedule(["nocache"], [RUN], 1)
    with progress.scenario("Mine") as shown:
        for second in range(10):
            clock.now = 1000 + second
            schedule.step(second, Step(0, "measure", second / 10))
            shown.state(schedule.state(second))
    assert lines(capfd) == ["Mine"]


def test_steps_of_a_long_benchmark_have_the_time_left(
    clock: Clock, capfd: pytest.CaptureFixture[str]
) -> None:
    with progress.steps() as show:
        for step in range(5):
            clock.now = 1000 + 6 * step
            show(step, 4, f"step {step}")
    assert lines(capfd) == [
        "[1/4] step 0",
        "[2/4] step 1",
        "[3/4] step 2 (50%, about 12 s left)",
        "[4/4] step 3 (75%, about 6 s left)",
    ]


def test_waiting_is_shown_after_some_seconds(
    clock: Clock, capfd: pytest.CaptureFixture[str]
) -> None:
    with progress.waiting("Lab 'lab'") as show:
        for tenth in range(160):
            clock.now = 1000 + tenth / 10
            show("filling the cache", tenth / 200)
    assert lines(capfd) == [
        "Lab 'lab': filling the cache (15%, about 17 s left)",
        "Lab 'lab': filling the cache (65%, about 7 s left)",
    ]


def test_percentage_is_below_100_until_the_end() -> None:
    assert progress.how_far(0.9999, 0.2) == "99%, about 0 s left"
    assert progress.how_far(0.5, None) == "50%"
    assert steps.time_left(0.0, 5.0) is None
    assert steps.time_left(0.25, 5.0) == 15


def test_terminal_has_bars_with_percentage_and_time_left(home: Path) -> None:
    """A bar for the scenario and one for each run; an ended run leaves a line."""
    options = ["--mode", "sim", "--jobs", "1", "--set", "duration=60"]
    options += ["--set", "lab.servers=16", "--set", "expect=[]"]
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*NETKV, "scenario", "run", "quickstart", *options],
        cwd=ROOT,
        env={**os.environ, "NETKV_HOME": str(home), "TERM": "xterm", "COLUMNS": "160"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        seen = b""
        try:
            while part := os.read(ours, 65536):
                seen += part
        except OSError:  # the other end is closed
            pass
        process.wait(PATIENCE_S)
    os.close(ours)
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", seen.decode())
    assert process.returncode == 0, text
    assert re.search(r"0 of 2 runs +\S+ +\d+% +\d+ s left", text)
    assert re.search(r"\[2/2\] netcache +\S+ +\d+% +\d+ s left measuring, [\d,]+ ops/s", text)
    assert re.search(r"\[1/2\] nocache: done\s", text)
