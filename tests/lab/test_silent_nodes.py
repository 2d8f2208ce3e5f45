"""Samples of a live rack whose nodes do not answer, because SIGSTOP has stopped their processes."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from netkv.live.feed import Feed
from netkv.live.rack import LiveRack
from netkv.live.rack_nodes import LiveNode
from netkv.model.report import RackSample
from netkv.rack.sampling import Served, ServerCounts
from tests.lab.racks import running, serves, spec
from tests.waiting import until_async

WITHIN_S = 0.1


@contextmanager
def stopped(node: LiveNode) -> Iterator[None]:
    """The process does not run in this block, and does not know it."""
    assert node.process is not None
    assert node.process.identity is not None
    pid = node.process.identity.pid
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


async def answered(rack: LiveRack) -> RackSample:
    """The first sample with answers of all nodes, after which nothing is late."""

    async def complete() -> RackSample | None:
        sample = await sample_without(rack, frozenset())
        return sample if len(rack.counters) == 4 else None

    return await until_async(complete, "all nodes answer")


async def sample_without(rack: LiveRack, servers: frozenset[int]) -> RackSample:
    """A sample for which only these servers were silent: others may be slow on a busy machine."""

    async def taken() -> RackSample | None:
        samples = [each for each in await rack.samples(WITHIN_S) if not each.late]
        return samples[-1] if samples and samples[-1].silent_servers == servers else None

    return await until_async(taken, f"a sample comes without the servers {set(servers)} alone")


async def test_sample_does_not_wait_for_a_silent_server(tmp_path: Path) -> None:
    """The load of its servers is unknown until it answers again."""
    async with running(LiveRack(spec("nocache"), tmp_path / "rack")) as rack:
        await serves(rack)
        feed = Feed(rack)
        feed.add(await answered(rack))
        with stopped(rack.servers[0]):
            for _ in range(3):
                sample = await sample_without(rack, frozenset(rack.servers[0].indices))
                feed.add(sample)
                newest = feed.newest
                assert newest is not None
                loads = newest["server_load"]
                assert [server for server, load in enumerate(loads) if load is None] == [0, 2]
                assert sample.server_served[0] == 0

        async def serves_again() -> bool:
            return (await answered(rack)).server_served[0] > 0

        await until_async(serves_again, "the server serves again")


def test_load_of_a_server_is_over_the_time_since_its_last_answer() -> None:
    """Not over the time since the last sample, which came without it."""
    counts = ServerCounts(2)

    def take(since: float, now: float, served: dict[str, int], silent: list[int]) -> Served:
        servers = {key: {"served": count, "dropped": 0} for key, count in served.items()}
        return counts.take([{"servers": servers}], silent, since, now)

    take(0.0, 1.0, {"0": 100, "1": 100}, [])
    without = take(1.0, 2.0, {"1": 200}, [0])
    assert without.load == (0.0, 100.0)
    assert without.silent == frozenset({0})
    after = take(2.0, 3.0, {"0": 140, "1": 300}, [])
    assert after.served == (40, 100)
    assert after.load == (20.0, 100.0)


async def test_sample_does_not_wait_for_a_silent_switch(tmp_path: Path) -> None:
    """Its rates are missing; afterwards they are over the time since its last answer."""
    async with running(LiveRack(spec("nocache"), tmp_path / "rack")) as rack:
        await serves(rack)
        feed = Feed(rack)
        for _ in range(2):
            feed.add(await answered(rack))
        newest = feed.newest
        assert newest is not None
        total = rack.counters["switch"]["received"]
        with stopped(rack.switch_nodes[0]):
            feed.add(await sample_without(rack, frozenset()))
            newest = feed.newest
            assert newest is not None
            assert newest["switches"] == {}
            silent_since = time.monotonic()
        feed.add(await answered(rack))
        newest = feed.newest
        assert newest is not None
        rise = rack.counters["switch"]["received"] - total
        elapsed = time.monotonic() - silent_since
        assert newest["switches"]["switch"]["received_per_s"] < 2 * rise / min(elapsed, WITHIN_S)


async def test_late_answer_of_the_load_generator_is_counted(tmp_path: Path) -> None:
    async with running(LiveRack(spec("nocache"), tmp_path / "rack")) as rack:
        await serves(rack)
        await answered(rack)
        with stopped(rack.client):
            for _ in range(3):
                assert await rack.samples(WITHIN_S) == []
        seconds = 0.0
        completed = 0
        late, missed = 0, 1

        async def caught_up() -> bool:
            nonlocal seconds, completed, late, missed
            samples = await rack.samples(WITHIN_S)
            missed += not any(not sample.late for sample in samples)
            for sample in samples:
                seconds += sample.client.interval
                completed += sample.client.completed
                late += sample.late
            return completed > 0 and seconds > 3 * WITHIN_S

        await until_async(caught_up, "its figures of the time without an answer come")
        assert late <= missed


async def test_node_that_starts_counts_as_down(tmp_path: Path) -> None:
    """Its process exists, and would answer when it is ready."""
    async with running(LiveRack(spec("nocache"), tmp_path / "rack")) as rack:
        await serves(rack)
        switch = rack.switch_nodes[0]
        await switch.kill()
        switch.process = switch._new_process(tmp_path / "log")
        await switch.process.spawn()
        assert switch.running
        answer = await switch.poll(WITHIN_S)
        assert answer is not None
        assert answer.counts == {}
