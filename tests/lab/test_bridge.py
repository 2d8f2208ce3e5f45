"""The bridge between cables and the ports of a switch: delivery, link faults, interfaces."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import threading
from collections import Counter, deque
from collections.abc import Iterator

import pytest

from netkv._engine import corrupted_frame, write_frame
from netkv.errors import NetkvError
from netkv.live.bmv2 import queues
from netkv.live.bridge import Bridge, Impairment
from netkv.live.bridge_ends import InterfaceEnd, far_ends
from netkv.live.ports import free_ports
from netkv.model.messages import Op
from tests import programs
from tests.waiting import until

FRAME = bytes(range(60))


class Loop:
    """A far end whose switch reflects every frame to the port on which it arrived."""

    def __init__(self) -> None:
        self._ours, self._theirs = socket.socketpair()
        self._frames: deque[tuple[int, bytes]] = deque()

    def watched(self) -> tuple[socket.socket, bool]:
        return self._ours, False

    def receive(self) -> list[tuple[int, bytes]]:
        self._ours.recv(4096)
        found = list(self._frames)
        self._frames.clear()
        return found

    def send(self, port: int, frame: bytes) -> bool:
        self._frames.append((port, frame))
        self._theirs.send(b"\0")
        return True

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self._ours.close()
        self._theirs.close()

    def statistics(self) -> dict[str, int]:
        return {}


class Host:
    """A node at the end of a cable."""

    def __init__(self, bridge: Bridge, connected: socket.socket) -> None:
        self.bridge = bridge
        self._socket = connected

    def send(self, frame: bytes) -> None:
        self._socket.send(frame)

    def receive(self) -> bytes:
        return self._socket.recv(4096)


@pytest.fixture
def host() -> Iterator[Host]:
    bind, peer = (f"127.0.0.1:{port}" for port in free_ports(2))
    bridge = Bridge([(3, bind, peer)], {3: Loop()}, seed=1)
    bridge.start()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        own.bind(("127.0.0.1", int(peer.rpartition(":")[2])))
        own.connect(("127.0.0.1", int(bind.rpartition(":")[2])))
        own.settimeout(60)
        yield Host(bridge, own)
    bridge.stop()


def test_frame_crosses_and_is_counted(host: Host) -> None:
    host.send(FRAME)
    assert host.receive() == FRAME
    # The frame is counted after it was sent.
    until(lambda: host.bridge.statistics()["sent"] == 1, "the frame is counted")
    counts = host.bridge.statistics()
    assert counts["received"] == 1
    assert (counts["received_bytes"], counts["sent_bytes"]) == (60, 60)
    names = ("received", "received_bytes", "sent", "sent_bytes")
    assert host.bridge.port_statistics() == {3: {name: counts[name] for name in names}}


def test_frames_of_wrong_size_are_dropped(host: Host) -> None:
    host.send(b"short")
    host.send(bytes(2049))
    host.send(FRAME)
    assert host.receive() == FRAME
    assert host.bridge.statistics()["malformed"] == 2


@pytest.mark.parametrize("direction", ["to", "from"])
def test_cut_link_carries_nothing_until_it_is_healed(host: Host, direction: str) -> None:
    host.bridge.impair(3, direction, {"loss": 1.0})
    host.send(FRAME)
    until(lambda: host.bridge.statistics()["links_lost"], "the frame is lost")
    host.bridge.impair(3, direction, {})
    host.send(FRAME[::-1])
    assert host.receive() == FRAME[::-1]


def test_frame_is_duplicated_and_delayed(host: Host) -> None:
    host.bridge.impair(3, "to", {"duplicate": 1.0, "delay": 0.001})
    host.send(FRAME)
    assert [host.receive(), host.receive()] == [FRAME, FRAME]
    counts = host.bridge.statistics()
    assert (counts["links_duplicated"], counts["links_delayed"]) == (1, 2)


def test_impairment_that_does_not_exist_is_refused(host: Host) -> None:
    with pytest.raises(ValueError, match="'losss' is no impairment of a link: loss, duplicate"):
        host.bridge.impair(3, "to", {"losss": 1.0})
    with pytest.raises(ValueError, match="no cable at port 4"):
        host.bridge.impair(4, "to", {})


def test_decisions_depend_on_the_seed_only() -> None:
    impairment = Impairment(loss=0.3, duplicate=0.3, reorder=0.3, delay=0.1, jitter=0.1)
    first, again, other = (
        [impairment.fate(chance) for _ in range(50)]
        for chance in (random.Random(1), random.Random(1), random.Random(2))
    )
    assert first == again != other
    assert all(0.1 <= copy.delay <= 0.201 for fate in first for copy in fate)


def test_corrupted_copy_has_a_burst_of_its_own(host: Host) -> None:
    host.bridge.impair(3, "to", {"corrupt": 1.0, "duplicate": 1.0})
    host.send(FRAME)
    first, second = host.receive(), host.receive()
    assert FRAME not in (first, second)
    assert len(first) == len(second) == len(FRAME)
    assert first != second
    assert host.bridge.statistics()["links_corrupted"] == 2


def test_bursts_have_up_to_fifteen_bits_anywhere() -> None:
    frame = bytes(20)
    bursts = [f"{int.from_bytes(corrupted_frame(frame, seed)):0160b}" for seed in range(5_000)]
    lengths = Counter(len(burst.strip("0")) for burst in bursts)
    assert set(lengths) == set(range(1, 16))
    assert 2_300 < lengths[1] < 2_700
    assert {burst.index("1") for burst in bursts} == set(range(160))


def test_corrupted_frame_is_not_corrupted_again() -> None:
    """A second burst might make its checksums right."""
    frame = write_frame(Op.PUT, bytes(16), 1, sender=1, length=5, value=b"value")
    once = [corrupted_frame(frame, seed) for seed in range(200)]
    again = [corrupted_frame(each, seed) for seed, each in enumerate(once, start=1000)]
    changed = [first for first, second in zip(once, again, strict=True) if first != second]
    assert changed
    assert all(first[:14] != frame[:14] for first in changed), "the Ethernet header has no checksum"


def test_ports_of_one_stream_share_it() -> None:
    ends = far_ends({1: "grpc://127.0.0.1:1", 2: "grpc://127.0.0.1:1", 3: "grpc://127.0.0.1:2"}, 1)
    assert ends[1] is ends[2]
    assert ends[1] is not ends[3]


@pytest.mark.skipif(os.geteuid() != 0, reason="reading and writing frames needs root")
def test_interface_that_does_not_exist_is_named() -> None:
    with pytest.raises(NetkvError, match="The network interface 'nothing' at port 5 cannot be"):
        InterfaceEnd("nothing", 5)


@pytest.fixture
def cable() -> Iterator[tuple[str, str]]:
    """A veth pair."""
    if os.geteuid() != 0:
        pytest.skip("a veth pair needs root")
    programs.need("ip")
    names = (f"nk{os.getpid() % 100_000}a", f"nk{os.getpid() % 100_000}b")
    made = subprocess.run(
        ["ip", "link", "add", names[0], "type", "veth", "peer", "name", names[1]],
        capture_output=True,
    )
    if made.returncode != 0:
        pytest.skip(f"no veth pair can be made: {made.stderr.decode().strip()}")
    try:
        for name in names:
            subprocess.run(["ip", "link", "set", name, "up"], check=True)
        yield names
    finally:
        subprocess.run(["ip", "link", "del", names[0]], check=True)


def test_frames_cross_a_network_interface(cable: tuple[str, str]) -> None:
    one, other = InterfaceEnd(cable[0], 1), InterfaceEnd(cable[1], 2)
    try:
        frame = b"\2" + bytes(11) + b"\x88\xb5" + bytes(50)

        def arrived() -> bool:
            one.send(1, frame)
            return (2, frame) in list(other.receive())

        until(arrived, "the frame arrives")
        assert all(found != frame for _, found in one.receive()), "sent frames are not received"
    finally:
        one.close()
        other.close()


def test_queue_depth_is_set_by_a_thrift_call() -> None:
    requests: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                requests.append(connection.recv(4096))
                connection.sendall(b"\x80\1\0\2" + b"\0\0\0\0" + b"\0\0\0\1\0")

        thread = threading.Thread(target=answer)
        thread.start()
        queues.set_depth(listener.getsockname(), 300)
        thread.join()
    assert requests == [
        b"\x80\1\0\1\0\0\0\x29simple_switch:set_all_egress_queue_depths\0\0\0\1\x08\0\1\0\0\1\x2c\0"
    ]
