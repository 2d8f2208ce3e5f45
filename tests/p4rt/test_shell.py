"""Stock p4runtime-shell, which many operators know, works on our switch.

It pins a protobuf that nothing current can share a process with, so it lives in an environment of
its own under the cache directory; creating that takes seconds once, and package access.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import finsy

from netkv import _engine
from netkv.p4rt.server import P4RuntimeServer
from tests.p4rt.conftest import probe, result_of
from tests.waiting import PATIENCE_S


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
        output, errors = await asyncio.wait_for(shell.communicate(), PATIENCE_S)
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
