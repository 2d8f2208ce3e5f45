"""Roles in Python in a live rack: they serve, come back after a crash, and fail in sentences."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from netkv import _engine, schemes
from netkv.lab.rack import LiveRack
from tests.lab.racks import finish, sampled, serves, spec, written
from tests.waiting import until_async

EXAMPLES = "python:tests.roles.examples:"
KEY = bytes(range(16))
MakeRack = Callable[..., LiveRack]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeRack:
    """Makes racks of NoCache with other roles."""

    def rack(**changed: str) -> LiveRack:
        scheme = dataclasses.replace(schemes.get("nocache"), **changed)  # type: ignore[arg-type]
        monkeypatch.setattr(schemes, "of", lambda _: scheme)
        return LiveRack(spec("nocache", servers=2, backend="rocksdb"), tmp_path / "rack")

    return rack


async def test_servers_and_clients_serve_and_lose_no_write_in_a_crash(make: MakeRack) -> None:
    rack = make(
        server_role="python:netkv.roles:SingleKeyServer",
        client_role="python:netkv.roles:SingleKeyClient",
    )
    await rack.start()
    try:
        await written(rack, 20)
        await rack.node("servers-0").kill()
        await rack.node("servers-0").start()
        await serves(rack)
        await finish(rack, "drain")
        report = await finish(rack, "verify")
        assert report.client_statistics["verified"] > 0
        assert report.client_statistics["acked_writes_lost"] == 0
        assert report.client.stale_reads == 0
        assert rack.failed is None
    finally:
        await rack.stop()


async def test_counts_and_sequences_of_a_role_are_in_samples(make: MakeRack) -> None:
    rack = make(server_role=f"{EXAMPLES}Sequenced")
    await rack.start()
    try:
        await sampled(
            rack,
            "a server has read what was written with a sequence",
            lambda it: any(each.get("highest") for each in it.server_statistics),
        )
    finally:
        await rack.stop()


async def test_program_is_a_client_until_its_role_in_python_fails(make: MakeRack) -> None:
    """Its thread and the program, which asks for statistics, do not wait for each other."""
    rack = make(client_role="python:netkv.roles:SingleKeyClient")
    await rack.start()
    try:
        first, second, *_ = rack.external_clients()
        session = _engine.Session(json.dumps(first))
        failing = _engine.Session(json.dumps(second | {"role": f"{EXAMPLES}FailingClient"}))
        for each in (session, failing):
            each.start()

        def ended() -> list[Any]:
            assert isinstance(session.statistics(), dict)
            return session.take()

        session.put(1, KEY, b"value")
        assert await until_async(ended, "the write ends") == [(1, "done", None)]
        session.get(2, [KEY])
        assert await until_async(ended, "the read ends") == [(2, "values", [b"value"])]
        failing.get(1, [KEY])
        sentence = await until_async(failing.failure, "the role has failed")
        assert "FailingClient failed in judge: ValueError: 'perhaps' is no verdict" in sentence
        for each in (session, failing):
            each.stop()
    finally:
        await rack.stop()


@pytest.mark.parametrize(
    ("changed", "node", "sentence"),
    [
        (
            {"server_role": f"{EXAMPLES}FailingRead"},
            "servers-",
            "FailingRead failed in on_read: RuntimeError: no read of",
        ),
        (
            {"client_role": f"{EXAMPLES}FailingClient"},
            "client",
            "FailingClient failed in judge: ValueError: 'perhaps' is no verdict",
        ),
    ],
    ids=["server", "client"],
)
async def test_exception_ends_the_node_and_its_log_has_the_trace(
    make: MakeRack, changed: dict[str, str], node: str, sentence: str
) -> None:
    rack = make(**changed)
    await rack.start()
    try:
        await rack.client.command({"do": "phase", "name": "measure"})
        failed = await until_async(lambda: rack.failed, "the node has failed")
        assert failed.node.startswith(node)
        assert sentence in failed.text
        assert "Traceback" not in failed.text
        log = rack.directory / "logs" / f"{failed.node}.log"
        if node == "servers-":
            assert "Traceback" in log.read_text()
    finally:
        await rack.stop()
