"""A live design whose driver is a front end of vhost-user: good ones, bad ones, and their ends."""

from __future__ import annotations

import os
import random
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from netkv import _engine
from netkv._engine import FpgaDesign
from netkv.errors import UsageError
from netkv.fpga import build, ports
from netkv.model import manifest
from tests.fpga import vhost_front_end as vhost
from tests.fpga.live_ends import Ends
from tests.fpga.vhost_front_end import FrontEnd
from tests.waiting import until

MAC = bytes.fromhex("020000000001")
SOURCE = bytes.fromhex("0200000000ff")


def frame(number: int, *, size: int = 100) -> bytes:
    head = MAC + SOURCE + b"\x88\xb5" + struct.pack(">I", number)
    return head + bytes(each % 256 for each in range(number, number + size - len(head)))


@dataclass(frozen=True)
class Card:
    """A card whose network port is a UDP socket."""

    node: _engine.FpgaNode
    path: Path
    ends: Ends

    def count(self, name: str) -> int:
        return self.node.statistics()[name]

    def is_refused(self, front_end: FrontEnd, text: str) -> None:
        """The card ends the connection, and says why."""
        assert front_end.is_closed()
        until(lambda: text in self.node.refusals().get(0, ""), f"it says '{text}'")

    def works(self, base: int = 0, count: int = 3) -> None:
        """A new front end sends and receives frames."""
        errors = self.count("device_errors")
        until(lambda: self._accepts(), "the function is free")
        with FrontEnd(str(self.path)) as front_end:
            front_end.set_up(base)
            for _ in range(vhost.SIZE):
                front_end.offer(vhost.RECEIVE)
            for number in range(count):
                front_end.transmit(frame(number))
                assert self.ends.receive(0) == frame(number)
                self.ends.send(0, frame(number, size=60 + 7 * number))
                assert front_end.receive() == frame(number, size=60 + 7 * number)
                front_end.offer(vhost.RECEIVE)
            assert front_end.stop(vhost.TRANSMIT) == (base + count) % 65536
            assert front_end.stop(vhost.RECEIVE) == (base + count) % 65536
            assert all(os.eventfd_read(call) > 0 for call in front_end.calls)
        assert self.node.failure() is None
        assert self.count("device_errors") == errors

    def _accepts(self) -> bool:
        """Whether no front end has the function."""
        with FrontEnd(str(self.path)) as front_end:
            try:
                front_end.send(vhost.GET_FEATURES)
                return len(front_end.reply()) == 8
            except (AssertionError, ConnectionError):
                return False


@pytest.fixture
def card(home: Path, tmp_path: Path, ends: Ends) -> Iterator[Card]:
    assert home.is_dir()
    design = FpgaDesign(str(build.build(manifest.find("virtio-nic")).path))
    path = tmp_path / "card"
    node = design.run_live([(0, *ends.plug(0)), (1, "vhost", str(path))])
    node.start()
    yield Card(node, path, ends)
    node.stop()
    assert node.failure() is None
    assert not path.exists()


@pytest.mark.parametrize("base", [0, 65_520, 65_535])
def test_frames_pass_from_any_index_on(card: Card, base: int) -> None:
    card.works(base, count=40)


def test_configuration_and_features_are_those_of_the_card(card: Card) -> None:
    with FrontEnd(str(card.path)) as front_end:
        assert front_end.number(vhost.GET_FEATURES) & 0xFFFF_FFFF & ~(1 << 16) == 1 << 5 | 1 << 30
        own = front_end.number(vhost.GET_PROTOCOL_FEATURES)
        assert own == 1 << 3 | 1 << 5 | 1 << 9
        front_end.send(vhost.SET_PROTOCOL_FEATURES, struct.pack("=Q", own))
        head = struct.pack("=III", 0, 8, 0)
        assert front_end.ask(vhost.GET_CONFIG, head + bytes(8))[:18] == head + MAC
        front_end.send(vhost.SET_NUM, struct.pack("=II", 0, 64), flags=9)
        assert front_end.reply() == bytes(8)
        front_end.send(vhost.SET_NUM, struct.pack("=II", 0, 65), flags=9)
        assert front_end.reply() != bytes(8)
        card.is_refused(front_end, "a queue has at most 256 entries, a power of 2")
    card.works()


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "a message has the flags"),
        (struct.pack("=III", 1, 1, 1 << 20), "a message has 1048576 bytes"),
        (struct.pack("=III", 77, 1, 0), "the message 77 is not offered"),
        (struct.pack("=IIIQ", 2, 1, 8, 1 << 5), "use one for virtio 1.0"),
        (struct.pack("=IIIQ", 2, 1, 8, 1 << 32 | 1 << 15), "0x8000 are not offered"),
        (struct.pack("=IIIII", 10, 1, 8, 2, 0), "the device has no queue 2"),
        (struct.pack("=IIIQ", 12, 1, 8, 0), "too few descriptors"),
    ],
)
def test_bad_message_ends_its_connection_only(card: Card, body: bytes, text: str) -> None:
    with FrontEnd(str(card.path)) as front_end:
        front_end.connection.sendall(body)
        card.is_refused(front_end, text)
    card.works()


def test_memory_that_is_not_there_is_refused(card: Card) -> None:
    with FrontEnd(str(card.path)) as front_end:
        os.truncate(front_end.file, vhost.MEMORY - 1)
        front_end.set_memory()
        card.is_refused(front_end, "the file is too short")
    with FrontEnd(str(card.path)) as front_end:
        front_end.set_up()
        rings = struct.pack("=IIQQQQ", 0, 0, 0, 0, 0, 0)
        front_end.send(vhost.SET_ADDR, rings)
        card.is_refused(front_end, "there is no memory for a ring")
    card.works()


def test_half_a_message_delays_no_one(card: Card) -> None:
    with FrontEnd(str(card.path)) as front_end:
        front_end.connection.sendall(struct.pack("=III", vhost.SET_FEATURES, 1, 8)[:7])
        assert card.node.read_register(0x24) != 0
        with FrontEnd(str(card.path)) as other:
            card.is_refused(other, "another front end has the function")
        front_end.connection.sendall(struct.pack("=III", vhost.GET_FEATURES, 1, 0)[7:])
        assert front_end.is_closed(), "it announced 0 bytes"
    card.works()


def test_memory_stays_untouched_after_the_end(card: Card) -> None:
    """Of a queue that was stopped, and of a connection that has ended."""
    with FrontEnd(str(card.path)) as front_end:
        front_end.set_up()
        for _ in range(vhost.SIZE):
            front_end.offer(vhost.RECEIVE)
        for number in range(8):
            card.ends.send(0, frame(number))
        assert front_end.receive() == frame(0)
        index = front_end.stop(vhost.RECEIVE)
        content = front_end.memory[:]
        assert front_end.returned(vhost.RECEIVE) == index
        received = card.count("received")
        for number in range(8):
            card.ends.send(0, frame(number))
        until(lambda: card.count("received") >= received + 8, "the card has the frames")
        card.node.read_register(0)
        assert front_end.memory[:] == content
        front_end.set_up_queue(vhost.RECEIVE, index)
        front_end.connection.close()
        until(lambda: card._accepts(), "the function is free")
        content = front_end.memory[:]
        for number in range(8):
            card.ends.send(0, frame(number))
        until(lambda: card.count("received") >= received + 16, "the card has the frames")
        assert front_end.memory[:] == content
    card.works()


def test_ring_that_makes_no_sense_stops_the_device(card: Card) -> None:
    with FrontEnd(str(card.path)) as front_end:
        front_end.set_up()
        front_end.next[vhost.TRANSMIT] = 2 * vhost.SIZE
        front_end.transmit(frame(1))
        until(lambda: card.count("device_errors") == 1, "the device reports it")
        front_end.stop(vhost.TRANSMIT)
        front_end.set_up_queue(vhost.TRANSMIT, 0)
        front_end.transmit(frame(2))
        assert card.ends.receive(0) == frame(2)
    assert card.node.refusals() == {}


def test_card_survives_random_messages(card: Card) -> None:
    source = random.Random(1)
    codes = [1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 21, 24, 25, 34, 99]
    for _ in range(60):
        with FrontEnd(str(card.path)) as front_end:
            try:
                if source.random() < 0.7:
                    front_end.set_up(source.choice([0, 65_530]))
                for _ in range(source.randrange(12)):
                    small = [source.randrange(3) for _ in range(source.randrange(12))]
                    body = struct.pack(f"={len(small)}I", *small)
                    if source.random() < 0.3:
                        body = source.randbytes(source.randrange(80))
                    files = [front_end.file] * source.choice([0, 0, 1, 3])
                    front_end.send(source.choice(codes), body, files, source.choice([1, 1, 9, 0]))
            except (OSError, AssertionError):
                # It was disconnected.
                pass
    card.works()


def test_each_guest_has_its_function(home: Path, tmp_path: Path, ends: Ends) -> None:
    assert home.is_dir()
    nic = manifest.find("virtio-nic")
    network, function = nic.ports
    functions = [function, function.model_copy(update={"name": "fn1"})]
    double = nic.model_copy(update={"name": "virtio-nic-2", "ports": [network, *functions]})
    node = FpgaDesign(str(build.build(double).path)).run_live(
        [
            (0, *ends.plug(0)),
            (1, "vhost", str(tmp_path / "card-0")),
            (2, "vhost", str(tmp_path / "card-1")),
        ]
    )
    node.start()
    try:
        with (
            FrontEnd(str(tmp_path / "card-0")) as first,
            FrontEnd(str(tmp_path / "card-1")) as second,
        ):
            both = (first, second)
            for front_end in both:
                front_end.set_up()
                front_end.offer(vhost.RECEIVE)
                front_end.offer(vhost.RECEIVE)
            for number, front_end in enumerate(both):
                front_end.transmit(frame(number))
                assert ends.receive(0) == frame(number)
                address = MAC[:5] + bytes([1 + number])
                ends.send(0, address + frame(7)[6:])
                assert front_end.receive() == address + frame(7)[6:]
            first.connection.close()
            ends.send(0, b"\xff" * 6 + frame(9)[6:])
            assert second.receive() == b"\xff" * 6 + frame(9)[6:]
            assert [each.returned(vhost.RECEIVE) for each in both] == [1, 2]
    finally:
        node.stop()
    assert node.failure() is None


def test_places_of_guests_are_checked() -> None:
    design = manifest.find("virtio-nic")
    place = ports.parse(design, "fn0=vhost:some/socket", "packet")
    assert place.plug == ("vhost", str(Path("some/socket").absolute()))
    with pytest.raises(UsageError, match="names no socket"):
        ports.parse(design, "fn0=vhost:", "packet")
    with pytest.raises(UsageError, match="is no virtio function"):
        ports.parse(design, "nf0=vhost:some/socket", "packet")


def test_socket_must_be_free(home: Path, tmp_path: Path) -> None:
    assert home.is_dir()
    library = str(build.build(manifest.find("virtio-nic")).path)
    path = tmp_path / "taken"
    path.write_text("a file")
    with pytest.raises(OSError, match=r"port 1 cannot listen at .* is not a socket"):
        FpgaDesign(library).run_live([(1, "vhost", str(path))])
    path.unlink()
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        other.listen()
        with pytest.raises(OSError, match="another process listens there"):
            FpgaDesign(library).run_live([(1, "vhost", str(path))])
    # The other process has left its socket.
    node = FpgaDesign(library).run_live([(1, "vhost", str(path))])
    node.stop()
    assert not path.exists()
    with pytest.raises(ValueError, match="Port 0 is no function"):
        FpgaDesign(library).run_live([(0, "vhost", str(path))])
