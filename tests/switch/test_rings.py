"""Switch ports that are network interfaces: hosts in namespaces communicate by the engine."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from netkv import _engine
from netkv.errors import NetkvError
from netkv.live import veth
from netkv.live.veth import Host, VethFabric
from netkv.switch.ports import Ring
from tests.switch.sandbox import ROOT, skip_without
from tests.waiting import PATIENCE_S, until

PROGRAM = Path(__file__).parent / "wire.p4"
RINGS = get_args(Ring)
HOSTS = (
    Host("one", 1, "10.0.0.1/24", "02:00:00:00:00:01"),
    Host("two", 2, "10.0.0.2/24", "02:00:00:00:00:02"),
)


@pytest.fixture(scope="module")
def fabric() -> Iterator[VethFabric]:
    skip_without("ping")
    with VethFabric(f"test{os.getpid()}", HOSTS) as fabric:
        yield fabric


@pytest.fixture
def node(fabric: VethFabric, request: pytest.FixtureRequest) -> Iterator[_engine.SwitchNode]:
    """A switch between the two hosts, with the ring of the parameter."""
    switch = _engine.Switch(_engine.compile_p4(str(PROGRAM)))
    ports = [(host.port, request.param, fabric.port(host.port)) for host in HOSTS]
    node = _engine.SwitchNode(switch, ports)
    node.start()
    yield node
    node.stop()


def within(fabric: VethFabric, host: str, *command: str) -> str:
    """Run a command in a host's namespace; return its output."""
    done = subprocess.run(
        ["ip", "netns", "exec", fabric.namespace(host), *command],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("node", RINGS, indirect=True)
def test_hosts_ping_each_other(fabric: VethFabric, node: _engine.SwitchNode) -> None:
    # 1,472 bytes after the headers of IP and ICMP make the longest frame.
    for size in ("0", "56", "1472"):
        # Without a deadline ping waits for the last reply for only two round trips.
        options = ("-c", "5", "-w", f"{PATIENCE_S:g}", "-i", "0.01")
        out = within(fabric, "one", "ping", *options, "-s", size, "10.0.0.2")
        sent, received = map(int, re.findall(r"(\d+) (?:packets transmitted|received)", out))
        assert sent == received >= 5, out
    assert node.failure() is None
    counts = node.statistics()
    assert counts["received"] >= 30
    assert (counts["unrouted"], counts["malformed"], counts["unsummed"]) == (0, 0, 0)


@pytest.mark.parametrize("ring", ["packet", "packet-v3"])
def test_tagged_frames_keep_their_tag(fabric: VethFabric, tmp_path: Path, ring: str) -> None:
    """The kernel removes VLAN tags before the ring gets the frame; the switch restores them."""
    switch = _engine.Switch(_engine.compile_p4(str(PROGRAM)))
    ports = [(host.port, ring, fabric.port(host.port)) for host in HOSTS]
    node = _engine.SwitchNode(switch, ports)
    node.record(str(tmp_path))
    node.start()
    frame = bytes.fromhex("0200000000020200000000018100600788b5") + bytes(range(60))
    send = (
        "import socket; s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW);"
        f"s.bind(('eth0', 0)); s.send(bytes.fromhex('{frame.hex()}'))"
    )
    try:
        within(fabric, "one", sys.executable, "-c", send)
        for port in (1, 2):
            record = tmp_path / f"port-{port}.pcapng"
            until(lambda record=record: frame in record.read_bytes(), f"port {port} has the frame")  # type: ignore[misc]
    finally:
        node.stop()


@pytest.mark.parametrize("node", ["packet"], indirect=True)
def test_interface_that_goes_down_and_up_works_again(
    fabric: VethFabric, node: _engine.SwitchNode
) -> None:
    space = fabric.switch_namespace
    for state in ("down", "up"):
        subprocess.run(["ip", "-n", space, "link", "set", "port1", state], check=True)
    until(
        lambda: "1 received" in _ping(fabric),
        "a ping is answered again",
    )
    assert node.failure() is None


def _ping(fabric: VethFabric) -> str:
    words = ["ip", "netns", "exec", fabric.namespace("one"), "ping", "-c1", "-W1", "10.0.0.2"]
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout


@pytest.mark.parametrize("ring", RINGS)
def test_each_dropped_frame_is_counted_once(fabric: VethFabric, ring: str) -> None:
    """The node starts after a burst that is longer than the rings of XDP and TPACKET_V2."""
    switch = _engine.Switch(_engine.compile_p4(str(PROGRAM)))
    ports = [(host.port, ring, fabric.port(host.port)) for host in HOSTS]
    node = _engine.SwitchNode(switch, ports)
    frames = 5000
    _send(fabric, FRAME, frames)
    drops = node.statistics()["receive_drops"]
    node.start()
    try:
        until(lambda: node.statistics()["received"] + drops >= frames, "all frames are counted")
    finally:
        node.stop()
    # The hosts may have sent some frames of their own.
    assert frames <= node.statistics()["received"] + drops < frames + 100


@pytest.mark.parametrize("ring", RINGS)
def test_frame_shorter_than_its_header_is_dropped(
    fabric: VethFabric, tmp_path: Path, ring: str
) -> None:
    program = tmp_path / "cut.p4"
    cut = (
        "        if (std.packet_length == 74) { truncate(5); }\n        if (std.ingress_port == 1)"
    )
    text = PROGRAM.read_text().replace("        if (std.ingress_port == 1)", cut)
    assert cut in text
    program.write_text(text)
    switch = _engine.Switch(_engine.compile_p4(str(program)))
    node = _engine.SwitchNode(switch, [(host.port, ring, fabric.port(host.port)) for host in HOSTS])
    node.start()
    try:
        _send(fabric, FRAME, 10)
        until(lambda: node.statistics()["send_drops"] == 10, "ten frames are dropped")
        assert "1 received" in _ping(fabric)
    finally:
        node.stop()


FRAME = bytes.fromhex("0200000000020200000000010800") + bytes(60)


def _send(fabric: VethFabric, frame: bytes, count: int) -> None:
    """Host one sends a frame this often."""
    code = (
        "import socket; s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW);"
        f"s.bind(('eth0', 0)); [s.send(bytes.fromhex('{frame.hex()}')) for _ in range({count})]"
    )
    within(fabric, "one", sys.executable, "-c", code)


@pytest.mark.parametrize("node", ["packet"], indirect=True)
def test_frames_without_checksums_are_counted(fabric: VethFabric, node: _engine.SwitchNode) -> None:
    skip_without("ethtool")
    space = fabric.namespace("one")
    turn = ["ip", "netns", "exec", space, "ethtool", "-K", "eth0", "tx"]
    subprocess.run([*turn, "on"], check=True, capture_output=True)
    try:
        send = "import socket; s=socket.socket(2, 2); s.sendto(b'x', ('10.0.0.2', 9))"
        within(fabric, "one", sys.executable, "-c", send)
        until(lambda: node.statistics()["unsummed"] > 0, "a frame without checksum is counted")
    finally:
        subprocess.run([*turn, "off"], check=True, capture_output=True)


@pytest.mark.parametrize(
    ("interface", "text"),
    [
        ("nowhere", "there is no such interface"),
        ("no-such-space/eth0", "there is no network namespace 'no-such-space'"),
    ],
)
@pytest.mark.parametrize("ring", RINGS)
def test_missing_interface_is_reported(ring: str, interface: str, text: str) -> None:
    skip_without()
    switch = _engine.Switch(_engine.compile_p4(str(PROGRAM)))
    with pytest.raises(
        OSError, match=f"switch port 1 cannot use the interface {interface}: {text}"
    ):
        _engine.SwitchNode(switch, [(1, ring, interface)])


def test_impossible_interface_name_is_refused() -> None:
    switch = _engine.Switch(_engine.compile_p4(str(PROGRAM)))
    for interface in ("", "a/b/c", "a-name-of-too-many-letters", "../eth0", "two words"):
        with pytest.raises(ValueError, match="is not an interface"):
            _engine.SwitchNode(switch, [(1, "packet", interface)])


def test_namespaces_are_removed_when_their_owner_is_killed() -> None:
    skip_without()
    name = f"crash{os.getpid()}"
    program = (
        "import sys, time; from netkv.live.veth import *\n"
        f"fabric = VethFabric({name!r}, [Host('one', 1, '10.0.0.1/24', '02:00:00:00:00:01')])\n"
        "fabric.open(); print('open', flush=True); sys.stdin.read()"
    )
    owner = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert owner.stdout is not None
    assert owner.stdout.readline() == "open\n"
    spaces = [Path("/run/netns") / f"netkv-{name}{host}" for host in ("", "-one")]
    assert all(space.exists() for space in spaces)
    owner.send_signal(signal.SIGKILL)
    owner.communicate()
    until(lambda: not any(space.exists() for space in spaces), "the namespaces are gone")


def test_namespaces_of_a_dead_owner_are_swept(monkeypatch: pytest.MonkeyPatch) -> None:
    skip_without()
    gone = subprocess.Popen(["true"])
    gone.wait()
    name = f"netkv-swept{os.getpid()}"
    subprocess.run(["ip", "netns", "add", name], check=True)
    alias = f"netkv owner {gone.pid} 1 some-boot"
    subprocess.run(["ip", "-n", name, "link", "set", "lo", "alias", alias], check=True)
    assert name in veth.sweep()
    assert not (Path("/run/netns") / name).exists()
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(NetkvError, match="only root may"):
        VethFabric("any", HOSTS).open()
