"""Racks over several hosts (`lab.hosts`). The hosts are this machine, behind an SSH server."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from netkv.errors import MisfitError, NetkvError, UsageError
from netkv.live import addresses, cabling
from netkv.live.rack import LiveRack
from netkv.model.nodes import NodeError
from tests.cli.commands import ROOT
from tests.executors import host_command, ssh_server
from tests.executors.ssh_server import Server
from tests.lab.racks import load, running, serves, spec, verify, written
from tests.waiting import until, until_async

pytestmark = pytest.mark.slow


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server, and a user whose keys it takes."""
    (tmp_path / "ssh").mkdir()
    with ssh_server.server(tmp_path / "ssh", real=False) as opened:
        monkeypatch.setenv("HOME", str(opened.home))
        monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
        yield opened
        until(lambda: not programs(tmp_path), "no program of a host is left")


@pytest.fixture
def command(tmp_path: Path) -> str:
    """A command on hosts, whose programs `programs` finds, with a state directory of its own."""
    return host_command.write(tmp_path, NETKV_HOME=f"{tmp_path}/there")


@pytest.fixture
def hosts(server: Server, command: str) -> list[dict[str, Any]]:
    """A host for the switch, one for the servers and one for the clients."""
    placed = {"tor": ["switch"], "storage": ["servers-*"], "load": ["client"]}
    return [
        {"name": name, "ssh": server.name, "nodes": nodes, "netkv": command}
        for name, nodes in placed.items()
    ]


AWAY = {
    "target": "p4runtime://127.0.0.1:1",
    "server_processes": 1,
    "external_clients": 0,
    "switch": {
        "ports": [
            {"node": "client", "number": 1, "via": "eth1"},
            {"node": "servers-0", "number": 5, "via": "grpc://127.0.0.1:2"},
        ]
    },
}
"""A lab at a switch elsewhere."""


def programs(folder: Path) -> list[int]:
    """The pids of all processes on the hosts of a test."""
    return host_command.processes(folder)


def kill_host_of(rack: LiveRack, node: str) -> None:
    """Kills the program on the host of a node; the kernel kills its nodes."""
    process = next(it.process for it in rack.processes if it.name == node)
    assert process is not None
    stat = Path(f"/proc/{process.pid}/stat").read_text()
    os.kill(int(stat.rpartition(")")[2].split()[1]), signal.SIGKILL)


def texts(rack: LiveRack, kind: str) -> dict[str, str]:
    return {event.node: event.text for event in rack.events if event.kind == kind}


async def test_acknowledged_writes_survive_the_host_of_the_switch(
    hosts: list[dict[str, Any]], tmp_path: Path
) -> None:
    wanted = spec("farreach", hosts=hosts, backend="rocksdb")
    async with running(LiveRack(wanted, tmp_path / "rack")) as rack:
        assert {it.name: it.process.host for it in rack.processes if it.process} == {
            "switch": "tor",
            "servers-0": "storage",
            "servers-1": "storage",
            "client": "load",
        }
        notes = texts(rack, "note")
        assert all(re.search(r"its clock is [+-]\S+ us ahead, within", notes[it]) for it in notes)
        assert set(notes) == {"tor", "storage", "load"}
        await serves(rack)
        await written(rack, 200)
        kill_host_of(rack, "switch")
        await until_async(lambda: not rack.node("switch").running, "the switch has ended")
        failed = texts(rack, "failed")
        assert failed["tor"].startswith("The host 'tor' is lost: ")
        assert failed["switch"] == "The node 'switch' has ended: its host 'tor' is lost."
        assert set(failed) == {"tor", "switch"}
        await rack.node("switch").start()
        await until_async(
            lambda: any(it.kind == "recovered" for it in rack.events), "the switch has recovered"
        )
        await serves(rack)
        await verify(rack)
        folder = tmp_path / "there" / "racks"
        assert len(list(folder.iterdir())) == 3
        assert list(folder.glob("*/data/servers-0/*")), "records are on the hosts"
        assert not (tmp_path / "rack" / "data" / "servers-0").exists()
    assert list(folder.iterdir()) == []


async def test_servers_keep_their_records_when_their_host_is_killed(
    hosts: list[dict[str, Any]], tmp_path: Path
) -> None:
    wanted = spec("nocache", hosts=hosts, backend="rocksdb")
    async with running(LiveRack(wanted, tmp_path / "rack")) as rack:
        await written(rack, 200)
        kill_host_of(rack, "servers-0")
        names = ("servers-0", "servers-1")
        await until_async(
            lambda: not any(rack.node(name).running for name in names), "the servers have ended"
        )
        for name in names:
            await rack.node(name).start("kept")
        await serves(rack)
        await verify(rack)
        assert "without its written records" not in texts(rack, "started")["servers-0"]


@pytest.mark.skipif(shutil.which("redis-server") is None, reason="redis-server is not installed")
async def test_redis_of_the_rack_is_on_the_host_of_its_servers(
    hosts: list[dict[str, Any]], tmp_path: Path
) -> None:
    hosts[1]["nodes"].append("redis-*")
    wanted = spec("nocache", hosts=hosts, backend="redis", servers=2, server_processes=1)
    async with running(LiveRack(wanted, tmp_path / "rack")) as rack:
        await written(rack, 200)
        redis = {it.process for it in rack.processes if it.name.startswith("redis-")}
        assert [it.host for it in redis if it is not None] == ["storage", "storage"]
        kill_host_of(rack, "servers-0")
        names = ("redis-0", "redis-1", "servers-0")
        await until_async(
            lambda: not any(rack.node(name).running for name in names), "the nodes have ended"
        )
        for name in names:
            await rack.node(name).start()
        await serves(rack)
        await verify(rack)
        await rack.node("servers-0").kill()
        await rack.node("servers-0").start("lost")
        assert "without its written records" in texts(rack, "started")["servers-0"]
        await serves(rack)
        # The records of one that does not run are a directory, and it makes another one.
        for name in ("servers-0", "redis-0"):
            await rack.node(name).kill()
        with pytest.raises(NodeError, match=r"Redis at .* cannot be used"):
            await rack.node("servers-0").start("lost")
        for name in ("redis-0", "servers-0"):
            await rack.node(name).start()
        await serves(rack)


async def test_faults_and_restarts_are_those_of_one_machine(
    hosts: list[dict[str, Any]], tmp_path: Path
) -> None:
    async with running(LiveRack(spec("netcache", hosts=hosts), tmp_path / "rack")) as rack:
        for name in ("switch", "servers-1"):
            await rack.node(name).kill()
            assert not rack.node(name).running
            await rack.node(name).start()
        await rack.client.impair("to", {"loss": 0.05})
        await rack.client.impair("from", {"duplicate": 0.05})
        await serves(rack)
        assert (await load(rack, 0.3)).client.completed > 0
        assert rack.failed is None
        log = tmp_path / "rack" / "logs" / "switch.log"
        assert log.exists()


def test_scenario_runs_on_hosts_with_its_events(
    hosts: list[dict[str, Any]], tmp_path: Path
) -> None:
    file = tmp_path / "hosts.yaml"
    scenario = {
        "name": "hosts",
        "schemes": ["farreach"],
        "lab": {"servers": 2, "cache_entries": 50, "hosts": hosts},
        "workload": {"keys": 1000, "writes": 0.2, "arrivals": {"outstanding": 8}},
        "warmup": 0.5,
        "duration": 4,
        "events": [{"at": 1, "kill": "switch"}, {"at": 1.5, "start": "switch"}],
        "expect": ["each.acked_writes_lost == 0", "each.completed_ops > 0"],
    }
    file.write_text(json.dumps(scenario))
    done = subprocess.run(
        [sys.executable, "-m", "netkv", "scenario", "run", str(file), "--json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (run,) = json.loads(done.stdout)["runs"]
    happened = [event["text"] for event in run["events"] if event["kind"] == "killed"]
    assert happened == ["The node 'switch' was killed."]
    assert "was started again" in str(run["events"])


async def test_program_on_a_host_ends_when_nobody_speaks_to_it(
    hosts: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rack = LiveRack(spec("nocache", hosts=hosts[:1]), tmp_path / "rack")
    async with running(rack):
        assert host_command.processes(tmp_path, "netkv.live.node")
        # As a cable that is cut: the connection stays, and nothing passes.
        with monkeypatch.context() as cut:
            cut.setattr("netkv.live.ssh_machine.SshMachine._tell", lambda *_: None)
            await until_async(lambda: not programs(tmp_path), "the program has ended")
            await until_async(lambda: rack.failed is not None, "the rack has noticed")


async def test_host_with_another_netkv_is_refused(
    hosts: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("netkv.live.ssh_machine.identity", lambda: "netkv 9.9 (0123456789)")
    rack = LiveRack(spec("nocache", hosts=hosts[:1]), tmp_path / "rack")
    with pytest.raises(NetkvError, match=r"'tor' has netkv .*, and this machine has netkv 9\.9"):
        await rack.start()


async def test_host_without_netkv_is_refused(hosts: list[dict[str, Any]], tmp_path: Path) -> None:
    hosts[1]["netkv"] = "/nowhere/netkv"
    rack = LiveRack(spec("nocache", hosts=hosts), tmp_path / "rack")
    with pytest.raises(NetkvError, match=r"'storage' is lost: .*Give its command there"):
        await rack.start()


async def test_cable_of_a_switch_elsewhere_cannot_be_impaired(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    host = {"name": "h", "ssh": "192.0.2.1", "nodes": ["client"]}
    rack = LiveRack(spec("nocache", hosts=[host], **AWAY), tmp_path)
    free = addresses.here(20)
    away = dataclasses.replace(free, machine_of=rack.placement.of)
    monkeypatch.setattr(rack, "_cabling", cabling.plug(rack.spec, 0, (), None, away))
    with pytest.raises(UsageError, match="'client' is a cable of the switch elsewhere"):
        await rack.client.impair("to", {"loss": 0.1})
    assert [number for number, _, _ in rack.cabling.switches[0].ports] == [5]


@pytest.mark.parametrize(
    ("changes", "hosts", "sentence"),
    [
        ({}, [["switches"]], "no node 'switches' in this lab. Did you mean 'switch'"),
        ({}, [["switch"], ["client", "switch"]], "'switch' is on the host 'h0' already"),
        ({}, [["controller"]], "'controller' cannot be on the host 'h0': switches, servers"),
        ({"backend": "redis"}, [["servers-0"]], "'redis-0' has the records of 'servers-0'"),
        (AWAY, [["switch"]], "The switch is at 'p4runtime://127.0.0.1:1', and not on a host."),
        (AWAY, [["servers-0"]], "'servers-0' is reached by 'grpc://127.0.0.1:2', which this"),
    ],
)
def test_hosts_that_do_not_fit_are_refused(
    changes: dict[str, Any], hosts: list[list[str]], sentence: str, tmp_path: Path
) -> None:
    named = [
        {"name": f"h{number}", "ssh": "192.0.2.1", "nodes": nodes}
        for number, nodes in enumerate(hosts)
    ]
    with pytest.raises(MisfitError, match=re.escape(sentence)):
        LiveRack(spec("nocache", hosts=named, **changes), tmp_path)


async def test_no_connection_stays_of_a_rack_with_one_host_that_cannot_be_reached(
    hosts: list[dict[str, Any]], tmp_path: Path
) -> None:
    hosts[0]["ssh"] = "127.0.0.1:1"
    rack = LiveRack(spec("nocache", hosts=hosts), tmp_path / "rack")
    with pytest.raises(NetkvError, match=r"'tor': The host 127\.0\.0\.1:1 cannot be reached"):
        await rack.start()
    assert set(texts(rack, "note")) == {"storage", "load"}, "they were connected"
    await until_async(lambda: not programs(tmp_path), "their programs have ended")
