"""Stock p4runtime-shell, which many operators know, works on our switch.

It pins a protobuf that nothing current can share a process with, so it lives in an environment of
its own under the cache directory; creating that takes seconds once, and package access.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path

import finsy
import pytest

from netkv import _engine
from netkv.p4rt.server import P4RuntimeServer

from .conftest import probe, result_of

REQUIREMENT = "p4runtime-shell==0.0.6"


@pytest.fixture(scope="session")
def shell_python() -> Path:
    """The interpreter of the shell's environment; created when it is not in the cache."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    environment = cache / "netkv" / REQUIREMENT.replace("==", "-")
    python = environment / "bin" / "python"
    complete = environment / "complete"
    if complete.exists() and python.exists():
        return python
    uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
    assert uv, "p4runtime-shell needs an environment of its own: uv is not on PATH (use make test)"
    for command in (
        [uv, "venv", "--quiet", "--clear", "--python", "3.11", str(environment)],
        [uv, "pip", "install", "--quiet", "--python", str(python), REQUIREMENT],
    ):
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
    complete.touch()
    return python


async def test_an_operator_configures_the_switch_with_p4runtime_shell(
    shell_python: Path,
    server: P4RuntimeServer,
    finsy_options: finsy.SwitchOptions,
    switch: _engine.Switch,
) -> None:
    session = Path(__file__).parent / "shell_session.py"
    arguments = [session, server.address, finsy_options.p4info, finsy_options.p4blob]
    shell = await asyncio.create_subprocess_exec(
        shell_python,
        *map(str, arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        output, errors = await asyncio.wait_for(shell.communicate(), 60)
    except TimeoutError:
        shell.kill()
        await shell.wait()
        raise
    assert shell.returncode == 0, errors.decode()
    # The shell itself prints every field that is set.
    lines = [
        line.removeprefix("found: ")
        for line in output.decode().splitlines()
        if line.startswith("found: ")
    ]
    assert lines[:3] == ["entry 0a000001 1234", "counter 1 7 70", "group [1, 2]"]
    assert lines[3].startswith("refused")
    assert "ALREADY_EXISTS" in lines[3]
    ((port, frame),) = switch.process(3, probe(ip=0x0A000001, tag=2))
    assert (port, result_of(frame)) == (1, 0x1234)
    assert [port for port, _ in switch.process(3, probe(ip=0x0B000001))] == [2]
