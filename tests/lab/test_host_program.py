"""The program on a host of a lab: its requests, its folder, and what it refuses."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from netkv.executors.same_code import identity
from netkv.live.host_program import HostProgram
from tests.waiting import until_async


class Peer:
    """The other end of a program."""

    def __init__(self) -> None:
        self.said: list[dict[str, Any]] = []
        self.lines = asyncio.StreamReader()
        self._number = 0

    def tell(self, message: dict[str, Any]) -> None:
        self.lines.feed_data(json.dumps(message).encode() + b"\n")

    async def ask(self, do: str, **rest: Any) -> dict[str, Any]:
        self._number += 1
        number = self._number
        self.tell({"n": number, "do": do, **rest})
        return await until_async(
            lambda: next((it for it in self.said if it.get("n") == number), None), f"'{do}' is done"
        )


@asynccontextmanager
async def program(folder: str = "rack-1") -> AsyncIterator[Peer]:
    peer = Peer()
    running = asyncio.create_task(HostProgram(peer.said.append).run(peer.lines))
    begun = await peer.ask("begin", folder=folder)
    assert begun["result"]["netkv"] == identity()
    try:
        yield peer
    finally:
        peer.lines.feed_eof()
        await running


def racks(home: Path) -> list[str]:
    return sorted(it.name for it in (home / "racks").iterdir())


async def test_files_are_in_the_folder_which_its_end_deletes(home: Path) -> None:
    async with program() as peer:
        data = base64.b64encode(b"a program").decode()
        assert "result" in await peer.ask("file", path="data/x.bundle", data=data)
        assert (home / "racks/rack-1/data/x.bundle").read_bytes() == b"a program"
        for path in ("../x", "/etc/x", "data/../../x", "."):
            answer = await peer.ask("file", path=path, data=data)
            assert answer["error"] == f"'{path}' is not in the folder of the rack."
        await peer.ask("delete", path="data")
        assert not (home / "racks/rack-1/data").exists()
    assert racks(home) == ["rack-1"], "nodes that are started again need their records"
    async with program() as peer:
        await peer.ask("end")
    assert racks(home) == []


async def test_requests_are_answered_in_order_and_wrong_ones_with_a_sentence(home: Path) -> None:
    async with program() as peer:
        found = (await peer.ask("ports", count=5))["result"]
        assert len(set(found)) == 5
        assert abs((await peer.ask("clock"))["result"] - time.time_ns()) < 60e9
        assert "does not know 'dance'" in (await peer.ask("dance"))["error"]
        # Nodes that there are not.
        peer.tell({"id": 7, "do": "kill"})
        peer.tell({})
        await peer.ask("clock")
    answer = await _refused("../up")
    assert answer == "'../up' cannot be the name of a folder."
    assert racks(home) == ["rack-1"]


async def _refused(folder: str) -> str:
    peer = Peer()
    running = asyncio.create_task(HostProgram(peer.said.append).run(peer.lines))
    answer = await peer.ask("begin", folder=folder)
    peer.lines.feed_eof()
    await running
    return str(answer["error"])


async def test_nodes_speak_and_end_with_the_program(home: Path) -> None:
    async with program() as peer:
        pid = (await peer.ask("spawn", id=1, kind="client"))["result"]
        peer.tell({"id": 1, "do": "input", "text": "{}\n"})
        failed = await until_async(
            lambda: next((it for it in peer.said if "line" in it), None), "the node speaks"
        )
        assert json.loads(failed["line"])["event"] == "failed"
        await until_async(lambda: {"id": 1, "ended": 1} in peer.said, "its end is told")
        assert any("Traceback" in it.get("log", "") for it in peer.said), "for its log"
        await until_async(lambda: not Path(f"/proc/{pid}").exists(), "it has ended")
        other = (await peer.ask("spawn", id=2, kind="client"))["result"]
        cores = sorted(os.sched_getaffinity(0))[:1]
        assert "result" in await peer.ask("pin", id=2, kind="client", cores=cores)
        assert sorted(os.sched_getaffinity(other)) == cores
        wrong = await peer.ask("pin", id=2, kind="client", cores=[4095])
        assert "'client' are to use core 4095, which this machine does not have" in wrong["error"]
    await until_async(lambda: not Path(f"/proc/{other}").exists(), "the node has ended")
    assert racks(home) == ["rack-1"]


async def test_folders_that_nobody_has_used_for_a_day_are_deleted(home: Path) -> None:
    for name in ("old", "used", "new"):
        (home / "racks" / name).mkdir(parents=True)
    async with program("used"):
        for name in ("old", "used"):
            os.utime(home / "racks" / name, (0, 0))
        async with program("rack-2"):
            assert racks(home) == ["new", "rack-2", "used"]
