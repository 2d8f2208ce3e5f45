"""What tests of live racks share."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from netkv.lab.rack import Rack
from netkv.lab.report import RackSample
from netkv.lab.spec import ClosedLoop, LabSpec, RackSpec, WorkloadSpec


def spec(scheme: str = "netcache", **lab: object) -> RackSpec:
    fields = {"servers": 4, "server_processes": 2, "cache_entries": 50, **lab}
    return RackSpec(
        scheme=scheme,
        lab=LabSpec.model_validate(fields),
        workload=WorkloadSpec(keys=2000, writes=0.1, arrivals=ClosedLoop(outstanding=16)),
    )


async def load(rack: Rack, seconds: float) -> RackSample:
    """Runs load for a while and samples it."""
    await rack.client({"do": "phase", "name": "measure"})
    await rack.sample()
    await asyncio.sleep(seconds)
    return await rack.sample()


async def finish(rack: Rack, phase: str) -> RackSample:
    """Enters `drain` or `verify` and waits for its end."""
    await rack.client({"do": "phase", "name": phase})
    deadline = time.monotonic() + 20
    while (sample := await rack.sample()).phase != "idle":
        assert time.monotonic() < deadline, f"'{phase}' does not end"
        await asyncio.sleep(0.05)
    return sample


async def until(condition: Callable[[], bool], what: str, patience: float = 10) -> None:
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, what
        await asyncio.sleep(0.02)
