"""External clients of a live rack: their cables, and deregistration of those that crash."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from netkv import schemes
from netkv.live import cabling, stale_clients, target
from netkv.live.rack import LiveRack
from netkv.model.nodes import Client
from netkv.schemes.spec import LabSpec, RackSpec
from tests.lab.racks import running, spec
from tests.waiting import until_async

PROGRAM = """
import json, sys
from netkv import _engine
session = _engine.Session(sys.argv[1])
session.start()
print("started", flush=True)
sys.stdin.read()
session.stop()
"""


@pytest.mark.parametrize(
    ("scheme", "clients", "wanted", "got"),
    [
        ("nocache", 1, 4, 4),
        ("netcache", 64, 16, 16),
        ("farreach", 48, 16, 16),
        ("farreach", 60, 16, 4),
        ("farreach", 64, 4, 0),
        ("farreach", 1, 0, 0),
    ],
)
def test_external_clients_are_numbered_after_those_of_the_load(
    scheme: str, clients: int, wanted: int, got: int
) -> None:
    requested = RackSpec(scheme=scheme, lab=LabSpec(clients=clients, external_clients=wanted))
    known = schemes.get(scheme)
    plugged = cabling.plug(requested, known.external_clients(requested.lab))
    configs = cabling.external_client_configs(requested, plugged, known.role(Client))
    assert [config["client"] for config in configs] == list(range(clients + 1, clients + 1 + got))
    assert [cable.port for cable in plugged.external_clients] == list(range(2, 2 + got))
    assert [config["bind"] for config in configs] == [
        cable.peer for cable in plugged.external_clients
    ]
    switch = target.of(requested.lab, lambda _: Path("x")).switch_config(plugged.switches[0], 1, [])
    assert len({port for port, _, _ in switch["ports"]}) == 2 + got


async def test_only_a_crashed_external_client_is_deregistered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stale_clients, "_INTERVAL_S", 0.1)
    programs = []
    async with running(LiveRack(spec("farreach", external_clients=2), tmp_path / "rack")) as rack:

        def registered() -> set[int]:
            return set(rack.controller.registered_clients())

        try:
            for place in rack.external_clients():
                program = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-c", PROGRAM, json.dumps(place)),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                )
                programs.append(program)
                assert program.stdout is not None
                assert await program.stdout.readline() == b"started\n"
            await until_async(lambda: registered() == {1, 2, 3}, "both programs send HELLO")
            programs[0].send_signal(signal.SIGKILL)
            await programs[0].wait()
            await until_async(lambda: registered() == {1, 3}, "the killed one is deregistered")
            await programs[1].communicate(b"")
            await until_async(lambda: registered() == {1}, "the other one sends BYE")
        finally:
            for program in programs:
                if program.returncode is None:
                    program.kill()
                await program.communicate()
