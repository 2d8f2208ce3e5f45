"""A process that measures one simulated rack: `python -m netkv.sim.timing`.

It reads a `Case` as JSON from stdin and writes its `Measured` as JSON to stdout. Each rack has its
own process, because the peak memory of the process is one of the figures.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from netkv import schemes
from netkv.model.hardware import TopologySpec
from netkv.model.spec import ClosedLoop, WorkloadSpec
from netkv.schemes import parts
from netkv.schemes.spec import LabSpec, RackSpec
from netkv.sim.rack import SECOND, SimRack

if TYPE_CHECKING:
    from netkv import _engine

SCALE = 1000.0
CLIENTS = 64
CACHE_ENTRIES = 10_000
OUTSTANDING_PER_SERVER = 156
"""20,000 for 128 servers: enough to keep the bottleneck of the rack busy all the time."""
_RETRY = 1.0
_DEADLINE = 60.0
"""Virtual seconds; a full queue takes half a second to drain."""
_WARM_UP_CAP = 4.0
"""Maximum duration of the warm-up, as a multiple of the measurement's."""
_STEP_COMPLETIONS = 2_000
"""Requests between two checks of the clock, approximately."""
_SHARE_OF_TIME = 0.25
"""Time in which the share of Python is measured, as a part of the measurement's."""
_TURNS = 6
_STEPS_OF_TURN = 20
"""Steps between two checks of the clock in turns of threads."""


class Case(BaseModel):
    """A rack to be measured."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    scheme: str
    servers: int = 128
    keys: int = 100_000_000
    zipf: float = 0.99
    writes: float = 0.0
    """Share of writes in the requests."""
    value_size: int = 128
    topology: TopologySpec = TopologySpec(kind="rack")
    """Its switches, whatever the default of the scheme."""
    cache_entries: int = CACHE_ENTRIES
    window: int | None = None
    """Requests outstanding; None: `OUTSTANDING_PER_SERVER` for each server."""
    seconds: float = 2.0
    """Wall time of the measurement."""
    crash: bool = False
    """Whether a switch crashes when memory is measured."""
    operations: int = 1
    """Minimum of operations when memory is measured, however long they take."""
    threads: int = 1
    """With more than one, the speed with so many threads is compared with that of one. All else is
    measured with one."""

    @property
    def outstanding(self) -> int:
        """Requests that the clients keep outstanding."""
        return self.window or OUTSTANDING_PER_SERVER * self.servers

    def rack(self) -> RackSpec:
        """Its specification."""
        lab = LabSpec(
            servers=self.servers,
            clients=CLIENTS,
            cache_entries=self.cache_entries,
            topology=self.topology,
            profile=next(iter(parts.profiles(schemes.default()))),
            scale=SCALE,
        )
        load = WorkloadSpec(
            keys=self.keys,
            zipf=self.zipf,
            writes=self.writes,
            value_size=self.value_size,
            arrivals=ClosedLoop(outstanding=self.outstanding),
        )
        return RackSpec(
            scheme=self.scheme, lab=lab, workload=load, retry=_RETRY, deadline=_DEADLINE
        )


class Measured(BaseModel):
    """Work of the rack during the measurement, and its cost."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    switches: int
    requests: int
    """Operations that were completed."""
    reads: int
    hits: int
    """Reads that a switch answered."""
    events: int
    frames: int
    """Frames sent on links."""
    virtual_s: float
    wall_s: float
    cpu_s: float
    python_share: float
    """Share of Python in the processor time, measured afterwards: control planes, and table writes
    on their switches."""
    setup_s: float
    """Wall time from the specification to a rack whose caches are filled."""
    memory_mb: float
    """Peak memory of the process."""
    speedup: float | None = None
    """How many times as fast the rack is with `Case.threads`, by wall time."""


def measure(case: Case) -> Measured:
    """Brings the rack up, lets it settle, and measures. Raises `NetkvError`."""
    begun = time.perf_counter()
    rack = loaded(case)
    setup = time.perf_counter() - begun
    step = _settle(rack, case)
    before = rack.statistics
    rack.take_sample()
    start, cpu, virtual = time.perf_counter(), time.thread_time(), rack.now
    _advance(rack, step, start + case.seconds)
    wall, cpu_s = time.perf_counter() - start, time.thread_time() - cpu
    after, seen = rack.statistics, rack.take_sample().client_statistics
    return Measured(
        switches=len(rack.switches),
        requests=seen["completed"],
        reads=seen["reads"],
        hits=seen["hits"],
        events=after["events"] - before["events"],
        frames=after["frames"] - before["frames"],
        virtual_s=rack.now - virtual,
        wall_s=wall,
        cpu_s=cpu_s,
        python_share=_python_share(rack, case, step),
        setup_s=setup,
        memory_mb=peak_memory_mb(),
        speedup=_speedup(rack, case, step) if case.threads > 1 else None,
    )


def _advance(rack: SimRack, step: int, until: float) -> None:
    """Advances the rack in steps until the clock of the machine is there, by one step at least: on
    a busy machine the time may be over before the first."""
    while True:
        rack.advance(rack.nanoseconds + step)
        if time.perf_counter() >= until:
            return


def _python_share(rack: TimedRack, case: Case, step: int) -> float:
    """The share of Python in the processor time of the rack, with one thread."""
    rack.tells_apart = True
    start, cpu, engine = time.perf_counter(), time.thread_time(), rack.engine_cpu
    _advance(rack, step, start + case.seconds * _SHARE_OF_TIME)
    rack.tells_apart = False
    return max(1 - (rack.engine_cpu - engine) / (time.thread_time() - cpu), 0.0)


def _speedup(rack: TimedRack, case: Case, step: int) -> float:
    """The median of turns with all threads, each against one before it with one thread."""
    ratios: list[float] = []
    for _ in range(_TURNS):
        speeds: list[float] = []
        for threads in (1, case.threads):
            rack.simulation.use_threads(threads)
            before, start = rack.statistics["events"], time.perf_counter()
            _advance(rack, _STEPS_OF_TURN * step, start + case.seconds / _TURNS / 2)
            wall = time.perf_counter() - start
            speeds.append((rack.statistics["events"] - before) / wall)
        ratios.append(speeds[1] / speeds[0])
    return median(ratios)


class TimedRack(SimRack):
    """A rack that measures its engine, at the cost of two system calls for each step."""

    tells_apart = False
    """Whether control planes get each event from Python, which takes a little longer: otherwise the
    engine delivers most events itself, and its time is not known without theirs."""

    engine_cpu = 0.0
    """Processor time that the engine has taken, in seconds."""

    def _run_engine(
        self, simulation: _engine.Simulation, until: int, deliver: bool
    ) -> list[_engine.Notice]:
        before = time.thread_time()
        notices = super()._run_engine(simulation, until, deliver and not self.tells_apart)
        self.engine_cpu += time.thread_time() - before
        return notices


def loaded(case: Case) -> TimedRack:
    """Brings the rack up and starts its load. Raises `NetkvError`."""
    rack = TimedRack(case.rack())
    asyncio.run(rack.compile())
    rack.bring_up()
    rack.command({"do": "phase", "name": "measure"})
    return rack


def _settle(rack: TimedRack, case: Case) -> int:
    """Runs the first wave of requests; returns virtual nanoseconds of some thousand more."""
    start, completed, step = time.perf_counter(), 0, SECOND // 1000
    while completed < 2 * case.outstanding:
        rack.advance(rack.nanoseconds + step)
        seen = int(rack.take_sample().client_statistics["completed"])
        completed += seen
        if seen:
            step = min(max(step * _STEP_COMPLETIONS // seen, step // 2, 1), 2 * step)
        if time.perf_counter() - start > _WARM_UP_CAP * case.seconds:
            break
    return step


def peak_memory_mb() -> float:
    """Peak memory of this process; `ru_maxrss` would include that of the parent."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        name, _, value = line.partition(":")
        if name == "VmHWM":
            return int(value.split()[0]) / 1024
    raise AssertionError("/proc/self/status of Linux has VmHWM")


def main() -> None:
    """Measures the case on stdin."""
    case = Case.model_validate_json(sys.stdin.read())
    sys.stdout.write(measure(case).model_dump_json() + "\n")


if __name__ == "__main__":
    main()
