"""Labs on the target `bmv2`, with the stand-ins of `bmv2_standin` for p4c and simple_switch_grpc."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from netkv.errors import NetkvError
from netkv.lab.rack import LiveRack
from netkv.lab.spec import LabSpec
from tests.lab import bmv2_standin
from tests.lab.racks import finish, sampled, serves, spec
from tests.waiting import until_async


@pytest.fixture
def compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Both stand-ins on PATH; the file has a line for each program that was compiled."""
    bmv2_standin.install(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    file = tmp_path / "compiled"
    monkeypatch.setenv("STANDIN_COMPILED", str(file))
    return file


@pytest.mark.parametrize("scheme", ["nocache", "netcache", "farreach", "netmc"])
async def test_scheme_serves_requests_on_bmv2(compiled: Path, tmp_path: Path, scheme: str) -> None:
    wanted = {"servers": 4, "server_processes": 2, "target": "bmv2"}
    if scheme in ("netcache", "farreach"):
        wanted["cache_entries"] = 50
    rack = LiveRack(spec(scheme, **wanted), tmp_path / "rack")
    try:
        await rack.start()
        await serves(rack)
        if rack.scheme.caches:
            await sampled(rack, "the switch answers reads", lambda it: it.client.hits > 0)
        await finish(rack, "drain")
        checked = await finish(rack, "verify")
        assert checked.client_statistics["acked_writes_lost"] == 0
        assert checked.client_statistics["stale_reads"] == 0
        assert rack.failed is None
    finally:
        await rack.stop()
