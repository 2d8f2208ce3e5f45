"""What a multiget costs its client, live: time on a core for each request of NetMC and of CliMC.

Two whole racks are up side by side, on one machine, with the same load; they take
short turns, one after the other and again, so that whatever else the machine does hits both. What
is measured is the client process, with the kernel's share of it: one frame for a request against
one for each group of keys (NetMC, sections II-B and V-B). Figures are medians of the turns.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from pydantic import BaseModel, ConfigDict

from netkv.bench.result import Machine, this_machine
from netkv.errors import NetkvError
from netkv.lab.hardware import Backend
from netkv.lab.rack import LiveRack
from netkv.lab.spec import ClosedLoop, LabSpec, RackSpec, WorkloadSpec
from netkv.rack.report import RackSample

SCHEMES = ("netmc", "climc")
ROUNDS = 6
KEYS = 10_000


@dataclass(frozen=True)
class Plan:
    """What to measure."""

    servers: tuple[int, ...] = (4, 8, 16, 32)
    """A row for each: the more servers, the more groups a request has."""
    keys: int = 16
    """Of each request."""
    outstanding: int = 64
    """Requests under way: with few, waking up for replies one by one hides what a request costs."""
    seconds: float = 6.0
    """Of load for each figure."""
    backend: Backend = "memory"


class Row(BaseModel):
    """A rack of so many servers."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    servers: int
    groups: float
    """Key groups of a request, on average: the frames that CliMC sends for it."""
    netmc_us: float
    """Time on a core that the client takes for a request, in microseconds."""
    climc_us: float
    climc_over_netmc: float
    """Median of the ratios within a round."""


class Multigets(BaseModel):
    """The whole document."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    machine: Machine
    backend: Backend
    keys: int
    rows: list[Row]


Progress = Callable[[int, int, str], None]
"""Hears which step of how many begins, from 0, and what it is."""


def run(plan: Plan, progress: Progress) -> Multigets:
    """Measures; raises `NetkvError` for a rack that cannot be or does not answer."""
    steps = len(plan.servers) * ROUNDS
    rows = []
    with tempfile.TemporaryDirectory(prefix="netkv-multigets-") as folder:
        for number, servers in enumerate(plan.servers):

            def tell(turn: int, at: int = number * ROUNDS, servers: int = servers) -> None:
                progress(at + turn, steps, f"{servers} servers, round {turn + 1}")

            rows.append(asyncio.run(_row(plan, servers, Path(folder) / str(servers), tell)))
    progress(steps, steps, "")
    return Multigets(machine=this_machine(), backend=plan.backend, keys=plan.keys, rows=rows)


def _clock_of(pid: int) -> int:
    """The clock of a process's time on cores, to the nanosecond (clock_getcpuclockid(3))."""
    return (~pid << 3) | 2


class _Client:
    """A rack, and the time that its client process has taken."""

    def __init__(self, spec: RackSpec, folder: Path) -> None:
        self.rack = LiveRack(spec, folder)

    def on_core(self) -> float:
        """Seconds on a core, in user and kernel mode, since the client started."""
        process = self.rack.client.process
        assert process is not None, "the rack is up"
        assert process.identity is not None, "the rack is up"
        return time.clock_gettime(_clock_of(process.identity.pid))

    async def turn(self, seconds: float) -> tuple[float, RackSample]:
        """Seconds on a core during so many of load, and what the load has seen."""
        await self.rack.client.command({"do": "phase", "name": "measure"})
        await self.rack.sample()
        before = self.on_core()
        await asyncio.sleep(seconds)
        took = self.on_core() - before
        sample = await self.rack.sample()
        await self.rack.client.command({"do": "phase", "name": "idle"})
        return took, sample


async def _row(plan: Plan, servers: int, folder: Path, tell: Callable[[int], None]) -> Row:
    spec = RackSpec(
        scheme=SCHEMES[0],
        lab=LabSpec(servers=servers, backend=plan.backend, external_clients=0),
        workload=WorkloadSpec(
            keys=KEYS, zipf=0, multiget=plan.keys, arrivals=ClosedLoop(outstanding=plan.outstanding)
        ),
    )
    clients = {
        name: _Client(spec.model_copy(update={"scheme": name}), folder / name) for name in SCHEMES
    }
    found: dict[str, list[float]] = {name: [] for name in SCHEMES}
    groups = requests = 0
    try:
        for client in clients.values():
            await client.rack.start()
        for turn in range(ROUNDS):
            tell(turn)
            for name, client in clients.items():
                took, sample = await client.turn(plan.seconds / ROUNDS)
                if sample.client.completed == 0:
                    raise NetkvError(f"The rack of '{name}' has answered nothing.")
                found[name].append(took / sample.client.completed * 1e6)
                if name == "climc":
                    groups += sample.client.counts["groups"]
                    requests += sample.client.completed
    finally:
        for client in clients.values():
            await client.rack.stop()
    ratios = [there / here for here, there in zip(found["netmc"], found["climc"], strict=True)]
    return Row(
        servers=servers,
        groups=groups / requests,
        netmc_us=median(found["netmc"]),
        climc_us=median(found["climc"]),
        climc_over_netmc=median(ratios),
    )
