"""A rack over three hosts that are network namespaces, each with an SSH server of its own."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.executors import ssh_server
from tests.switch.sandbox import ROOT, Sandbox, skip_without
from tests.waiting import until

pytestmark = pytest.mark.slow

HOSTS = {"tor": ["switch"], "storage": ["servers-*"], "load": ["client"]}
PORT = 2222
_WRITES = """
import asyncio, pathlib
from netkv.client import AsyncClient, OperationTimeout

async def read(rack, key):
    while True:
        try:
            return await rack.get(key)
        except OperationTimeout:
            pass

async def main():
    async with await AsyncClient.connect("lab", timeout=5) as rack:
        written = {}
        for n in range(600):
            key, value = f"user:{n % 60}", f"value {n}".encode()
            await rack.put(key, value)
            written[key] = value
        print("written", flush=True)
        while not pathlib.Path("again").exists():
            await asyncio.sleep(0.05)
        lost = [key for key, value in written.items() if await read(rack, key) != value]
        print("lost", lost, flush=True)

asyncio.run(main())
"""


@dataclass
class Hosts:
    """The namespaces, joined by a bridge that has an address of its own."""

    box: Sandbox
    folder: Path
    real: bool

    def serve(self, name: str) -> None:
        """Starts the SSH server of a host."""
        words = ssh_server.command(self.folder, self.address(name), PORT, real=self.real)
        inside = f"ip netns exec {name} env PYTHONPATH={ROOT} {shlex.join(words)}"
        self.box.start(inside, self.folder / f"{name}.log")
        reached = f"timeout 5 bash -c '</dev/tcp/{self.address(name)}/{PORT}'"
        until(
            lambda: "0" in self.box.run(f"{reached} 2>/dev/null; echo $?", None), f"{name} serves"
        )

    def address(self, name: str) -> str:
        return f"10.9.0.{list(HOSTS).index(name) + 1}"

    def processes(self, name: str) -> list[str]:
        """The commands that run on a host, without those of its SSH server."""
        listed = "ip netns pids {} | while read p; do tr '\\0' ' ' </proc/$p/cmdline; echo; done"
        lines = self.box.run(listed.format(name), None).splitlines()
        return [line for line in lines if "netkv" in line and "ssh_server" not in line]

    def netkv(self, words: str, status: int | None = 0) -> str:
        return self.box.run(f"HOME={self.folder}/user netkv {words}", status)

    def lab(self) -> dict[str, Any]:
        (lab,) = json.loads(self.netkv("status --json", None))["labs"]
        return dict(lab)


@pytest.fixture(params=["asyncssh", "sshd"])
def hosts(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Hosts]:
    skip_without("bash")
    real = request.param == "sshd"
    if real and ssh_server.SSHD is None:
        pytest.skip("sshd is not installed")
    ssh_server.keys(tmp_path, [f"10.9.0.{n + 1}" for n in range(len(HOSTS))], PORT)
    command = tmp_path / "there"
    with Sandbox(tmp_path) as box:
        box.run("ip link add name hub type bridge && ip link set hub up")
        box.run("ip address add 10.9.0.254/24 dev hub")
        made = Hosts(box, tmp_path, real)
        listed = []
        for name, nodes in HOSTS.items():
            box.run(
                f"ip netns add {name} && ip -n {name} link set lo up && "
                f"ip link add {name} type veth peer name eth0 netns {name} && "
                f"ip link set {name} master hub up && ip -n {name} link set eth0 up && "
                f"ip -n {name} address add {made.address(name)}/24 dev eth0"
            )
            made.serve(name)
            ssh = f"root@{made.address(name)}:{PORT}"
            listed.append({"name": name, "ssh": ssh, "nodes": nodes, "netkv": str(command)})
        command.write_text(
            f"#!/bin/sh\ncd {ROOT}\nexport NETKV_HOME={tmp_path}/home-$(ip netns identify)\n"
            f'exec {sys.executable} -m netkv "$@"\n'
        )
        command.chmod(0o755)
        (tmp_path / "rack.yaml").write_text(
            json.dumps({"name": "rack", "schemes": ["farreach"], "lab": {"hosts": listed}})
        )
        try:
            yield made
        finally:
            made.netkv("down", None)


def test_rack_survives_the_host_of_its_switch(hosts: Hosts) -> None:
    hosts.netkv("up --scenario rack.yaml --set lab.servers=2 --set lab.backend=rocksdb")
    assert {name: node["host"] for name, node in hosts.lab()["nodes"].items()} == {
        "switch": "tor",
        "servers-0": "storage",
        "client": "load",
    }
    assert "storage" in hosts.netkv("status")
    program = hosts.folder / "writes.py"
    program.write_text(_WRITES)
    log = hosts.folder / "writes.log"
    hosts.box.start(f"{sys.executable} {program}", log)
    until(lambda: "written" in log.read_text(), "the program has written")
    hosts.box.run("ip netns pids tor | xargs kill -9")
    until(lambda: hosts.lab()["state"] == "failed", "the lab knows that the host is lost")
    assert "The host 'tor' is lost" in hosts.lab()["text"]
    assert "'tor': The host root@10.9.0.1:2222 cannot be reached" in hosts.netkv(
        "node start switch", 1
    )
    hosts.serve("tor")
    hosts.netkv("node start switch")
    assert hosts.lab()["state"] == "ready"
    (hosts.folder / "again").touch()
    until(lambda: "lost" in log.read_text(), "the program has read")
    assert "lost []" in log.read_text()
    assert "The host 'tor' is lost" in hosts.netkv("logs --node supervisor")
    # A cable that is cut: the host keeps nothing, and `down` does not wait for it.
    hosts.box.run("ip link set load down")
    until(lambda: not hosts.processes("load"), "nothing runs on the host that nobody reaches")
    hosts.netkv("down")
    for name in HOSTS:
        until(lambda name=name: not hosts.processes(name), f"nothing runs on {name}")  # type: ignore[misc]
    assert not list((hosts.folder / "home-storage" / "racks").iterdir())
