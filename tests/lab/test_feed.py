"""The feed of samples: numbers, pauses, and sums over restarts of nodes."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from netkv import schemes
from netkv.live import feed as feeds
from netkv.live.external_clients import ExternalClient
from netkv.live.feed import Feed
from netkv.live.rack import LiveRack
from netkv.metrics.metric import Metric
from netkv.metrics.readings import client
from netkv.metrics.sources import Latest, Quotient, Sum
from netkv.model.report import ClientSample, RackSample
from netkv.processes import Identity
from tests.lab.racks import spec
from tests.waiting import until_async


class CountingRack:
    """A rack whose samples report how often it was sampled."""

    def __init__(self) -> None:
        self.spec = spec()
        self.scheme = schemes.get("nocache")
        self.taken = 0
        self.counters: dict[str, dict[str, Any]] = {}
        self.programs: dict[str, Any] = {}
        self.running = {"switch": True}
        self.switch_nodes = [SimpleNamespace(name="switch")]
        self.client = SimpleNamespace(name="client")
        self.controller = SimpleNamespace(name="controller", running=True)

    async def samples(self, within: float) -> list[RackSample]:  # noqa: ARG002
        return [await self.sample()]

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


def port(frames: int) -> dict[str, int]:
    """The counts of a port that has received frames of 100 bytes, and sent twice as many of 50."""
    counts = {"received": frames, "received_bytes": 100 * frames}
    return {**counts, "sent": 2 * frames, "sent_bytes": 2 * 50 * frames}


async def test_rates_of_links_are_those_of_the_ports_of_switches(rack: CountingRack) -> None:
    rack.spec = spec(topology={"kind": "racks", "racks": 2})
    rack.switch_nodes = [SimpleNamespace(name=name) for name in ("core", "tor-0", "tor-1")]
    feed, taken = of(rack), await rack.sample()
    for frames in (0, 1000):
        rack.counters = {
            "core": {"ports": {"301": port(7)}},
            "tor-0": {"ports": {"1": port(frames), "301": port(3 * frames)}},
            "tor-1": {},
            "client": {"received": 5, "sent": 5},
            "servers-0": {"received": frames, "sent": frames},
        }
        feed.add(taken)
    newest = feed.newest
    assert newest is not None
    found = newest["links"]
    assert found.keys() == {"client", "servers-0", "tor-0:core"}
    client, cable = found["client"], found["tor-0:core"]
    assert client["to_per_s"] == pytest.approx(2 * client["from_per_s"])
    assert client["from_bytes_per_s"] == pytest.approx(100 * client["from_per_s"])
    assert client["to_bytes_per_s"] == pytest.approx(50 * client["to_per_s"])
    assert cable["from_per_s"] == pytest.approx(3 * client["from_per_s"])
    assert feed.totals["ports"]["tor-0"]["301"] == port(3000)
    # Its switch does not answer: the server has counted frames, and nobody the bytes.
    assert found["servers-0"]["to_per_s"] > 0
    assert found["servers-0"]["to_bytes_per_s"] is None


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


def program(reads: float, hits: float) -> ExternalClient:
    """A program that has done so many reads in the last second."""
    rates = {"received_per_s": reads, "sent_per_s": reads}
    return ExternalClient(
        Identity(1, 1, ""), "app", 9, 9, **rates, reads_per_s=reads, hits_per_s=hits
    )


async def test_hit_ratio_is_of_the_reads_of_all_clients(rack: CountingRack) -> None:
    feed = of(rack)
    feed.add(await rack.sample())
    idle = replace(await rack.sample(), client=ClientSample(interval=1.0))
    feed.add(idle)
    assert feed.newest is not None
    assert feed.newest["hit_ratio"] is None, "nobody reads"
    rack.programs = {"external-1": program(60.0, 30.0), "external-2": program(40.0, 20.0)}
    feed.add(idle)
    assert feed.newest["hit_ratio"] == 0.5
    assert feed.newest["programs"]["external-1"]["hits_per_s"] == 30
    feed.add(replace(idle, client=ClientSample(interval=1.0, reads=100, hits=100)))
    assert feed.newest["hit_ratio"] == 0.75


async def test_sample_has_the_metrics_that_only_the_scheme_has(rack: CountingRack) -> None:
    """Those that each interval has, from their declaration."""
    rows = (
        Metric("seen", "Reads seen", "For a test.", Sum(client("reads")), unit="reads"),
        Metric("most", "Most reads", "For a test.", Latest("most")),
        Metric("share", "Share", "For a test.", Quotient(client("none"), client("nothing"))),
    )
    rack.scheme = replace(rack.scheme, metrics=rows)
    feed = of(rack)
    for _ in range(2):
        taken = await rack.sample()
        counts = {"reads": taken.client.reads}
        feed.add(replace(taken, client=replace(taken.client, counts=counts)))
    assert feed.after(0)[0]["metrics"] == [
        {"name": "seen", "label": "Reads seen", "unit": "reads", "value": 2},
        {"name": "share", "label": "Share", "unit": "", "value": None},
    ]
