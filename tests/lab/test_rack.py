"""Life cycle of a live rack: start, load, failures and restarts of nodes, stop."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from netkv.errors import NetkvError, UsageError
from netkv.live import cabling
from netkv.live.cabling import Cabling
from netkv.live.rack import LiveRack
from netkv.model.nodes import NodeError
from netkv.schemes.spec import RackSpec
from tests.lab.racks import load, running, sampled, serves, spec, verify
from tests.waiting import PATIENCE_S, until_async


@pytest.mark.parametrize("scheme", ["nocache", "netcache"])
@pytest.mark.parametrize("backend", ["memory", "rocksdb", "redis"])
async def test_every_server_works_and_no_write_is_lost(
    tmp_path: Path, scheme: str, backend: str
) -> None:
    async with running(LiveRack(spec(scheme, backend=backend), tmp_path / "rack")) as rack:
        if scheme == "netcache":
            assert rack.cached_keys() == set(await rack.hottest(50))
        await rack.client.command({"do": "phase", "name": "measure"})
        served = [0.0] * 4
        hits = writes = 0

        async def enough() -> bool:
            nonlocal served, hits, writes
            sample = await rack.sample()
            served = [a + b for a, b in zip(served, sample.server_load, strict=True)]
            hits += sample.client.hits
            writes += sample.client.writes
            assert sample.client.stale_reads == 0
            return all(served) and writes >= 20 and (hits > 0 or scheme == "nocache")

        await until_async(enough, "every server serves, keys are written, the cache has hits")
        if scheme == "nocache":
            assert hits == 0
        verified = await verify(rack)
        assert verified.client_statistics["verified"] > 0


async def test_single_server_owns_the_whole_key_space(tmp_path: Path) -> None:
    async with running(LiveRack(spec("nocache", servers=1), tmp_path / "rack")) as rack:
        assert list(rack.running) == ["switch", "servers-0", "client"]
        await serves(rack)


async def test_restarted_switch_of_several_pipelines_serves_again(tmp_path: Path) -> None:
    async with running(LiveRack(spec("nocache", pipelines=4), tmp_path / "rack")) as rack:
        await serves(rack)
        await rack.node("switch").kill()
        await rack.node("switch").start()
        # The switch compiles the program of each pipeline again; then its tables are filled.
        assert (await serves(rack)).client.stale_reads == 0
        await verify(rack)


def test_one_pipeline_scheme_refuses_two_pipelines(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'netcache' runs on switches of 1 pipeline"):
        LiveRack(spec("netcache", pipelines=2), tmp_path / "rack")


async def test_restarted_switch_is_set_up_and_caches_again(
    tmp_path: Path,
) -> None:
    async with running(LiveRack(spec(), tmp_path / "rack")) as rack:
        await load(rack, 0.3)
        await rack.node("switch").kill()
        await rack.node("switch").start()
        # Keys are evicted and admitted all the time: some of the 50 entries may be unused.
        await until_async(lambda: len(rack.cached_keys()) >= 40, "the cache is filled again")
        await sampled(rack, "the switch answers reads", lambda it: it.client.hits)
        verified = await verify(rack)
        assert verified.client.stale_reads == 0
        assert rack.failed is None


async def test_killed_server_is_an_event_and_others_serve(tmp_path: Path) -> None:
    async with running(LiveRack(spec("nocache"), tmp_path / "rack")) as rack:
        node = rack.servers[1].process
        assert node is not None
        assert node.identity is not None
        os.kill(node.identity.pid, signal.SIGKILL)
        await until_async(lambda: rack.failed is not None, "the rack reports the failure")
        assert rack.failed is not None
        assert rack.failed.node == "servers-1"
        assert rack.running == {
            "switch": True,
            "servers-0": True,
            "servers-1": False,
            "client": True,
        }
        sample = await rack.sample()
        assert len(sample.server_load) == 4
        await rack.node("servers-1").start()
        await serves(rack)


async def test_requested_kill_is_no_failure(tmp_path: Path) -> None:
    async with running(LiveRack(spec("nocache"), tmp_path / "rack")) as rack:
        await rack.node("servers-0").kill()
        await rack.node("client").stop()
        assert rack.failed is None
        with pytest.raises(NodeError, match="'client' is not running"):
            await rack.client.command({"do": "hottest", "n": 1})
        with pytest.raises(UsageError, match="no node 'servers-7'"):
            await rack.node("servers-7").kill()


async def test_busy_port_makes_the_rack_choose_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugged: list[Cabling] = []
    held: list[socket.socket] = []
    plug = cabling.plug

    def plug_beside_a_bound_port(wanted: RackSpec, *more: Any, **named: Any) -> Cabling:
        chosen = plug(wanted, *more, **named)
        if not plugged:
            host, _, port = chosen.servers[1].peer.rpartition(":")
            held.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            held[0].bind((host, int(port)))
        plugged.append(chosen)
        return chosen

    monkeypatch.setattr(cabling, "plug", plug_beside_a_bound_port)
    rack = LiveRack(spec("nocache"), tmp_path / "rack")
    try:
        await rack.start()
        assert len(plugged) == 2
        assert any("other addresses" in event.text for event in rack.events)
        await serves(rack)
    finally:
        await rack.stop()
        held[0].close()


async def test_start_that_is_interrupted_leaves_no_process(tmp_path: Path) -> None:
    rack = LiveRack(spec(), tmp_path / "rack")
    task = asyncio.create_task(rack.start())
    await until_async(lambda: rack.switch_nodes[0].process is not None, "the switch is started")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not any(rack.running.values())


async def test_compile_error_of_a_scheme_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "broken.p4"
    program.write_text("#include <core.p4>\nheader h_t { bit<8 a; }\n")
    rack = LiveRack(spec(), tmp_path / "rack")
    monkeypatch.setattr(type(rack.scheme), "program_path", property(lambda _: program))
    with pytest.raises(NetkvError, match=r"broken\.p4:2"):
        await rack.start()
    assert not any(rack.running.values())


async def test_cancellation_together_with_a_reply_is_not_lost(tmp_path: Path) -> None:
    rack = LiveRack(spec("nocache"), tmp_path / "rack")

    async def send_commands() -> None:
        while True:
            await rack.client.command({"do": "hottest", "n": 1})

    async with running(rack):
        for _ in range(100):
            task = asyncio.create_task(send_commands())
            await asyncio.sleep(0.002)
            # The event loop is blocked while the reply arrives; then both are pending.
            time.sleep(0.005)  # noqa: ASYNC251
            task.cancel()
            done, _ = await asyncio.wait({task}, timeout=PATIENCE_S)
            assert done, "the cancellation was lost"
            assert task.cancelled()
