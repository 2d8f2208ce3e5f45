"""Processor time of short commands, beside that of a Python interpreter that does nothing.

All take turns, so that other load of the machine affects them equally; a figure is the median of
its turns, and a ratio the median of the ratios within a round. The commands have a state directory
of their own, and run once before the first turn: what they keep there is part of their design.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from pydantic import BaseModel, ConfigDict

from netkv import schemes
from netkv.bench.benchmark import Progress
from netkv.bench.benchmarks.startup import Plan
from netkv.bench.result import Machine, this_machine
from netkv.errors import NetkvError

BARE = "python -c pass"
HELP = "netkv --help"
LIST = "netkv scenario list"
FIRST_EVENT = "netkv scenario run, simulated, until its load begins"
GOALS = {HELP: 0.25, LIST: 0.25, FIRST_EVENT: 1.0}
"""Seconds at most, on an ordinary machine."""
ROUNDS = 5
_LOAD_BEGINS = "warm-up"
"""End of the line on stderr that a command prints when the load of a run begins."""


class StartUp(BaseModel):
    """The whole document."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    machine: Machine
    seconds: dict[str, float]
    """Processor time by command."""
    ratios: dict[str, float]
    """To `BARE`, by command."""

    def to_json(self) -> dict[str, Any]:
        """The document of `--json`."""
        return self.model_dump(mode="json")


def run(plan: Plan, progress: Progress) -> StartUp:
    """Measures; raises `NetkvError` if a command fails."""
    turns: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="netkv-startup-") as home:
        commands = _commands({**os.environ, "NETKV_HOME": home, "NETKV_STORE": ""})
        progress(0, plan.rounds + 1, "each command once")
        for measure in commands.values():
            measure()
        for number in range(plan.rounds):
            progress(number + 1, plan.rounds + 1, f"round {number + 1}")
            for name, measure in commands.items():
                turns.setdefault(name, []).append(measure())
    progress(plan.rounds + 1, plan.rounds + 1, "")
    return StartUp(
        machine=this_machine(),
        seconds={name: round(median(found), 4) for name, found in turns.items()},
        ratios={
            name: round(median(a / b for a, b in zip(found, turns[BARE], strict=True)), 1)
            for name, found in turns.items()
            if name != BARE
        },
    )


def _commands(environment: dict[str, str]) -> dict[str, Callable[[], float]]:
    """Each returns the processor time of one call."""
    # The first scheme is the baseline of all others, and has the simplest switch.
    scheme = schemes.all_schemes()[0].name
    simulated = ["scenario", "run", "quickstart", "--mode", "sim", "--scheme", scheme]
    return {
        BARE: partial(_until_end, ["-c", "pass"], environment),
        HELP: partial(_until_end, ["-m", "netkv", "--help"], environment),
        LIST: partial(_until_end, ["-m", "netkv", "scenario", "list"], environment),
        FIRST_EVENT: partial(_until_load, ["-m", "netkv", *simulated], environment),
    }


def _until_end(arguments: list[str], environment: dict[str, str]) -> float:
    to_nowhere = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    command = [sys.executable, *arguments]
    pid = os.posix_spawn(sys.executable, command, environment, file_actions=to_nowhere)
    _, status, used = os.wait4(pid, 0)
    if status:
        code = os.waitstatus_to_exitcode(status)
        raise NetkvError(f"'{' '.join(arguments)}' ended with status {code}.")
    return used.ru_utime + used.ru_stime


def _until_load(arguments: list[str], environment: dict[str, str]) -> float:
    with subprocess.Popen(
        [sys.executable, *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        lines = []
        try:
            for line in process.stderr:
                if line.rstrip().endswith(_LOAD_BEGINS):
                    return _used(process.pid)
                lines.append(line)
        finally:
            process.kill()
    raise NetkvError(f"'{' '.join(arguments)}' ended before its load: {''.join(lines).strip()}")


def _used(pid: int) -> float:
    """Processor time in seconds of all threads of a process that runs."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((each / "schedstat").read_text().split()[0]) for each in threads) / 1e9
