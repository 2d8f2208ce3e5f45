"""Fixtures that run netkv commands, in a process or in this one."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from netkv.cli import main
from tests.cli.commands import NETKV, ROOT, CommandResult, Netkv
from tests.runs.postgresql import database, postgresql, server_url

__all__ = ["database", "postgresql", "server_url"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty state directory, in NETKV_HOME. After the test its labs are taken down."""
    directory = tmp_path / "home"
    monkeypatch.setenv("NETKV_HOME", str(directory))
    monkeypatch.delenv("NETKV_STORE", raising=False)
    yield directory
    if (directory / "labs").is_dir():
        subprocess.run([*NETKV, "down", "--all"], check=False, capture_output=True)


@pytest.fixture
def netkv(home: Path) -> Netkv:
    """Runs the command and waits for its end."""

    def run(*arguments: str, **environment: str) -> CommandResult:
        done = subprocess.run(
            [*NETKV, *arguments],
            cwd=ROOT,
            env={**os.environ, "NETKV_HOME": str(home), **environment},
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        return CommandResult(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def netkv_in_process(home: Path, capfd: pytest.CaptureFixture[str]) -> Netkv:
    """Runs the command in this process, which saves the seconds that a new one takes for imports.

    For commands that run no rack and are not interrupted.
    """
    assert not home.exists()

    def run(*arguments: str, **environment: str) -> CommandResult:
        capfd.readouterr()
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(ROOT)
            for name, value in environment.items():
                patch.setenv(name, value)
            status = main(arguments)
        return CommandResult(status, *capfd.readouterr())

    return run


@pytest.fixture
def short_scenario(tmp_path: Path) -> Path:
    """A scenario that runs for three seconds on a small live rack."""
    file = tmp_path / "short.yaml"
    file.write_text(
        """\
name: short
title: A short comparison
schemes: [nocache, netcache]
lab: {servers: 2, service_rate: 400, cache_entries: 100}
workload: {keys: 1000, writes: 0.05, arrivals: {outstanding: 16}}
warmup: 1
duration: 2
expect:
  - netcache.acked_writes_lost == 0
""",
        encoding="utf-8",
    )
    return file
