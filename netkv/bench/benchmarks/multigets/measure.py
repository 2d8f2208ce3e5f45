"""Cost of a multiget for its client, live: time on a core for each request, by scheme.

A rack of each scheme is up on one machine, with the same load. The racks take short turns in
rounds, so that other load of the machine affects all of them. The measured time is that of the
client process, in user and kernel mode: schemes send one frame for a request, or one for each group
of keys. Figures are medians of the turns.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from pydantic import BaseModel, ConfigDict

from netkv import schemes
from netkv.bench.benchmark import Progress
from netkv.bench.benchmarks.multigets import Plan
from netkv.bench.result import Machine, this_machine
from netkv.errors import NetkvError
from netkv.live.rack import LiveRack
from netkv.model.hardware import Backend
from netkv.model.nodes import Coordinator
from netkv.model.report import RackSample
from netkv.model.spec import ClosedLoop, WorkloadSpec
from netkv.schemes.spec import LabSpec, RackSpec

ROUNDS = 6
KEYS = 10_000
SERVERS = (4, 8, 16, 32)
"""The usual rows: the more servers, the more groups a request has."""


class Row(BaseModel):
    """Results of a rack with this number of servers."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    servers: int
    groups: float
    """Key groups of a request, on average: one for each server that has some of its keys."""
    client_us: dict[str, float]
    """Scheme → core time of the client for a request, in microseconds."""
    over_first: dict[str, float]
    """Scheme, without the first → median of the ratios to the first within a round."""


class Multigets(BaseModel):
    """The whole document."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    machine: Machine
    backend: Backend
    keys: int
    schemes: list[str]
    rows: list[Row]


def run(plan: Plan, progress: Progress) -> Multigets:
    """Measures; raises `NetkvError` for a rack that cannot start or does not answer."""
    names = [
        each.name
        for each in schemes.all_schemes()
        if each.traits.multigets and not each.has(Coordinator)
    ]
    steps = len(plan.servers or SERVERS) * ROUNDS
    rows = []
    with tempfile.TemporaryDirectory(prefix="netkv-multigets-") as folder:
        for number, servers in enumerate(plan.servers or SERVERS):

            def report(turn: int, at: int = number * ROUNDS, servers: int = servers) -> None:
                progress(at + turn, steps, f"{servers} servers, round {turn + 1}")

            rows.append(
                asyncio.run(_row(plan, names, servers, Path(folder) / str(servers), report))
            )
    progress(steps, steps, "")
    return Multigets(
        machine=this_machine(), backend=plan.backend, keys=plan.keys, schemes=names, rows=rows
    )


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
        """Seconds on a core during `seconds` of load, and the rack's sample."""
        await self.rack.client.command({"do": "phase", "name": "measure"})
        await self.rack.sample()
        before = self.on_core()
        await asyncio.sleep(seconds)
        took = self.on_core() - before
        sample = await self.rack.sample()
        await self.rack.client.command({"do": "phase", "name": "idle"})
        return took, sample


async def _row(
    plan: Plan, names: Sequence[str], servers: int, folder: Path, report: Callable[[int], None]
) -> Row:
    spec = RackSpec(
        scheme=names[0],
        lab=LabSpec(servers=servers, backend=plan.backend, external_clients=0),
        workload=WorkloadSpec(
            keys=KEYS, zipf=0, multiget=plan.keys, arrivals=ClosedLoop(outstanding=plan.outstanding)
        ),
    )
    clients = {
        name: _Client(spec.model_copy(update={"scheme": name}), folder / name) for name in names
    }
    found: dict[str, list[float]] = {name: [] for name in names}
    groups: dict[str, float] = {}
    try:
        for client in clients.values():
            await client.rack.start()
        for turn in range(ROUNDS):
            report(turn)
            for name, client in clients.items():
                took, sample = await client.turn(plan.seconds / ROUNDS)
                if sample.client.completed == 0:
                    raise NetkvError(f"The rack of '{name}' has answered nothing.")
                found[name].append(took / sample.client.completed * 1e6)
                sent = sample.client.counts.get("groups", 0) / sample.client.completed
                groups[name] = groups.get(name, 0.0) + sent / ROUNDS
    finally:
        for client in clients.values():
            await client.rack.stop()
    first, *others = names
    return Row(
        servers=servers,
        # Clients that send one frame for a request do not count its groups.
        groups=max(groups.values()),
        client_us={name: median(found[name]) for name in names},
        over_first={
            name: median(
                there / here for here, there in zip(found[first], found[name], strict=True)
            )
            for name in others
        },
    )
