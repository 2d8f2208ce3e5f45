"""The command line as a user meets it: a process, its output and its exit status."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from netkv.cli import main
from tests.cli.commands import NETKV, ROOT, Netkv, Said


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty state directory. Labs that a test forgot are taken down after it."""
    place = tmp_path / "home"
    monkeypatch.setenv("NETKV_HOME", str(place))
    monkeypatch.delenv("NETKV_STORE", raising=False)
    yield place
    if (place / "labs").is_dir():
        subprocess.run([*NETKV, "down", "--all"], check=False, capture_output=True)


@pytest.fixture
def netkv(home: Path) -> Netkv:
    """Runs the command and waits for its end."""

    def run(*arguments: str, **environment: str) -> Said:
        done = subprocess.run(
            [*NETKV, *arguments],
            cwd=ROOT,
            env={**os.environ, "NETKV_HOME": str(home), **environment},
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        return Said(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def netkv_here(home: Path, capfd: pytest.CaptureFixture[str]) -> Netkv:
    """The same in this process, without the seconds that a new one takes to import everything.

    For commands that neither run a rack nor are stopped.
    """
    assert not home.exists()

    def run(*arguments: str, **environment: str) -> Said:
        capfd.readouterr()
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(ROOT)
            for name, value in environment.items():
                patch.setenv(name, value)
            status = main(arguments)
        return Said(status, *capfd.readouterr())

    return run


@pytest.fixture
def short_scenario(tmp_path: Path) -> Path:
    """A scenario of seconds on a small rack, for what has to be real."""
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
