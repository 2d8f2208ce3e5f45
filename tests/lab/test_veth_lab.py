"""A live rack over the fabric `veth`, and traffic of other programs through its switch."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from netkv.cli import main
from netkv.live.rack import LiveRack
from tests.lab.racks import running, serves, spec, verify, written
from tests.switch.sandbox import skip_without
from tests.waiting import PATIENCE_S, until


def within(name: str, command: str) -> str:
    done = subprocess.run(
        ["ip", "netns", "exec", name, *command.split()],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def namespaces(name: str) -> list[Path]:
    return list(Path("/run/netns").glob(f"netkv-{name}*"))


async def test_rack_serves_and_other_programs_cross_its_switch(tmp_path: Path) -> None:
    skip_without("ping", "redis-server", "redis-cli")
    name = f"veth{os.getpid()}"
    client, server = f"netkv-{name}-client", f"netkv-{name}-servers-0"
    async with running(LiveRack(spec("netcache", fabric="veth"), tmp_path / name)) as rack:
        await serves(rack)
        await written(rack, 20)
        verified = await verify(rack)
        assert verified.client_statistics["verified"] > 0
        assert verified.client_statistics["stale_reads"] == 0
        assert "3 received" in within(client, f"ping -c 3 -w {PATIENCE_S:g} -i 0.1 10.2.0.0")
        redis = await asyncio.create_subprocess_exec(
            *["ip", "netns", "exec", server, "redis-server", "--bind", "10.2.0.0"],
            *["--protected-mode", "no", "--save", ""],
            stdout=subprocess.DEVNULL,
        )
        try:
            until(lambda: "PONG" in within(client, "redis-cli -h 10.2.0.0 ping"), "Redis answers")
        finally:
            redis.terminate()
            await redis.wait()
    assert namespaces(name) == []


def test_veth_without_root_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NETKV_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert main(["up", "lab", "--fabric", "veth"]) == 1
    assert "which only root may: run netkv with sudo" in capfd.readouterr().err
