"""Roles in Python in a live rack: service, recovery after a crash, and reports of exceptions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from netkv import _engine, schemes
from netkv.live.rack import LiveRack
from tests.lab.racks import running, sampled, serves, spec, verify, written
from tests.schemes.changed import with_roles
from tests.waiting import until_async

EXAMPLES = "python:tests.roles.examples:"
KEY = bytes(range(16))
MakeRack = Callable[..., LiveRack]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeRack:
    """Makes racks of NoCache with other roles for servers or clients."""

    def rack(**roles: str) -> LiveRack:
        scheme = with_roles(schemes.get("nocache"), **roles)
        monkeypatch.setattr(schemes, "of", lambda _: scheme)
        return LiveRack(spec("nocache", servers=2, backend="rocksdb"), tmp_path / "rack")

    return rack


async def test_python_roles_lose_no_write_in_a_server_crash(make: MakeRack) -> None:
    rack = make(
        server_role="python:netkv.roles:SingleKeyServer",
        client_role="python:netkv.roles:SingleKeyClient",
    )
    async with running(rack):
        await written(rack, 20)
        await rack.node("servers-0").kill()
        await rack.node("servers-0").start()
        await serves(rack)
        verified = await verify(rack)
        assert verified.client_statistics["verified"] > 0
        assert verified.client.stale_reads == 0
        assert rack.failed is None


async def test_counts_and_sequences_of_a_role_are_in_samples(make: MakeRack) -> None:
    async with running(make(server_role=f"{EXAMPLES}Sequenced")) as rack:
        await sampled(
            rack,
            "a server has read a value with a sequence number",
            lambda it: any(each.get("highest") for each in it.server_statistics),
        )


async def test_external_client_runs_until_its_role_fails(make: MakeRack) -> None:
    """The thread of the role does not block the program, which reads statistics meanwhile."""
    async with running(make(client_role="python:netkv.roles:SingleKeyClient")) as rack:
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
        reason = await until_async(failing.failure, "the role has failed")
        assert "FailingClient failed in judge: ValueError: 'perhaps' is no verdict" in reason
        for each in (session, failing):
            each.stop()


@pytest.mark.parametrize(
    ("changed", "node", "reason"),
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
    make: MakeRack, changed: dict[str, str], node: str, reason: str
) -> None:
    async with running(make(**changed)) as rack:
        await rack.client.command({"do": "phase", "name": "measure"})
        failed = await until_async(lambda: rack.failed, "the node has failed")
        assert failed.node.startswith(node)
        assert reason in failed.text
        assert "Traceback" not in failed.text
        log = rack.directory / "logs" / f"{failed.node}.log"
        if node == "servers-":
            assert "Traceback" in log.read_text()
