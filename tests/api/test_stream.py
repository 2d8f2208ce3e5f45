"""The event stream: new samples, resuming, slow readers, many readers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import httpx
import pytest

from netkv.api import feed as feeds
from netkv.api.feed import Feed
from netkv.api.jobs.queue import Queue
from netkv.api.labs_feed import LabsFeed
from netkv.api.models.labs import LabSample, LabUpdate
from netkv.live import state
from netkv.runs import Store, StoreSink
from tests.api.serving import Served
from tests.runs.recorded_runs import samples, start
from tests.waiting import PATIENCE_S, until_async


@pytest.fixture(params=["sqlite", "postgresql"])
def store(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Store]:
    """An empty store of each kind."""
    monkeypatch.setenv("NETKV_HOME", str(tmp_path))
    monkeypatch.delenv("NETKV_STORE", raising=False)
    if request.param == "postgresql":
        monkeypatch.setenv("NETKV_STORE", request.getfixturevalue("server_url"))
    with Store() as opened:
        yield opened


stream = partial(httpx.stream, timeout=PATIENCE_S)


def messages(response: httpx.Response) -> Iterator[dict[str, str]]:
    """The server-sent events of a stream, as fields by name."""
    message: dict[str, str] = {}
    for line in response.iter_lines():
        if not line and message:
            yield message
            message = {}
        elif line and not line.startswith(":"):
            name, _, value = line.partition(": ")
            message[name] = value


def test_stream_sends_new_samples_and_resumes(served: Served) -> None:
    run = start("followed")
    feed = list(samples(run))
    with StoreSink(served.store) as sink:
        sink.begin(run)
        sink.sample(run.id, feed[0])
        with stream("GET", f"{served.url}/api/v1/stream") as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            received = messages(response)
            first = next(received)
            assert first["event"] == "jobs"
            assert json.loads(first["data"])["active"][0]["runs"][0]["id"] == "followed"
            sink.sample(run.id, feed[1])
            second = next(received)
            assert second["event"] == "sample"
            assert json.loads(second["data"])["sample"]["time"] == feed[1].time
        for sample in feed[2:5]:
            sink.sample(run.id, sample)
        resumed = {"last-event-id": second["id"]}
        with stream("GET", f"{served.url}/api/v1/stream", headers=resumed) as response:
            received = messages(response)
            assert next(received)["event"] == "jobs"
            times = [json.loads(next(received)["data"])["sample"]["time"] for _ in range(3)]
    assert times == [sample.time for sample in feed[2:5]]


def test_streams_are_limited(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "MAX_SUBSCRIBERS", 1)
    with stream("GET", f"{served.url}/api/v1/stream") as response:
        received = messages(response)
        next(received)
        refused = httpx.get(f"{served.url}/api/v1/stream", timeout=PATIENCE_S)
        assert refused.status_code == 429
        assert "1 event streams are open" in refused.json()["detail"]


@pytest.mark.parametrize("at", range(0, 30, 7))
async def test_every_sample_comes_once_wherever_a_stream_resumes(store: Store, at: int) -> None:
    """Samples and events are written before, while and after it connects."""
    run = start("r", duration=30.0)
    written = list(samples(run))
    closing = asyncio.Event()
    queue = Queue(store)
    queue.start()
    feed = Feed(store, queue, LabsFeed(), closing)
    try:
        with StoreSink(store) as sink:
            sink.begin(run)
            for sample in written[:10]:
                sink.sample(run.id, sample)
            cursor = (min(at, 10), 0)
            received: list[float] = []

            async def read() -> None:
                async for message in feed.follow(cursor):
                    if message is not None and message.kind == "sample":
                        received.append(json.loads(message.text)["sample"]["time"])
                        if len(received) == len(written) - cursor[0]:
                            return

            reader = asyncio.create_task(read())
            for sample in written[10:]:
                await asyncio.to_thread(sink.sample, run.id, sample)
                await asyncio.sleep(0.01)
            await asyncio.wait_for(reader, PATIENCE_S)
        assert received == [sample.time for sample in written[cursor[0] :]]
    finally:
        closing.set()
        await asyncio.to_thread(queue.close)


async def test_slow_reader_gets_the_number_of_dropped_messages(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "QUEUE", 5)
    run = start("r", duration=30.0)
    written = list(samples(run))
    closing = asyncio.Event()
    queue = Queue(store)
    queue.start()
    feed = Feed(store, queue, LabsFeed(), closing)
    try:
        with StoreSink(store) as sink:
            sink.begin(run)
            slow, fast = feed.follow(None), feed.follow(None)
            assert (await anext(slow)).kind == "jobs"  # type: ignore[union-attr]
            assert (await anext(fast)).kind == "jobs"  # type: ignore[union-attr]
            times = []
            for sample in written:
                sink.sample(run.id, sample)
                while True:
                    message = await asyncio.wait_for(anext(fast), PATIENCE_S)
                    if message is not None and message.kind == "sample":
                        times.append(json.loads(message.text)["sample"]["time"])
                        break
            assert times == [sample.time for sample in written], "the slow one does not disturb it"
            dropped = await anext(slow)
            assert dropped is not None
            assert dropped.kind == "dropped"
            assert json.loads(dropped.text)["count"] >= len(written) - 5
            newest = [await anext(slow) for _ in range(5)]
            assert json.loads(newest[-1].text)["sample"]["time"] == written[-1].time  # type: ignore[union-attr]
    finally:
        closing.set()
        await asyncio.to_thread(queue.close)


def lab_on_disk(name: str) -> None:
    """A lab without a supervisor, as its files are after a power cut."""
    state.create(name, {"scheme": "netcache", "lab": {}}, None)


def test_only_a_stream_that_shows_labs_gets_them(served: Served) -> None:
    lab_on_disk("one")
    with (
        stream("GET", f"{served.url}/api/v1/stream") as without,
        stream("GET", f"{served.url}/api/v1/stream", params={"labs": True}) as with_labs,
    ):
        received = messages(with_labs)
        assert next(received)["event"] == "jobs"
        first = next(received)
        assert first["event"] == "labs"
        (found,) = json.loads(first["data"])["labs"]
        assert (found["name"], found["state"], found["answers"]) == ("one", "dead", False)
        lab_on_disk("two")
        for _ in range(60):
            names = sorted(each["name"] for each in json.loads(next(received)["data"])["labs"])
            if len(names) == 2:
                break
        assert names == ["one", "two"]
        # What it gets next is the sample, though messages about labs have been sent meanwhile.
        run = start("followed")
        with StoreSink(served.store) as sink:
            sink.begin(run)
            sink.sample(run.id, next(iter(samples(run))))
            kinds = []
            for message in messages(without):
                kinds.append(message["event"])
                if message["event"] == "sample":
                    break
    assert "labs" not in kinds


class _Labs(LabsFeed):
    """A lab that has three samples more each time."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    async def updates(self, _cursors: object = None) -> list[LabUpdate]:
        self.asked += 1
        return [
            LabUpdate.model_construct(
                name="lab",
                created=1.0,
                samples=[LabSample.model_construct(number=n) for n in range(1, 3 * self.asked + 1)],
            )
        ]


async def test_samples_of_labs_come_once_to_every_reader(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "_LABS_S", 0.05)
    closing, labs = asyncio.Event(), _Labs()
    queue = Queue(store)
    queue.start()
    feed = Feed(store, queue, labs, closing)

    async def numbers(wanted: int) -> list[int]:
        found: list[int] = []
        async for message in feed.follow(None, labs=True):
            if message is not None and message.kind == "labs":
                (lab,) = json.loads(message.text)["labs"]
                found += [sample["number"] for sample in lab["samples"]]
                if len(found) >= wanted:
                    break
        return found

    try:
        early = asyncio.create_task(numbers(12))
        await until_async(lambda: labs.asked >= 2, "the first reader has samples")
        late = asyncio.create_task(numbers(12))
        for reader in (early, late):
            found = await asyncio.wait_for(reader, PATIENCE_S)
            assert found == list(range(1, len(found) + 1))
        await until_async(lambda: not feed.shows_labs, "no lab is asked, since no reader is left")
    finally:
        closing.set()
        labs.close()
        await asyncio.to_thread(queue.close)
