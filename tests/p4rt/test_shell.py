"""The unmodified p4runtime-shell works on netkv's switch.

The shell needs an old protobuf, so it has a separate environment in the cache directory. The first
test creates it, which takes seconds and needs a package registry.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import finsy

from netkv import _engine
from netkv.p4rt import p4info
from netkv.p4rt.server import P4RuntimeServer
from tests.p4rt.conftest import Rack, probe, result_of
from tests.p4rt.direct_program import direct_bundle, direct_server, direct_switch
from tests.waiting import PATIENCE_S

__all__ = ["direct_bundle", "direct_server", "direct_switch"]

SESSION = Path(__file__).parent / "shell_session.py"


async def run_session(
    python: Path,
    arguments: list[str | Path],
    send: Callable[[int, bytes], None] | None = None,
) -> list[str]:
    """Run a session, send the packets that it requests, and return its findings."""
    shell = await asyncio.create_subprocess_exec(
        python,
        SESSION,
        *map(str, arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert shell.stdout is not None
    assert shell.stderr is not None
    errors = asyncio.create_task(shell.stderr.read())
    lines: list[str] = []
    try:
        async with asyncio.timeout(3 * PATIENCE_S):
            async for line in shell.stdout:
                # The shell itself prints, too.
                kind, _, text = line.decode().strip().partition(": ")
                if kind == "found":
                    lines.append(text)
                elif kind == "send" and send is not None:
                    port, op, ip, tag = map(int, text.split())
                    send(port, probe(op=op, ip=ip, tag=tag))
            status = await shell.wait()
    except TimeoutError:
        shell.kill()
        await shell.wait()
        raise AssertionError(f"after {lines}:\n{(await errors).decode()}") from None
    assert status == 0, f"after {lines}:\n{(await errors).decode()}"
    return lines


async def test_p4runtime_shell_configures_the_switch(
    shell_python: Path,
    rack: Rack,
    finsy_options: finsy.SwitchOptions,
    switch: _engine.Switch,
) -> None:
    assert finsy_options.p4info is not None
    assert isinstance(finsy_options.p4blob, Path)
    arguments: list[str | Path] = ["everything", rack.server.address, finsy_options.p4info]
    arguments.append(finsy_options.p4blob)
    lines = await run_session(shell_python, arguments, rack.send)
    twice = lines.pop(1)
    assert "twice refused" in twice
    assert "ALREADY_EXISTS" in twice
    assert lines == [
        "entry 0a000001 1234",
        "rule 10 ff000000 0a 07",
        "rules 0",
        "counter 1 7 70",
        "meter 3 1 2 3 4",
        "group [1, 2]",
        "session 7 64",
        "oneshot [1, 2]",
        "members [1, 2]",
        "digest 0a000001 07",
        "packet ['02', '00', '04']",
        "role 2",
        "version 1.5.0",
    ]
    # The shell's packet-out follows the packets that it requested.
    frames = {await asyncio.to_thread(rack.receive, 1)}
    while b"x" * 60 not in frames:
        frames.add(await asyncio.to_thread(rack.receive, 1))
    ((port, frame),) = switch.process(3, probe(ip=0x0A000001, tag=2))
    assert (port, result_of(frame)) == (1, 0x1234)
    assert [port for port, _ in switch.process(3, probe(ip=0x0B000001))] == [2]
    ports = {port for ip in range(64) for port, _ in switch.process(3, probe(op=9, ip=ip * 7919))}
    assert ports == {1, 2}


async def test_p4runtime_shell_reads_direct_resources(
    shell_python: Path,
    direct_server: P4RuntimeServer,
    direct_bundle: bytes,
    tmp_path: Path,
) -> None:
    info, blob = tmp_path / "direct.p4info.txtpb", tmp_path / "direct.netkv"
    info.write_text(p4info.to_text(p4info.from_bundle(direct_bundle)))
    blob.write_bytes(direct_bundle)
    arguments: list[str | Path] = ["flows", direct_server.address, info, blob]
    lines = await run_session(shell_python, arguments)
    assert lines == [
        "flow 5 2",
        "hits 5",
        "limit 9",
        "idle 0a000001 1000000",
        "since True",
    ]
