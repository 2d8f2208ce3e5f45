"""The feed of samples: numbers, pauses, and sums over restarts of nodes."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from netkv.lab import feed as feeds
from netkv.lab.feed import Feed
from netkv.lab.rack import LiveRack
from netkv.rack.report import ClientSample, RackSample
from tests.waiting import until_async


class CountingRack:
    """A rack whose samples report how often it was sampled."""

    def __init__(self) -> None:
        self.taken = 0
        self.counters: dict[str, dict[str, Any]] = {}
        self.programs: dict[str, Any] = {}
        self.running = {"switch": True}
        self.switch_nodes = [SimpleNamespace(name="switch")]
        self.client = SimpleNamespace(name="client")
        self.controller = SimpleNamespace(name="controller", running=True)

    async def sample(self) -> RackSample:
        self.taken += 1
        self.counters = {"switch": {"received": 10 * self.taken, "received_bytes": 0}}
        client = ClientSample(interval=1.0, completed=self.taken, reads=self.taken)
        return RackSample(
            time=float(self.taken),
            client=client,
            phase="measure",
            server_load=(),
            server_dropped=(),
            control_plane_bytes_by_switch={"switch": 7},
        )


@pytest.fixture
def rack(monkeypatch: pytest.MonkeyPatch) -> CountingRack:
    """A rack that is sampled all the time."""
    monkeypatch.setattr(feeds, "INTERVAL_S", 0.001)
    return CountingRack()


def of(rack: CountingRack) -> Feed:
    return Feed(cast("LiveRack", rack))


async def test_unused_rack_is_not_sampled(
    rack: CountingRack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a pause, no sample covers the pause, but the sums have its operations."""
    feed = of(rack)
    task = asyncio.create_task(feed.run())
    try:
        await asyncio.sleep(0)
        assert rack.taken == 0
        await until_async(lambda: feed.after(0), "a sample comes")
        assert feed.after(0)[0]["throughput"] == 2
        monkeypatch.setattr(feeds, "WANTED_S", 0.0)
        await until_async(lambda: not feed._asked.is_set(), "the feed pauses")
        monkeypatch.undo()
        monkeypatch.setattr(feeds, "INTERVAL_S", 0.001)
        last, taken = feed.after(-1)[0]["number"], rack.taken
        (first, *_) = await until_async(lambda: feed.after(last), "a further sample comes")
        assert first["number"] == last + 1
        assert first["throughput"] == taken + 2
    finally:
        task.cancel()
    assert feed.totals["client"]["reads"] == sum(range(1, rack.taken + 1))
    assert feed.totals["control_plane_bytes"]["switch"] == 7 * rack.taken


async def test_newest_samples_are_kept_with_their_numbers(
    rack: CountingRack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "MAX_SAMPLES", 10)
    feed = of(rack)
    feed._samples = type(feed._samples)(maxlen=25)
    for _ in range(41):
        feed.add(await rack.sample())
    # The first one begins the first interval.
    assert [each["number"] for each in feed.after(0)] == list(range(16, 26))
    assert [each["number"] for each in feed.after(38)] == [39, 40]
    assert [each["number"] for each in feed.after(-3)] == [38, 39, 40]
    assert [each["number"] for each in feed.after(-1000)] == list(range(31, 41))
    assert feed.after(40) == feed.after(99) == []


async def test_sums_continue_over_restarts_of_nodes(rack: CountingRack) -> None:
    feed = of(rack)
    for _ in range(3):
        feed.add(await rack.sample())
    assert feed.totals["nodes"]["switch"]["received"] == 30
    sample = replace(await rack.sample(), cached=5)
    rack.counters = {"switch": {}}  # it does not answer
    feed.add(sample)
    rack.counters = {"switch": {"received": 4}}  # it was started again
    feed.add(sample)
    assert feed.totals["nodes"]["switch"]["received"] == 34
    newest = feed.newest
    assert newest is not None
    assert newest["switches"]["switch"]["received_per_s"] > 0
