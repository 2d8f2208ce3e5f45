"""The redis-server processes (shards) of a live rack: start, monitoring, failures and stop."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from netkv.errors import NetkvError, UsageError
from netkv.labs import daemon, doctor
from netkv.live import redis_start, state
from netkv.live.ports import free_ports
from netkv.live.rack import LiveRack
from netkv.live.rack_nodes import LiveNode
from netkv.model.nodes import NodeError
from netkv.schemes.spec import RackSpec
from tests.lab.leftovers import processes_of
from tests.lab.racks import load, running, sampled, serves, spec, verify, written
from tests.waiting import until, until_async

QUICK = {"fsync": "never", "timeout": 1.0}


@asynccontextmanager
async def redis_rack(
    directory: Path, scheme: str = "nocache", **lab: Any
) -> AsyncIterator[LiveRack]:
    made = spec(scheme, backend="redis", redis=QUICK, **lab)
    changes = {"deadline": 1.0, "workload": made.workload.model_copy(update={"writes": 0.5})}
    async with running(LiveRack(made.model_copy(update=changes), directory / "rack")) as rack:
        yield rack


def pid_of(rack: LiveRack, name: str) -> int:
    node = rack.node(name)
    assert isinstance(node, LiveNode)
    assert node.process is not None
    assert node.process.identity is not None
    return node.process.identity.pid


def has_failed(rack: LiveRack) -> bool:
    return rack.failed is not None


async def failures(rack: LiveRack, seconds: float) -> dict[int, int]:
    """Calls of each server's store that failed within `seconds` of load."""
    before = (await rack.sample()).server_statistics
    after = (await load(rack, seconds)).server_statistics
    return {
        server: after[server]["failures"] - before[server].get("failures", 0)
        for server in range(len(after))
    }


async def no_failures(rack: LiveRack) -> None:
    """Waits for a second of load in which no call of a store fails."""

    async def none() -> bool:
        return not any((await failures(rack, 1.0)).values())

    await until_async(none, "no call of a store fails")


@pytest.mark.parametrize("scheme", ["nocache", "netcache", "farreach"])
async def test_killed_shard_fails_its_own_keys_until_it_is_back(
    tmp_path: Path, scheme: str
) -> None:
    async with redis_rack(tmp_path, scheme, server_processes=1) as rack:
        assert list(rack.running)[-4:] == ["redis-0", "redis-1", "redis-2", "redis-3"]
        assert not any((await failures(rack, 1.0)).values())
        os.kill(pid_of(rack, "redis-2"), signal.SIGKILL)
        await until_async(lambda: rack.failed is not None, "the rack reports the failure")
        assert rack.failed is not None
        assert rack.failed.node == "redis-2"
        assert "killed by signal 9" in rack.failed.text
        assert not rack.running["redis-2"]
        down: dict[int, int] = {}

        async def calls_fail() -> bool:
            down.update(await failures(rack, 0.5))
            return down[2] > 0

        await until_async(calls_fail, "calls of the killed shard fail")
        others = (0, 1, 3)
        assert not any(down[server] for server in others)
        assert rack.running["servers-0"]
        await sampled(rack, "the others serve", lambda it: all(it.server_load[n] for n in others))
        await rack.node("redis-2").start()
        await no_failures(rack)
        await serves(rack)
        verified = await verify(rack)
        assert verified.client_statistics["verified"] > 0
        assert verified.client.stale_reads == verified.client.phantom_reads == 0


async def test_kills_of_shards_and_servers_lose_no_acknowledged_write(
    tmp_path: Path,
) -> None:
    async with redis_rack(tmp_path) as rack:
        for name in ("redis-0", "servers-1", "redis-3", "redis-1", "servers-0", "redis-0"):
            await load(rack, 0.4)
            await rack.node(name).kill()
            await load(rack, 0.2)
            await rack.node(name).start()
        await written(rack, 1)
        await verify(rack)


async def test_hanging_shard_is_an_event_and_serves_afterwards(
    tmp_path: Path,
) -> None:
    async with redis_rack(tmp_path) as rack:
        os.kill(pid_of(rack, "redis-0"), signal.SIGSTOP)
        await rack.client.command({"do": "phase", "name": "measure"})
        await until_async(
            lambda: "has not answered" in rack.events[-1].text, "the hang is reported"
        )
        assert rack.events[-1].node == "redis-0"
        os.kill(pid_of(rack, "redis-0"), signal.SIGCONT)
        await until_async(lambda: "answers again" in rack.events[-1].text, "the answer is reported")
        await no_failures(rack)


async def test_shard_that_returns_empty_ends_its_servers(
    tmp_path: Path,
) -> None:
    async with redis_rack(tmp_path) as rack:
        await load(rack, 0.5)
        await rack.node("redis-0").kill()
        for file in sorted(rack.data("redis-0").rglob("*"), reverse=True):
            file.rmdir() if file.is_dir() else file.unlink()
        await rack.node("redis-0").start()
        await rack.client.command({"do": "phase", "name": "measure"})
        await until_async(lambda: rack.failed is not None, "the server ends")
        assert rack.failed is not None
        assert rack.failed.node == "servers-0"
        assert "has lost all its records" in rack.failed.text
        redis = rack.node("redis-0")
        assert isinstance(redis, LiveNode)
        with pytest.raises(NodeError, match="is a redis-server"):
            await redis.request("statistics")
        await rack.node("redis-0").kill()
        with pytest.raises(UsageError, match="'redis-0' has no storage"):
            await rack.node("redis-0").start("lost")


def lab_spec() -> RackSpec:
    return spec(backend="redis", redis=QUICK, servers=2)


@pytest.mark.usefixtures("home")
def test_a_lab_shows_its_shards_and_takes_them_down() -> None:
    lab = daemon.up("lab", lab_spec())
    try:
        assert set(lab.nodes) == {
            *("switch", "servers-0", "servers-1", "client", "redis-0", "redis-1")
        }
        shard = int(lab.nodes["redis-0"]["pid"])
        assert (Path(f"/proc/{shard}/comm")).read_text() == "redis-server\n"
        assert "redis-0" in daemon.logs("lab")
        os.kill(shard, signal.SIGKILL)
        until(lambda: daemon.status("lab").state == "failed", "the lab has failed")
        status = daemon.status("lab")
        assert "'redis-0' was killed by signal 9" in status.text
        assert not status.nodes["redis-0"]["running"]
        daemon.request("lab", {"do": "start", "node": "redis-0"})
        assert daemon.status("lab").state == "ready"
    finally:
        daemon.down("lab")


def test_killed_supervisor_leaves_no_process(home: Path) -> None:
    daemon.up("lab", lab_spec())
    lab = state.load("lab")
    assert lab is not None
    assert lab.supervisor is not None
    os.kill(lab.supervisor.pid, signal.SIGKILL)
    until(lambda: not processes_of(home), "no process is left")
    daemon.down("lab")


async def test_error_about_a_missing_redis_server_has_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    rack = LiveRack(lab_spec(), tmp_path / "rack")
    with pytest.raises(NetkvError, match="apt-get install redis-server"):
        await rack.start()
    assert not any(rack.running.values())
    found = {check.name: check for check in doctor.run()}["redis"]
    assert found.status == "warn"
    assert "apt install redis-server" in found.hint


def test_doctor_prints_the_version_of_the_server() -> None:
    found = {check.name: check for check in doctor.run()}["redis"]
    assert found.status == "ok", "'make test-tools' installs redis-server"
    assert "redis-server" in found.text
    assert "hiredis" in found.text


async def started(rack: LiveRack) -> bool:
    """Starts the rack, unless its redis-server does not listen yet."""
    try:
        await rack.start()
    except NetkvError:
        return False
    return True


async def test_lab_at_an_address_wipes_its_prefix_and_needs_its_own(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    other = subprocess.Popen(  # noqa: ASYNC220
        [redis_start.program(), "--port", str(port), "--bind", "127.0.0.1", "--save", ""],
        cwd=tmp_path, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        address = {**QUICK, "addresses": [f"127.0.0.1:{port}"]}
        for _ in range(2):
            made = spec("nocache", backend="redis", redis=address)
            rack = LiveRack(made, tmp_path / "rack")
            await until_async(partial(started, rack), "the rack starts")
            assert list(rack.running)[-1] == "client"
            try:
                await written(rack, 1)
                verified = await verify(rack)
                assert verified.client.stale_reads == 0, "records of the previous lab are deleted"
                intruder = LiveRack(made, tmp_path / "intruder")
                await intruder.start()
                await intruder.stop()
                await rack.client.command({"do": "phase", "name": "measure"})
                await until_async(partial(has_failed, rack), "the rack reports the failure")
                assert rack.failed is not None
                assert "Another client writes" in rack.failed.text
            finally:
                await rack.stop()
    finally:
        other.kill()
        other.wait()
