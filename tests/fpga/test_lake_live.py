"""LaKe between clients and a real memcached: the answers are those of a memcached alone."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Any

import pytest

from netkv.fpga import live
from netkv.fpga.build import Library
from tests.fpga.live_ends import Ends, pair
from tests.fpga.live_ends import running as running_design
from tests.fpga.memcached_compare import compare
from tests.fpga.memcached_load import Load
from tests.fpga.memcached_servers import (
    PORT,
    Bridge,
    Frames,
    Sockets,
    command,
    running,
    skip_without_memcached,
)
from tests.fpga.packets import frames
from tests.switch.sandbox import Sandbox, skip_without
from tests.waiting import until

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

SAFE, PAPER = 0b1111, 0b1101
"""The register `options`: SETs are visible after their acknowledgement, or at once."""
# A request has its answer within some thousand cycles, for the clock rests while the server works.
# The command lets the time without stores after reset begin anew, with this lifetime.
LAKE = "lake --idle-cycles 2048 --write lifetime=32 --write command=1"


def running_lake(ends: Ends, home: Path, log: Path, options: int) -> AbstractContextManager[None]:
    """LaKe with the network port nf0 and the host port at two sockets."""
    ports = [
        f"--port=nf0=udp:{','.join(ends.plug(0))}",
        f"--port=host=udp:{','.join(ends.plug(1))}",
    ]
    return running_design(home, log, *LAKE.split(), f"--write=options={options}", *ports)


def check_registers(registers: dict[str, int], gets: int) -> None:
    """The cache has answered a good part of the GETs; nothing was dropped or lost."""
    assert registers["hits"] >= gets / 6, registers
    assert registers["filled"] > 0
    assert registers["stored"] > 0
    assert registers["flushes"] > 0
    assert registers["delayed_flushes"] == 1
    assert registers["malformed"] > 0
    lost = ("dropped", "lost_chunks", *(f"queue_dropped.{port}" for port in range(5)))
    assert {name: registers[name] for name in lost} == dict.fromkeys(lost, 0)


@pytest.mark.parametrize(("options", "seed"), [(SAFE, 1), (PAPER, 2)], ids=["safe", "paper"])
def test_answers_are_those_of_memcached_alone(
    lake: Library, ends: Ends, home: Path, tmp_path: Path, options: int, seed: int
) -> None:
    """Frames in UDP sockets; a bridge takes them out for the real memcached. Needs no privileges,
    and is short where the test between namespaces runs."""
    skip_without_memcached()
    assert lake.path.is_file()
    load = Load(seed, 2_500 if os.geteuid() == 0 else 10_000)
    with (
        running() as server,
        running() as alone,
        Bridge(ends.sockets[1], pair(ends.addresses[1]), server),
        running_lake(ends, home, tmp_path / "log", options),
        closing(Sockets(alone)) as direct,
    ):
        counts = compare(
            load,
            Frames(ends.sockets[0], pair(ends.addresses[0])),
            direct,
            early_writes=options == PAPER,
        )
        registers = live.request("lake", {"do": "registers"})["registers"]
    assert counts.operations >= load.operations
    assert counts.unknown_cas <= counts.found / 20
    check_registers(registers, counts.gets)
    if options == SAFE:
        assert registers["visible"] > 0


SETUP = {
    # Fragments: requests with long keys and values are longer than this MTU.
    "tap": "for n in client server; do ip -n $n link set lake0 mtu 1500; done",
    "veth": "for n in client server; do ip -n $n link set lake0 mtu 1800; "
    "ip link set $n mtu 1800 up; ip netns exec $n ethtool -K lake0 tx off >/dev/null; done",
}
PLACES = {
    "tap": "--port nf0=tap:client/lake0 --port host=tap:server/lake0",
    "veth": "--port nf0=client --port host=server",
}


class Machines:
    """A client and a server in network namespaces, with LaKe between them."""

    def __init__(self, sandbox: Sandbox, folder: Path, kind: str, options: int) -> None:
        self._sandbox = sandbox
        self._log = folder / "lake"
        sandbox.run("for n in client server; do ip netns add $n; ip -n $n link set lo up; done")
        if kind == "veth":
            sandbox.run(
                "for n in client server; do ip link add $n type veth peer name lake0 netns $n; done"
            )
        self.lake = sandbox.start(
            f"netkv fpga run --live {LAKE} --write options={options} {PLACES[kind]}", self._log
        )
        until(lambda: "runs as 'lake'" in self._log.read_text(), "the design runs")
        sandbox.run(
            f"{SETUP[kind]}; "
            "ip -n client address add 10.9.0.1/24 dev lake0; ip -n client link set lake0 up; "
            "ip -n server address add 10.9.0.2/24 dev lake0; ip -n server link set lake0 up"
        )
        self._folder = folder

    def start_memcached(self) -> None:
        """One at the server, and one at the client for comparison."""
        for namespace, address in (("server", "10.9.0.2"), ("client", "127.0.0.1")):
            words = " ".join(command(address, PORT))
            self._sandbox.start(
                f"ip netns exec {namespace} {words}", self._folder / f"memcached-{namespace}"
            )
        for address in ("10.9.0.2", "127.0.0.1"):
            probe = f"exec 3<>/dev/tcp/{address}/{PORT}"
            until(lambda: self._succeeds(probe), f"memcached listens at {address}")  # noqa: B023

    def _succeeds(self, script: str) -> bool:
        return "yes" in self._sandbox.run(
            f"ip netns exec client bash -c '{script}' 2>/dev/null && echo yes || echo no"
        )

    def start_damaging_server(self, kind: str) -> Path:
        """The file with the keys that the server is asked for (`damaging_server`)."""
        seen = self._folder / "seen"
        words = f"{sys.executable} -m tests.fpga.damaging_server lake0 10.9.0.2 {kind}"
        self._sandbox.start(f"ip netns exec server {words}", seen)
        until(lambda: "ready" in seen.read_text(), "the server is ready")
        return seen

    def can_store(self) -> bool:
        """Whether LaKe stores values; its clock goes on with each frame."""
        self.client("ping -c 5 -i 0.05 -W 20 10.9.0.2")
        return bool(self.registers()["state"] & 4)

    def client(self, script: str) -> str:
        """Runs a script at the client; returns its output."""
        return self._sandbox.run(f"ip netns exec client {script}")

    def registers(self) -> dict[str, int]:
        said = self._sandbox.run("netkv fpga registers lake --live --json")
        found: dict[str, int] = json.loads(said)["registers"]
        return found


@pytest.fixture
def machines(request: Any, lake: Library, home: Path, tmp_path: Path) -> Iterator[Machines]:
    skip_without("ping", "ethtool")
    assert lake.path.is_file()
    with Sandbox(tmp_path) as sandbox:
        assert sandbox.environment()["NETKV_HOME"] == str(home)
        yield Machines(sandbox, tmp_path, *request.param)


@pytest.mark.parametrize(
    ("machines", "arguments"),
    [
        (("tap", SAFE), "--seed 3 --operations 10000"),
        (("veth", PAPER), "--seed 4 --operations 2500 --early-writes"),
    ],
    indirect=["machines"],
    ids=["tap-safe", "veth-paper"],
)
def test_answers_between_namespaces_are_the_same(machines: Machines, arguments: str) -> None:
    skip_without_memcached()
    machines.start_memcached()
    said = machines.client(
        f"{sys.executable} -m tests.fpga.memcached_compare --streams {arguments} "
        f"--design 10.9.0.2:{PORT} --alone 127.0.0.1:{PORT} 2>/dev/null"
    )
    counts = json.loads(said)
    assert counts["streams"] > 0
    assert counts["unknown_cas"] <= counts["found"] / 20
    check_registers(machines.registers(), counts["gets"])


TCP_CLIENT = """\
import socket
from tests.fpga.memcached_servers import Sockets
from tests.fpga.packets import memcached

link = Sockets(("10.9.0.2", 11211))
value = bytes(range(256)) * 2000
assert link.stream(b"set big 0 0 %d\\r\\n%b\\r\\n" % (len(value), value)) == b"STORED\\r\\nMN\\r\\n"
assert link.stream(b"get big\\r\\n") == b"VALUE big 0 %d\\r\\n%b\\r\\nEND\\r\\nMN\\r\\n" % (
    len(value), value)
header = b"\\0\\7\\0\\0\\0\\1\\0\\0"
for text, answer in (b"set k 3 0 2\\r\\nhi\\r\\n", b"STORED\\r\\n"), (
        b"get k\\r\\n", b"VALUE k 3 2\\r\\nhi\\r\\nEND\\r\\n"):
    link.send(0, header + text)
    assert link.receive(0) == header + answer
binary = socket.create_connection(("10.9.0.2", 11211))
binary.sendall(memcached.get(b"k").encode())
assert binary.recv(4096)[24:] == b"\\0\\0\\0\\3hi"
link.send(0, header + memcached.get(b"k").encode())
assert link.receive(0)[32:] == b"\\0\\0\\0\\3hi"
print("all answers are right")
"""


@pytest.mark.parametrize("machines", [("tap", SAFE), ("veth", SAFE)], indirect=True)
def test_ping_tcp_and_ascii_pass(machines: Machines, tmp_path: Path) -> None:
    skip_without_memcached()
    machines.start_memcached()
    for size in (56, 1400, 4000):
        said = machines.client(f"ping -c 5 -i 0.05 -W 20 -s {size} 10.9.0.2")
        assert " 0% packet loss" in said
    assert "10.9.0.2" in machines.client(
        "ip neighbour show to 10.9.0.2 nud reachable nud stale nud delay nud probe"
    )
    script = tmp_path / "client.py"
    script.write_text(TCP_CLIENT)
    assert "all answers are right" in machines.client(f"{sys.executable} {script}")
    registers = machines.registers()
    assert registers["dropped"] == 0
    assert registers["epochs"] > 1, "what TCP changed is not served from the cache"


DAMAGED_CLIENT = """\
import sys
from tests.fpga.memcached_servers import Sockets
from tests.fpga.packets import frames, memcached

link = Sockets(("10.9.0.2", 11211))
answered = []
for opaque, key in (1, b"key"), (2, b"key"), (3, b"key"), (9, b"last"):
    link.send(0, frames.datagram(memcached.get(key, opaque=opaque).encode()))
    while key == b"last" or sys.argv[1] == "answered":
        (reply,) = memcached.decode(link.receive(0)[8:])
        answered.append(reply.opaque)
        if reply.opaque == opaque:
            break
print("answered:", answered)
"""


@pytest.mark.parametrize("machines", [("tap", SAFE)], indirect=True)
@pytest.mark.parametrize(
    "kind", ["good", "without-checksum", "udp-checksum", "ip-checksum", "last-payload-bit"]
)
def test_damaged_reply_is_not_stored(machines: Machines, tmp_path: Path, kind: str) -> None:
    """The client's kernel drops it, and LaKe does not answer with its value."""
    seen = machines.start_damaging_server(kind)
    until(machines.can_store, "the time after the command in which nothing is stored is over")
    script = tmp_path / "client.py"
    script.write_text(DAMAGED_CLIENT)
    good = kind in ("good", "without-checksum")
    said = machines.client(f"{sys.executable} {script} {'answered' if good else 'unanswered'}")
    assert said.strip() == f"answered: {[1, 2, 3, 9] if good else [9]}"
    # A good value is stored: the second and the third GET do not come to the server.
    assert seen.read_text().split() == ["ready", *["key"] * (1 if good else 3), "last"]
    registers = machines.registers()
    assert registers["corrupt"] == (0 if good else 3)
    assert registers["hits"] == (2 if good else 0)


def test_other_frames_pass_unchanged(lake: Library, ends: Ends, home: Path, tmp_path: Path) -> None:
    """ARP, ICMP, TCP, ASCII and IPv6, of all lengths, in both directions."""
    assert lake.path.is_file()
    echo = b"\x08\x00\x12\x34\x00\x01\x00\x01"
    sent = [frames.arp()]
    for size in (0, 1, 31, 32, 200, 1452):
        body = bytes(at % 251 for at in range(size))
        sent += [
            frames.ethernet(frames.ipv4(echo + body, frames.ICMP)),
            frames.ethernet(frames.ipv4(frames.tcp(body), frames.TCP)),
            frames.ethernet(frames.ipv4(frames.tcp(body, destination_port=80), frames.TCP)),
            frames.ethernet(frames.ipv6(frames.udp(body), frames.UDP), ethertype=0x86DD),
            frames.udp_frame(frames.datagram(b"set k 0 0 %d\r\n%b\r\n" % (size, body))),
        ]
    with running_lake(ends, home, tmp_path / "log", SAFE):
        for source in (0, 1):
            for frame in sent:
                ends.send(source, frame)
                assert ends.receive(1 - source) == frame
