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
    """The namespaces, each with a cable to this one, which forwards what is for the others."""

    box: Sandbox
    folder: Path
    real: bool
    listed: list[dict[str, Any]]
    """As in `lab.hosts`."""

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
        return f"10.9.{list(HOSTS).index(name)}.1"

    def near(self, name: str) -> str:
        """The address of this machine on the cable to a host."""
        return f"10.9.{list(HOSTS).index(name)}.254"

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
    ssh_server.keys(tmp_path, [f"10.9.{n}.1" for n in range(len(HOSTS))], PORT)
    command = tmp_path / "there"
    with Sandbox(tmp_path) as box:
        box.run("echo 1 >/proc/sys/net/ipv4/ip_forward")
        made = Hosts(box, tmp_path, real, [])
        for name, nodes in HOSTS.items():
            box.run(
                f"ip netns add {name} && ip -n {name} link set lo up && "
                f"ip link add {name} type veth peer name eth0 netns {name} && "
                f"ip link set {name} up && ip -n {name} link set eth0 up && "
                f"ip address add {made.near(name)}/24 dev {name} && "
                f"ip -n {name} address add {made.address(name)}/24 dev eth0 && "
                f"ip -n {name} route add default via {made.near(name)}"
            )
            made.serve(name)
            ssh = f"root@{made.address(name)}:{PORT}"
            made.listed.append({"name": name, "ssh": ssh, "nodes": nodes, "netkv": str(command)})
        command.write_text(
            f"#!/bin/sh\ncd {ROOT}\nexport NETKV_HOME={tmp_path}/home-$(ip netns identify)\n"
            f'exec {sys.executable} -m netkv "$@"\n'
        )
        command.chmod(0o755)
        try:
            yield made
        finally:
            made.netkv("down", None)


def test_rack_survives_the_host_of_its_switch(hosts: Hosts) -> None:
    lab = {"hosts": hosts.listed, "servers": 2, "backend": "rocksdb"}
    scenario = {"name": "rack", "schemes": ["farreach"], "lab": lab}
    (hosts.folder / "rack.yaml").write_text(json.dumps(scenario))
    assert "3 of 3 hosts can be used." in hosts.netkv("doctor --hosts rack.yaml")
    hosts.netkv("up --scenario rack.yaml")
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


@pytest.mark.parametrize("ring", ["packet", "xdp"])
def test_interfaces_of_hosts_are_cabled_to_a_switch_elsewhere(hosts: Hosts, ring: str) -> None:
    ports = {"storage": 5, "load": 1}
    for name, port in ports.items():
        hosts.box.run(
            f"ip link add sw{port} type veth peer name data netns {name} && "
            f"ip link set sw{port} addrgenmode none up && "
            f"ip -n {name} link set data addrgenmode none up"
        )
    log = hosts.folder / "switch.log"
    words = " ".join(f"--port {port}=sw{port}" for port in ports.values())
    hosts.box.start(
        f"netkv switch run {ROOT}/p4/netcache/netcache.p4 {words} --grpc 127.0.0.1:9559", log
    )
    until(lambda: "P4Runtime is at 127.0.0.1:9559" in log.read_text(), "the switch runs")
    scenario = {
        "name": "elsewhere",
        "schemes": ["netcache"],
        "lab": {
            "hosts": [{**it, "ring": ring} for it in hosts.listed if it["name"] in ports],
            "servers": 2,
            "cache_entries": 50,
            "external_clients": 0,
            "target": "p4runtime://127.0.0.1:9559",
            "switch": {
                "config": "bundle",
                "ports": [
                    {"node": "client", "number": 1, "via": "data"},
                    {"node": "servers-0", "number": 5, "via": "data"},
                ],
            },
        },
        "workload": {"keys": 1000, "writes": 0.1, "arrivals": {"outstanding": 8}},
        "warmup": 0.5,
        "duration": 2,
        "expect": ["each.acked_writes_lost == 0", "each.completed_ops > 0", "each.hit_ratio > 0"],
    }
    (hosts.folder / "elsewhere.yaml").write_text(json.dumps(scenario))
    hosts.netkv("scenario run elsewhere.yaml")
    moved = {port: _frames(hosts, f"sw{port}") for port in ports.values()}
    assert all(received > 50 and sent > 50 for received, sent in moved.values()), moved
    for name in ports:
        until(lambda name=name: not hosts.processes(name), f"nothing runs on {name}")  # type: ignore[misc]


def _frames(hosts: Hosts, interface: str) -> tuple[int, int]:
    """Frames that an interface of the switch has received and sent."""
    (found,) = json.loads(hosts.box.run(f"ip -json -statistics link show {interface}"))
    both = found["stats64"]
    return both["rx"]["packets"], both["tx"]["packets"]
