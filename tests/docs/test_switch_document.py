"""The program, commands and controller of docs/extend/bring-your-own-switch.md work as
documented."""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import finsy as fy
import pytest

from netkv.cli import switch as cli
from netkv.live.ports import free_ports
from tests.docs.documents import ROOT, blocks
from tests.switch.sandbox import Sandbox, skip_without
from tests.waiting import PATIENCE_S, until

DOCUMENT = ROOT / "docs/extend/bring-your-own-switch.md"
SHELL = [block.text for block in blocks("sh", DOCUMENT)]
CONTROLLER, HOST = [block.text for block in blocks("python", DOCUMENT)]
OPTIONS = {f"--{name.replace('_', '-')}" for name in inspect.signature(cli.run).parameters}

pytestmark = pytest.mark.live


def script(beginning: str) -> str:
    """The shell block with this beginning, for the Python interpreter of the tests."""
    texts = [text.replace(".venv/bin/python", sys.executable) for text in SHELL]
    (found,) = [text for text in texts if text.startswith(beginning)]
    return found


def write_files(folder: Path) -> None:
    (program,) = blocks("p4", DOCUMENT)
    (folder / "learning.p4").write_text(program.text)
    (folder / "controller.py").write_text(CONTROLLER)


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """The steps of the document before its traffic, in a sandbox."""
    skip_without("ethtool", "ping", "iperf3", "redis-server", "redis-cli")
    folder = tmp_path_factory.mktemp("switch")
    write_files(folder)
    with Sandbox(folder) as sandbox:
        assert "no errors" in sandbox.run(script("netkv p4 check"))
        sandbox.run(script("for n in 1 2"))
        switch = folder / "switch.log"
        sandbox.start(script("netkv switch run learning.p4 --port 1=sw1"), switch)
        until(lambda: "P4Runtime is at 127.0.0.1:9559" in switch.read_text(), "the switch runs")
        log = folder / "controller.log"
        controller = sandbox.start(script(sys.executable), log)

        def floods() -> bool:
            assert controller.poll() is None, log.read_text()
            return "1 received" in sandbox.run("ip netns exec h1 ping -c 1 -W 1 10.0.0.2", None)

        until(floods, "the controller has configured the switch")
        yield sandbox
        servers = [Path("/proc", each) for each in sandbox.run("ip netns pids h2").split()]
        assert servers
        sandbox.run(script("ip netns pids h2"))
        until(lambda: not any(each.exists() for each in servers), "the servers in h2 end")


def listens(network: Sandbox, port: int) -> bool:
    """Whether a program in h2 listens at a TCP port."""
    return f":{port} " in network.run("ip netns exec h2 ss -ltn")


def test_traffic_crosses_the_switch_and_is_learned(network: Sandbox) -> None:
    out = ""
    for command in script("ip netns exec h1 ping").splitlines():
        out += network.run(command)
        for server, port in (("iperf3 --server", 5201), ("redis-server", 6379)):
            if server in command:
                # It listens a moment after its command has ended.
                until(functools.partial(listens, network, port), f"{server} listens")
    assert "bytes from 10.0.0.2" in out
    assert "iperf Done." in out
    assert out.endswith("OK\nhello\n")
    learned = (network.folder / "controller.log").read_text()
    assert sorted(re.findall(r"is at port (\d)", learned)) == ["1", "2"]
    assert "Warning" not in (network.folder / "switch.log").read_text()


def test_recorded_frames_are_readable_and_have_directions(network: Sandbox) -> None:
    skip_without("tcpdump")
    network.run("ip netns exec h1 ping -c 1 10.0.0.2")
    shown = network.run("tcpdump -n -r frames/port-1.pcapng icmp 2>/dev/null")
    assert "10.0.0.1 > 10.0.0.2: ICMP echo request" in shown
    assert "10.0.0.2 > 10.0.0.1: ICMP echo reply" in shown


@pytest.fixture
def without_root(tmp_path: Path) -> Iterator[dict[str, Any]]:
    """The switch of the last section at free ports; yields its JSON document."""
    write_files(tmp_path)
    command = script("netkv switch run learning.p4 --port 1=udp")
    for port, free in zip((7001, 7002), free_ports(2), strict=True):
        command = command.replace(str(port), str(free))
    running = subprocess.Popen(
        [sys.executable, "-m", "netkv", *command.split()[1:], "--grpc", "127.0.0.1:0", "--json"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert running.stdout is not None
        # The last line of the JSON document is "}".
        lines = iter(running.stdout.readline, "}\n")
        yield json.loads("".join(lines) + "}")
    finally:
        running.terminate()
        running.communicate()
    assert running.returncode == 0


def test_switch_without_root_floods_a_frame(without_root: dict[str, Any]) -> None:
    """The host of the document sends a frame. The test writes the multicast group."""
    first, second = (port.removeprefix("udp ") for port in without_root["ports"].values())
    assert first.startswith("127.0.0.1:")
    variables: dict[str, Any] = {}
    exec(compile(HOST.replace("7001", first.rpartition(":")[2]), "host.py", "exec"), variables)
    with closing(variables["host"]), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        asyncio.run(_write_flood_group(without_root["p4runtime"]))
        other.settimeout(PATIENCE_S)
        host, _, port = second.rpartition(":")
        other.sendto(bytes(14), (host, int(port)))
        variables["host"].settimeout(PATIENCE_S)
        assert variables["host"].recv(2048) == bytes(14)
        variables["host"].sendto(variables["frame"], ("127.0.0.1", int(first.rpartition(":")[2])))
        assert other.recv(2048) == variables["frame"]


async def _write_flood_group(address: str) -> None:
    """Writes the multicast group of the document's controller."""
    async with fy.Switch("learning", address) as switch:
        await switch.write([+fy.P4MulticastGroupEntry(1, replicas=[1, 2])])


@pytest.mark.slow
def test_shell_reads_the_p4info_of_the_switch(without_root: dict[str, Any]) -> None:
    """`netkv switch shell` reads its commands from a pipe."""
    commands = "print('found', [table.preamble.name for table in p4info.tables])\nexit\n"
    done = subprocess.run(
        [sys.executable, "-m", "netkv", "switch", "shell", "--grpc", without_root["p4runtime"]],
        input=commands,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "'SwitchIngress.destinations'" in done.stdout, done.stderr


def test_fields_of_the_tables_are_options() -> None:
    text = DOCUMENT.read_text()
    for option in re.findall(
        r"--[a-z][a-z-]*", text[text.index("| option |") : text.index("## The con")]
    ):
        assert option in OPTIONS, option
