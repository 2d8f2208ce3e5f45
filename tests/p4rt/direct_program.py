"""A switch that runs `direct.p4` behind a server, and a client that is primary."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from finsy.proto import p4r

from netkv import _engine
from netkv.p4rt.client import ControllerError, P4RuntimeClient
from netkv.p4rt.entities import Call, Names
from netkv.p4rt.server import P4RuntimeServer

PROGRAM = Path(__file__).parent / "direct.p4"
FLOWS, FIXED = "MyIngress.flows", "MyIngress.fixed"


@pytest.fixture(scope="session")
def direct_bundle() -> bytes:
    return _engine.compile_p4(str(PROGRAM))


@pytest.fixture(params=[1, 2], ids=["1-pipeline", "2-pipelines"])
def direct_switch(direct_bundle: bytes, request: pytest.FixtureRequest) -> _engine.Switch:
    return _engine.Switch(direct_bundle, pipelines=request.param)


@pytest.fixture
async def direct_server(
    direct_switch: _engine.Switch, direct_bundle: bytes
) -> AsyncIterator[P4RuntimeServer]:
    server = P4RuntimeServer(direct_switch, bundle=direct_bundle)
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
async def direct(direct_server: P4RuntimeServer) -> AsyncIterator[P4RuntimeClient]:
    async with P4RuntimeClient(direct_server.address) as client:
        await client.get_pipeline()
        yield client


def flow(names: Names, ip: int, result: int | None = 7, **fields: Any) -> p4r.Entity:
    """An entry of `flows`; `result` None leaves the action out."""
    call = None if result is None else Call("mark", {"result": result})
    entity = names.table_entry(FLOWS, {"h.probe.ip": ip}, call)
    entity.table_entry.MergeFrom(p4r.TableEntry(**fields))
    return entity


async def read(client: P4RuntimeClient, **kind: Any) -> list[p4r.Entity]:
    return [each async for each in client.read(p4r.Entity(**kind))]


async def refusal(client: P4RuntimeClient, update: p4r.Update) -> tuple[str, str]:
    """Code and message of an update that must be refused."""
    with pytest.raises(ControllerError) as caught:
        await client.write([update])
    error = caught.value.failed[0]
    return error.code.name, error.message
