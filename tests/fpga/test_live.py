"""A design that runs live: frames through links, registers, its end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from netkv._engine import FpgaDesign
from netkv.errors import NetkvError
from netkv.fpga import live
from netkv.fpga.build import Library
from tests.fpga.live_ends import Ends
from tests.switch.sandbox import ROOT, Sandbox, skip_without
from tests.waiting import PATIENCE_S, until

pytestmark = pytest.mark.live

NETKV = [sys.executable, "-m", "netkv"]


def test_frames_pass_between_sockets(wire: Library, ends: Ends) -> None:
    design = FpgaDesign(str(wire.path))
    design.write_register(0, 2)  # port 0 and the host port are connected
    node = design.run_live([(0, *ends.plug(0)), (4, *ends.plug(1))], idle_cycles=1000)
    node.start()
    try:
        for number in range(300):
            frame = number.to_bytes(4, "big") * 20
            ends.send(number % 2, frame)
            assert ends.receive(1 - number % 2) == frame
        until(lambda: node.statistics()["sent"] == 300, "the last frame is counted")
        counts = node.statistics()
        assert (counts["received"], counts["malformed"]) == (300, 0)
        assert node.read_register(0x40) == 150
        assert node.counters(4)["rx_frames"] == 150
    finally:
        node.stop()
    assert node.failure() is None


def test_clock_rests_without_work(wire: Library, ends: Ends) -> None:
    node = FpgaDesign(str(wire.path)).run_live([(0, *ends.plug(0))], idle_cycles=5000)
    node.start()
    try:
        ends.send(0, bytes(60))
        ends.receive(0)

        def rests() -> bool:
            before = node.statistics()["rounds"]
            node.read_register(0)
            return node.statistics()["rounds"] == before

        until(rests, "the clock rests")
        assert node.statistics()["cycles"] < 50_000
    finally:
        node.stop()


def test_clock_is_held_back(wire: Library) -> None:
    """An idle design would run some hundred times as fast."""
    limit = 1e5
    node = FpgaDesign(str(wire.path)).run_live([], idle_cycles=1 << 40, max_mhz=limit / 1e6)
    began = time.monotonic()
    node.start()
    try:
        until(lambda: node.statistics()["rounds"] > 50, "the clock runs")
        cycles = node.statistics()["cycles"]
    finally:
        node.stop()
    assert cycles <= (time.monotonic() - began) * limit + 256


def test_burst_waits_in_the_socket(wire: Library, ends: Ends) -> None:
    """More frames than wait before the design: none is lost, nor is it in the test's socket."""
    node = FpgaDesign(str(wire.path)).run_live([(0, *ends.plug(0))])
    for number in range(300):
        ends.send(0, number.to_bytes(64, "big"))
    node.start()
    try:
        got = [int.from_bytes(ends.receive(0), "big") for _ in range(300)]
        assert got == list(range(300))
        assert node.counters(0)["rx_drops"] == 0
    finally:
        node.stop()


def test_short_and_unconnected_frames_are_counted(wire: Library, ends: Ends) -> None:
    design = FpgaDesign(str(wire.path))
    design.write_register(0, 1)
    node = design.run_live([(0, *ends.plug(0))])
    node.start()
    try:
        ends.send(0, bytes(5))
        ends.send(0, bytes(50))
        until(lambda: node.statistics()["unconnected"], "the frame has left at port 1")
        assert node.statistics()["malformed"] == 1
    finally:
        node.stop()


def test_failure_ends_the_node(faulty: Library) -> None:
    node = FpgaDesign(str(faulty.path)).run_live([])
    node.start()
    with pytest.raises(RuntimeError, match="told to fail"):
        node.write_register(0, 1)
    with pytest.raises(RuntimeError, match="told to fail"):
        node.read_register(0)
    node.stop()


@pytest.mark.parametrize(
    ("ports", "error", "text"),
    [
        ([(9, "127.0.0.1:0", "any")], ValueError, "There is no port 9"),
        ([(0, "127.0.0.1:0", "any")] * 2, ValueError, "Port 0 is given twice"),
        ([(0, "nowhere", "any")], ValueError, "'nowhere' is not a valid address of port 0"),
        ([(0, "packet", "no-such-if0")], OSError, "port 0 cannot use the interface no-such-if0"),
    ],
)
def test_link_that_cannot_be_used_is_named(
    wire: Library, ports: list[tuple[int, str, str]], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        FpgaDesign(str(wire.path)).run_live(ports)


def test_command_runs_a_design_until_it_is_stopped(
    wire: Library, ends: Ends, home: Path, tmp_path: Path
) -> None:
    assert wire.path.is_file()
    words = [*NETKV, "fpga", "run", "wire", "--live", "--json", "--write", "mode=host"]
    for name, index in (("nf0", 0), ("host", 1)):
        words += ["--port", f"{name}=udp:{','.join(ends.plug(index))}"]
    environment = {**os.environ, "NETKV_HOME": str(home)}
    log = tmp_path / "log"
    with log.open("wb") as errors:
        process = subprocess.Popen(
            words, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True
        )
    try:
        until(lambda: "runs as 'wire'" in log.read_text(), "the design runs")
        ends.send(0, bytes(70))
        assert ends.receive(1) == bytes(70)
        values = live.request("wire", {"do": "registers"})["registers"]
        assert (values["mode"], values["frames.0"]) == (2, 1)
        live.request("wire", {"do": "write", "address": 8, "value": 77})
        assert live.request("wire", {"do": "registers"})["registers"]["scratch"] == 77
        assert live.request("wire", {"do": "statistics"})["ports"]["host"]["tx_frames"] == 1
        with pytest.raises(NetkvError, match="does not know the request"):
            live.request("wire", {"do": "dance"})
        again = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True)
        assert again.returncode == 1
        assert "A design with the name 'wire' runs already." in again.stderr
    finally:
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, log.read_text()
    assert json.loads(out)["ports"].keys() == {"nf0", "host"}
    assert "1 frames in, 1 out; 0 lost at the ports" in log.read_text()
    with pytest.raises(NetkvError, match="No design with the name 'wire' runs"):
        live.request("wire", {"do": "info"})


_SETUP = {
    "tap": "true",
    "veth": "ip link add near-a type veth peer name tap0 netns a; "
    "ip link add near-b type veth peer name tap0 netns b; "
    "for n in a b; do ip netns exec $n ethtool -K tap0 tx off >/dev/null; done",
}
_PLACES = {"tap": ("tap:a/tap0", "tap:b/tap0"), "veth": ("near-a", "near-b")}


@pytest.mark.parametrize("kind", _SETUP)
def test_ping_passes_through_a_design(wire: Library, tmp_path: Path, home: Path, kind: str) -> None:
    skip_without("ping", "ethtool")
    assert wire.path.is_file()
    first, second = _PLACES[kind]
    with Sandbox(tmp_path) as sandbox:
        assert sandbox.environment()["NETKV_HOME"] == str(home)
        sandbox.run(f"ip netns add a; ip netns add b; {_SETUP[kind]}")
        log = tmp_path / "log"
        sandbox.start(
            f"netkv fpga run wire --live --write mode=pairs --port nf0={first} --port nf1={second}",
            log,
        )
        until(lambda: "runs as 'wire'" in log.read_text(), "the design runs")
        for name, address in (("a", 1), ("b", 2)):
            sandbox.run(
                f"ip -n {name} address add 10.9.0.{address}/24 dev tap0; "
                f"ip -n {name} link set tap0 up"
            )
        said = sandbox.run("ip netns exec a ping -c 20 -i 0.05 -W 20 10.9.0.2")
        assert " 0% packet loss" in said
