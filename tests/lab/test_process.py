"""Commands to a node process that does not answer."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from netkv.live import process
from netkv.live.process import NodeProcess
from netkv.model.nodes import NodeError
from tests.waiting import until_async


async def test_commands_to_a_node_that_hangs_are_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "MAX_COMMANDS", 3)
    node = NodeProcess("client", "client", {}, tmp_path / "log", lambda _: None)
    await node.spawn()
    try:
        assert node.identity is not None
        os.kill(node.identity.pid, signal.SIGSTOP)
        for _ in range(3):
            with pytest.raises(NodeError, match="did not answer 'sample'"):
                await node.command("sample", timeout=0.01)
        with pytest.raises(NodeError, match="hangs: it has not answered 3 commands"):
            await node.command("sample", timeout=0.01)
    finally:
        await node.kill()
    await until_async(lambda: not node.running, "the process has ended")
