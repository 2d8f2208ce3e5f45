"""What runs of a sweep cost on a cluster beyond their simulation.

The processor time of a unit, in a process that does nothing else, is compared with that of all
processes of a command that executes many: itself, Dask's scheduler and the workers. A command with
few units of the same kind shows what starting takes, and is taken off.

`python -m netkv.bench.units FILE N` executes N runs of a scenario alone.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from netkv.bench.benchmark import Progress
from netkv.errors import NetkvError

FEW = 4
"""Units of the command that shows what starting takes."""
_ALONE = 20
"""Units that are executed alone, after one that is not counted."""
_SCENARIO = """
name: bench-units
title: Units of one length
mode: sim
schemes: [{scheme}]
lab: {{servers: 2, service_rate: 5000}}
workload: {{keys: 1000, arrivals: {{outstanding: 4}}}}
warmup: 0
duration: {seconds}
repeat: {repeat}
sweep: {{workload.keys: {keys}}}
"""
_SEEDS = 1000
"""Maximum of runs of one point of a scenario."""


@dataclass(frozen=True)
class Row:
    """Units of one length."""

    simulated_s: float
    """Virtual time of a unit."""
    units: int
    alone_ms: float
    """Processor time of a unit alone."""
    cluster_ms: float
    """That of all processes for a unit more."""
    start_s: float
    """That of starting and ending everything."""
    wall_s: float
    memory_mb: float
    """The most memory of one of the processes."""

    @property
    def share(self) -> float:
        """The part of the processors' time in simulation, from the second unit on."""
        return self.alone_ms / self.cluster_ms


def measure(lengths: Sequence[float], units: int, workers: int, progress: Progress) -> list[Row]:
    """Measures units of each length in virtual seconds; raises `NetkvError`."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for number, seconds in enumerate(lengths):
            scenario = Path(folder) / f"units-{number}.yaml"
            steps = 3 * len(lengths)
            progress(3 * number, steps, f"{seconds:g} s of virtual time, alone")
            _write(scenario, seconds, _ALONE + 1)
            alone = _alone(scenario, workers)
            progress(3 * number + 1, steps, f"{FEW} units on local:{workers}")
            few = _command(Path(folder), scenario, seconds, FEW, workers)
            progress(3 * number + 2, steps, f"{units:,} units on local:{workers}")
            many = _command(Path(folder), scenario, seconds, units, workers)
            each = (many.cpu_s - few.cpu_s) / (many.units - FEW)
            rows.append(
                Row(
                    simulated_s=seconds,
                    units=many.units,
                    alone_ms=alone * 1e3,
                    cluster_ms=each * 1e3,
                    start_s=few.cpu_s - FEW * each,
                    wall_s=many.wall_s,
                    memory_mb=many.memory_mb,
                )
            )
    return rows


@dataclass(frozen=True)
class _Cost:
    units: int
    cpu_s: float
    wall_s: float
    memory_mb: float


def _command(folder: Path, scenario: Path, seconds: float, units: int, workers: int) -> _Cost:
    """Executes a sweep in a command of its own, with a store of its own."""
    count = _write(scenario, seconds, units)
    words = ["scenario", "run", str(scenario), "--on", f"local:{workers}", "--again", "--json"]
    with tempfile.TemporaryDirectory(dir=folder) as home, tempfile.TemporaryFile() as said:
        environment = {**os.environ, "NETKV_HOME": home}
        environment.pop("NETKV_STORE", None)
        begun = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-m", "netkv", *words],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
        )
        # With its children, each of which it has waited for.
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall_s = time.monotonic() - begun
        said.seek(0)
        if process.returncode != 0:
            lines = said.read().decode(errors="replace").strip().splitlines() or ["no reason"]
            raise NetkvError(
                f"The sweep on local:{workers} has failed: {lines[-1].removeprefix('error: ')}"
            )
    return _Cost(count, used.ru_utime + used.ru_stime, wall_s, used.ru_maxrss / 1024)


def _write(scenario: Path, seconds: float, units: int) -> int:
    """Writes a scenario of so many units, or of fewer if there are many; returns their number."""
    from netkv import schemes

    points = max(1, units // _SEEDS)
    repeat, keys = min(units, _SEEDS), [1000 + point for point in range(points)]
    scheme = schemes.all_schemes()[0].name
    text = _SCENARIO.format(scheme=scheme, seconds=seconds, repeat=repeat, keys=keys)
    scenario.write_text(text)
    return points * repeat


def _alone(scenario: Path, side_by_side: int) -> float:
    """Processor seconds of a run, in processes that do nothing else: as many as there are workers,
    because cores that share a cache slow each other down."""
    words = [sys.executable, "-m", __name__, str(scenario), str(_ALONE)]
    started = [
        subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(side_by_side)
    ]
    ended = [(process, *process.communicate()) for process in started]
    for process, _, said in ended:
        if process.returncode != 0:
            lines = said.strip().splitlines() or ["no reason"]
            raise NetkvError(f"The runs alone have failed: {lines[-1]}")
    return fmean(float(json.loads(output)["cpu_s"]) for _, output, _ in ended)


class _Nobody:
    """Hears what units tell (`netkv.executors.executor.Unit`)."""

    def tell(self, message: Any) -> None:
        pass

    def cancel_when_interrupted(self, task: Any) -> Any:  # noqa: ARG002
        return lambda: None


def main(file: str, count: int) -> None:
    """See above."""
    from netkv.scenarios import loader, provenance, run_plan
    from netkv.scenarios.units import RunUnit, execute
    from netkv.sim import profiles

    plan = run_plan.plan(loader.load(Path(file)))
    profile = profiles.of_machine(plan[0].scenario.lab.profile)
    revision = provenance.revision()
    begun = 0.0
    for number, planned in enumerate(plan[: count + 1]):
        if number == 1:
            begun = time.process_time()
        execute(RunUnit(planned, number, count, 1, False, profile, revision), _Nobody())
    print(json.dumps({"cpu_s": (time.process_time() - begun) / count}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
