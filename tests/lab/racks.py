"""Helpers for tests of live racks: specifications, load and verification."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from netkv.live.rack import LiveRack
from netkv.model.report import RackSample
from netkv.model.spec import ClosedLoop, WorkloadSpec
from netkv.schemes.spec import LabSpec, RackSpec
from tests.waiting import until_async


def spec(scheme: str = "netcache", **lab: object) -> RackSpec:
    fields = {"servers": 4, "server_processes": 2, "cache_entries": 50, **lab}
    return RackSpec(
        scheme=scheme,
        lab=LabSpec.model_validate(fields),
        workload=WorkloadSpec(keys=2000, writes=0.1, arrivals=ClosedLoop(outstanding=16)),
    )


@asynccontextmanager
async def running(rack: LiveRack) -> AsyncIterator[LiveRack]:
    """Starts the rack, and stops it at the end of the block."""
    await rack.start()
    try:
        yield rack
    finally:
        await rack.stop()


async def load(rack: LiveRack, seconds: float) -> RackSample:
    """Runs load for a while and samples it."""
    await rack.client.command({"do": "phase", "name": "measure"})
    await rack.sample()
    await asyncio.sleep(seconds)
    return await rack.sample()


async def sampled(
    rack: LiveRack, state: str, condition: Callable[[RackSample], object], every_s: float = 0.2
) -> RackSample:
    """Runs load and samples it until the condition is true for a sample; returns that sample."""

    async def matching() -> RackSample | None:
        sample = await rack.sample()
        return sample if condition(sample) else None

    await rack.client.command({"do": "phase", "name": "measure"})
    await rack.sample()
    await asyncio.sleep(every_s)  # rates over a shorter time are inaccurate
    return await until_async(matching, state, every_s)


async def serves(rack: LiveRack) -> RackSample:
    """Runs load until requests complete and every server has served some of them."""
    state = "every server serves requests"
    return await sampled(rack, state, lambda it: it.client.completed > 0 < min(it.server_load))


async def written(rack: LiveRack, count: int) -> None:
    """Runs load until `count` writes are done."""
    total = 0

    def enough(sample: RackSample) -> bool:
        nonlocal total
        total += sample.client.writes
        return total >= count

    await sampled(rack, f"{count} writes are done", enough)


async def finish(rack: LiveRack, phase: str) -> RackSample:
    """Enters `drain` or `verify` and waits for its end."""
    await rack.client.command({"do": "phase", "name": phase})

    async def ended() -> RackSample | None:
        sample = await rack.sample()
        return sample if sample.phase == "idle" else None

    return await until_async(ended, f"'{phase}' ends")


async def verify(rack: LiveRack) -> RackSample:
    """Ends the load, reads all written keys, and asserts that no acknowledged write is lost."""
    await finish(rack, "drain")
    sample = await finish(rack, "verify")
    assert sample.client_statistics["acked_writes_lost"] == 0
    return sample
