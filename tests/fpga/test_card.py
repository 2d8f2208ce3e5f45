"""The node of a card: a design between two links of a lab."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from netkv.errors import UsageError
from netkv.fpga import live
from netkv.fpga.build import Library
from netkv.live.card import CardSpec, Ends, LiveCard
from netkv.live.machine import HERE
from netkv.model.nodes import NodeError
from tests.fpga.live_ends import Ends as FarEnds
from tests.fpga.live_ends import pair
from tests.fpga.memcached_servers import (
    Bridge,
    Frames,
    Link,
    Sockets,
    running,
    skip_without_memcached,
)
from tests.fpga.packets import frames, memcached
from tests.waiting import until_async

pytestmark = pytest.mark.live


class Lab:
    """What a node uses of a rack."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.spec = SimpleNamespace(lab=SimpleNamespace(cores={}))
        self.placement = SimpleNamespace(of=lambda _: HERE)
        self.events: list[tuple[str, str]] = []
        self.ended: list[str] = []

    def emit(self, kind: str, node: str, _text: str) -> SimpleNamespace:
        self.events.append((kind, node))
        return SimpleNamespace()

    def processes_changed(self) -> None:
        pass

    def process_ended(self, process: Any) -> None:
        if not process.expected_to_exit:
            self.ended.append(process.exit_message())


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path / "mylab")


@pytest.fixture
def card(wire: Library, ends: FarEnds, lab: Lab) -> Iterator[LiveCard]:
    """A card whose design connects its first port and its host port."""
    assert wire.path.is_file()
    what = CardSpec("wire", settings=("mode=host", "scratch=7"))
    links = Ends(ends.plug(0), ends.plug(1))
    made: Any = LiveCard(0, what, lambda: links, lab)  # type: ignore[arg-type]
    yield made
    process = made.process
    assert process is None or not process.running, "the test ends the card"


async def passes(ends: FarEnds, frame: bytes, source: int = 0) -> None:
    ends.send(source, frame)
    assert await asyncio.to_thread(ends.receive, 1 - source) == frame


async def test_card_passes_frames_and_has_registers(
    card: LiveCard, lab: Lab, ends: FarEnds
) -> None:
    await card.launch()
    try:
        await passes(ends, bytes(80))
        await passes(ends, bytes(90), source=1)
        await until_async(lambda: _sent(card, 2), "both frames are counted")
        assert (await card.statistics())["received"] == 2
        registers = await card.registers()
        assert (registers["scratch"], registers["frames.0"]) == (7, 1)
        await card.write("scratch=9")
        assert (await card.registers())["scratch"] == 9
        with pytest.raises(NodeError, match="no register 'nothing'"):
            await card.write("nothing=9")
        found = await asyncio.to_thread(live.request, "mylab-card-0", {"do": "counters"})
        assert found["counters"]["frames.0"] == 1
        assert "scratch" not in found["counters"]
    finally:
        await card.stop()
    assert (lab.directory / "logs" / "card-0.log").is_file()
    assert lab.events == [("stopped", "card-0")]


async def _sent(card: LiveCard, count: int) -> bool:
    return bool((await card.statistics())["sent"] == count)


@pytest.mark.parametrize("how", ["stop", "kill"])
async def test_card_is_empty_after_a_restart(
    card: LiveCard, lab: Lab, ends: FarEnds, how: str
) -> None:
    await card.launch()
    await passes(ends, bytes(80))
    await card.write("scratch=9")
    await (card.stop() if how == "stop" else card.kill())
    with pytest.raises(NodeError, match="'card-0' is not running"):
        await card.write("scratch=9")
    assert await card.statistics() == {}
    ends.send(0, bytes(70))  # lost
    await card.start()
    try:
        with pytest.raises(UsageError, match="running already"):
            await card.start()
        registers = await card.registers()
        assert (registers["scratch"], registers["frames.0"]) == (7, 0)
        await passes(ends, bytes(60))
    finally:
        await card.stop()
    assert [kind for kind, _ in lab.events] == [
        *("stopped" if how == "stop" else "killed", "started", "stopped")
    ]
    assert lab.ended == []


async def test_lake_serves_nothing_old_after_a_restart(
    lake: Library, ends: FarEnds, lab: Lab
) -> None:
    """A card before a real memcached, whose item changes while the card is down."""
    skip_without_memcached()
    assert lake.path.is_file()
    links = Ends(ends.plug(0), ends.plug(1))
    what = CardSpec("lake", settings=("lifetime=16", "command=1"))
    card = LiveCard(0, what, lambda: links, lab)  # type: ignore[arg-type]
    client = Frames(ends.sockets[0], pair(ends.addresses[0]))

    def ask(link: Link, operation: memcached.Operation) -> bytes:
        link.send(0, frames.datagram(operation.encode()))
        (reply,) = memcached.decode(link.receive(0)[8:])
        return reply.value

    async def is_cached() -> bool:
        assert await asyncio.to_thread(ask, client, memcached.get(b"key")) == b"old"
        return (await card.registers())["hits"] > 0

    with (
        running() as server,
        Bridge(ends.sockets[1], pair(ends.addresses[1]), server),
        closing(Sockets(server)) as direct,
    ):
        assert ask(direct, memcached.store(b"key", b"old")) == b""
        await card.launch()
        try:
            await until_async(is_cached, "the cache has answered")
            await card.stop()
            assert ask(direct, memcached.store(b"key", b"new")) == b""
            await card.start()
            assert await asyncio.to_thread(ask, client, memcached.get(b"key")) == b"new"
        finally:
            await card.stop()


async def test_end_of_a_card_is_reported(card: LiveCard, lab: Lab) -> None:
    await card.launch()
    assert card.process is not None
    assert card.process.identity is not None
    os.kill(card.process.identity.pid, signal.SIGKILL)
    await until_async(lambda: bool(lab.ended), "the end is reported")
    assert "was killed by signal 9" in lab.ended[0]


async def test_address_in_use_is_named(card: LiveCard, ends: FarEnds) -> None:
    host, port = ends.addresses[0].split(":")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind((host, int(port)))
        with pytest.raises(NodeError, match="in use"):
            await card.launch()


def test_wrong_card_is_refused_before_it_is_built(home: Path) -> None:
    assert home.is_dir()
    with pytest.raises(UsageError, match="no design 'wier'"):
        CardSpec("wier").build()
    with pytest.raises(UsageError, match="no parameter 'PES'"):
        CardSpec("wire", changes=("PES=3",)).build()
    with pytest.raises(UsageError, match="no register 'lifetime'"):
        CardSpec("wire", settings=("lifetime=3",)).build()
