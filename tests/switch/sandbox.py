"""A network and mount namespace that isolates a test from the machine.

Processes in it see no interface, port or network namespace of the machine. Closing it removes
everything that was created in it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType

import pytest

from tests.programs import need

ROOT = Path(__file__).parents[2]
_HOLD = (
    "mkdir -p /run/netns && mount --make-rprivate / && mount -t tmpfs tmpfs /run/netns && "
    "ip link set lo up && echo ready && exec cat"
)


def skip_without(*programs: str) -> None:
    """Skip the test with a reason if it does not run as root or a program is missing."""
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    need("ip", "unshare", "nsenter", *programs)


class Sandbox:
    """The namespace. A context manager."""

    def __init__(self, folder: Path) -> None:
        """`folder` is where commands run."""
        self.folder = folder
        self._holder: subprocess.Popen[str] | None = None
        self._started: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Sandbox:
        self._holder = subprocess.Popen(
            ["unshare", "--net", "--mount", "sh", "-c", _HOLD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self._holder.stdout is not None
        line = self._holder.stdout.readline()
        assert line == "ready\n", line
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for process in reversed(self._started):
            process.terminate()
            process.wait()
        assert self._holder is not None
        self._holder.communicate()

    def words(self, script: str) -> list[str]:
        """The command that runs a shell script inside."""
        assert self._holder is not None
        target = ["--target", str(self._holder.pid), "--net", "--mount"]
        inside = ["bash", "-euo", "pipefail", "-c", f"cd '{self.folder}'; {script}"]
        return ["nsenter", *target, *inside]

    def run(self, script: str, status: int | None = 0) -> str:
        """Run a shell script with the `netkv` under test; return its output and errors."""
        done = subprocess.run(
            self.words(script),
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert status is None or done.returncode == status, done.stdout
        return done.stdout

    def start(self, script: str, log: Path) -> subprocess.Popen[bytes]:
        """Start a command, which ends with the sandbox, with its output in a file."""
        with log.open("wb") as out:
            process = subprocess.Popen(
                self.words(f"exec {script}"),
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        self._started.append(process)
        return process

    def environment(self) -> dict[str, str]:
        """The environment of commands; PATH begins with the `netkv` under test."""
        tools = self.folder / "tools"
        tools.mkdir(exist_ok=True)
        netkv = tools / "netkv"
        netkv.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m netkv "$@"\n')
        netkv.chmod(0o755)
        return {
            **os.environ,
            "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "NETKV_HOME": str(self.folder / "home"),
        }
