"""Another P4Runtime client becomes primary for the switch of a live rack, and disconnects again."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import finsy
import pytest

from netkv.errors import NetkvError
from netkv.labs import daemon
from netkv.live import cabling
from netkv.live.cabling import Cabling
from netkv.live.rack import LiveRack
from netkv.scenarios import loader
from netkv.scenarios.execution import Progress
from netkv.scenarios.runner import run_scenario
from tests.lab.racks import running, spec, verify
from tests.waiting import until_async

ELECTION_ID = 10


def another_client(address: str) -> finsy.Switch:
    """A client of another P4Runtime library."""
    options = finsy.SwitchOptions(initial_election_id=ELECTION_ID)
    return finsy.Switch("another", address, options)


def arbitration(rack: LiveRack) -> dict[str, Any]:
    """The controller's role among the P4Runtime clients."""
    return rack.controller.arbitration()["switch"]


@pytest.mark.parametrize("scheme", ["netcache", "farreach"])
async def test_controller_yields_and_the_rack_still_serves(scheme: str, tmp_path: Path) -> None:
    rack = LiveRack(spec(scheme, cache_entries=20), tmp_path)

    async def hits() -> bool:
        return (await rack.sample()).client.hits > 0

    async def cached_again() -> bool:
        sample = await rack.sample()
        return sample.cached > 0 and sample.client.hits > 0

    async with running(rack):
        first = arbitration(rack)
        assert first["primary"]
        await rack.client.command({"do": "phase", "name": "measure"})
        async with another_client(first["p4runtime"]) as other:
            await until_async(
                lambda: arbitration(rack)["state"] == "backup", "the controller yields"
            )
            assert other.is_primary
            assert arbitration(rack)["other_election_id"] == ELECTION_ID
            assert not arbitration(rack)["primary"]
            # finsy declares its generator as a coroutine.
            read = other.read(finsy.P4TableEntry())
            tables = [entity async for entity in read]  # type: ignore[attr-defined]
            assert tables, "the tables keep their entries"
            await rack.sample()
            # The cache is in the switch, not in its controller.
            await until_async(hits, "the switch answers reads meanwhile")
            assert arbitration(rack)["state"] == "backup"
        await until_async(lambda: arbitration(rack)["primary"], "the controller is primary again")
        assert arbitration(rack)["election_id"] > ELECTION_ID
        await until_async(cached_again, "the cache fills again")
        assert (await verify(rack)).client_statistics["stale_reads"] == 0
        assert rack.failed is None
        reported = [event.text for event in rack.events if event.kind == "control"]
        assert sum(text.startswith("Another P4Runtime client is primary") for text in reported) == 1
        assert sum(text.startswith("The controller is primary again") for text in reported) == 1
        assert not [event for event in rack.events if event.kind == "failed"]


async def test_controller_that_starts_beside_another_client_waits(tmp_path: Path) -> None:
    async with running(LiveRack(spec("nocache"), tmp_path)) as rack:
        address = arbitration(rack)["p4runtime"]
        await rack.node("controller").kill()
        assert rack.controller.arbitration() == {}
        async with another_client(address):
            await rack.node("controller").start()
            await until_async(
                lambda: arbitration(rack)["state"] == "backup", "the controller waits"
            )
        await until_async(lambda: arbitration(rack)["primary"], "the controller is primary")
        assert rack.failed is None


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    directory = tmp_path / "home"
    monkeypatch.setenv("NETKV_HOME", str(directory))
    yield directory
    with contextlib.suppress(NetkvError):
        daemon.down("lab")


def status(*options: str, returncode: int = 0) -> str:
    command = [sys.executable, "-m", "netkv", "status", "lab", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == returncode, done.stdout + done.stderr
    return done.stdout


def shown() -> tuple[dict[str, Any], str]:
    """The output of `netkv status` as JSON and as text."""
    return json.loads(status("--json"))["labs"][0], status()


async def shown_in(state: str) -> tuple[dict[str, Any], str]:
    """Waits until the controller is in this state; returns the output of `netkv status`."""

    async def matching() -> tuple[dict[str, Any], str] | None:
        document, text = await asyncio.to_thread(shown)
        found = document["controller"]["switches"]["switch"]["state"]
        return (document, text) if found == state else None

    return await until_async(matching, f"the controller is '{state}'")


async def test_status_shows_the_controller_and_the_primary(home: Path) -> None:
    assert home
    await asyncio.to_thread(daemon.up, "lab", spec("nocache"))
    document, text = await asyncio.to_thread(shown)
    controller = document["controller"]
    (switch,) = controller["switches"].values()
    address = switch["p4runtime"]
    assert switch == {
        "state": "primary",
        "p4runtime": address,
        "device_id": 1,
        "election_id": 1,
        "primary": True,
        "other_election_id": None,
    }
    os.kill(controller["pid"], 0)
    assert "running, primary" in text
    assert f"P4Runtime  {address}, device 1, election id 1 (the lab's controller)" in text
    async with another_client(address) as other:
        document, text = await shown_in("backup")
        assert other.is_primary
        assert document["state"] == "ready"
        assert document["controller"]["switches"]["switch"]["other_election_id"] == ELECTION_ID
        assert "waiting: another client is primary" in text
        assert f"{address}, device 1, election id {ELECTION_ID} (another client)" in text
    document, text = await shown_in("primary")
    assert document["controller"]["switches"]["switch"]["election_id"] == ELECTION_ID + 1
    assert document["state"] == "ready"
    await asyncio.to_thread(daemon.request, "lab", {"do": "stop-node", "node": "controller"})
    text = await asyncio.to_thread(status, "--json", returncode=1)
    (document,) = json.loads(text)["labs"]
    assert document["state"] == "degraded"
    assert document["controller"] is None
    assert "not running" in await asyncio.to_thread(status, returncode=1)


@dataclass
class Intruder:
    """Another client that is primary for half a second when a run begins to measure."""

    cabling: Cabling | None = None
    task: asyncio.Task[None] | None = None

    def __call__(self, progress: Progress) -> None:
        if progress.phase == "measure" and self.task is None:
            self.task = asyncio.create_task(self._be_primary())

    async def _be_primary(self) -> None:
        assert self.cabling is not None
        async with another_client(self.cabling.switches[0].p4runtime):
            await asyncio.sleep(0.5)


async def test_run_reports_another_client_and_does_not_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NETKV_HOME", str(tmp_path / "home"))
    intruder = Intruder()
    plug = cabling.plug

    def remember(*arguments: Any, **named: Any) -> Cabling:
        intruder.cabling = plug(*arguments, **named)
        return intruder.cabling

    monkeypatch.setattr(cabling, "plug", remember)
    text = """\
name: taken-over
schemes: [netcache]
lab: {servers: 2, cache_entries: 20, hot_threshold: 4}
workload: {keys: 500, writes: 0.1, arrivals: {outstanding: 8}}
warmup: 0.5
duration: 3
"""
    result = await run_scenario(loader.loads(text, "taken-over.yaml"), on_progress=intruder)
    assert intruder.task is not None
    await intruder.task
    (run,) = result.runs
    assert run.status == "done", run.reason
    assert run.acked_writes_lost == 0
    assert run.stale_reads == 0
    reported = [event.text for event in run.events]
    assert any(text.startswith("Another P4Runtime client is primary") for text in reported)
    assert any(text.startswith("The controller is primary again") for text in reported)
