"""Writes of control planes have the same effect by P4Runtime and on a simulated switch."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from netkv import _engine
from netkv.control import base
from netkv.p4rt.client import ControllerError, P4RuntimeClient
from netkv.p4rt.updates import update
from netkv.sim.tables import Tables
from tests.p4rt.conftest import probe, result_of

TABLE, SET = "MyIngress.exact_table", "MyIngress.set_result"
MATCH = {"h.probe.ip": 5, "h.probe.tag": 2}

Write = Callable[[base.TableWrite], Awaitable[str]]


@pytest.fixture(params=["p4runtime", "simulated"])
def write(
    request: pytest.FixtureRequest, client: P4RuntimeClient, switch: _engine.Switch, bundle: bytes
) -> Write:
    """A function that carries out a write and returns the reason of a refusal, or ""."""
    tables = Tables(switch, bundle)

    async def by_p4runtime(it: base.TableWrite) -> str:
        try:
            await client.write([update(client.names, it)])
        except ControllerError as refused:
            return str(refused)
        return ""

    async def on_simulated_switch(it: base.TableWrite) -> str:
        return tables.carry_out(it, 0)

    return by_p4runtime if request.param == "p4runtime" else on_simulated_switch


async def test_only_an_existing_entry_is_modified(write: Write, switch: _engine.Switch) -> None:
    def result() -> int:
        [(_, frame)] = switch.process(2, probe(ip=5, tag=2))
        return result_of(frame)

    modify = base.ModifyEntry(2, TABLE, MATCH, SET, {"result": 0xBEEF})
    assert "no such entry" in await write(modify)
    assert await write(base.InsertEntry(1, TABLE, MATCH, SET, {"result": 0xCAFE})) == ""
    lpm = base.SetDefault(0, "MyIngress.lpm_table", "MyIngress.to_group", {"group": 3})
    assert await write(lpm) == ""
    switch.insert_multicast_group(3, [(1, 0)])
    assert result() == 0xCAFE
    assert await write(modify) == ""
    assert result() == 0xBEEF
    assert await write(base.DeleteEntry(3, TABLE, MATCH)) == ""
    assert result() == 0


async def test_a_multicast_group_copies_to_all_of_its_ports(
    write: Write, switch: _engine.Switch
) -> None:
    lpm = base.SetDefault(0, "MyIngress.lpm_table", "MyIngress.to_group", {"group": 3})
    assert await write(lpm) == ""
    assert switch.process(2, probe()) == []
    assert await write(base.MulticastGroup(1, group=3, ports=(1, 508))) == ""
    assert sorted(port for port, _ in switch.process(2, probe())) == [1, 508]
    assert "multicast group 3 already" in await write(base.MulticastGroup(2, 3, (2,)))
    assert await write(base.MulticastGroup(3, 4, (2, 2))) != ""


async def test_clones_of_a_session_leave_at_its_port(write: Write, switch: _engine.Switch) -> None:
    assert switch.process(1, probe(op=3)) == []
    assert await write(base.CloneSession(1, session=7, port=2)) == ""
    assert [port for port, _ in switch.process(1, probe(op=3))] == [2]
    assert "clone session 7 already" in await write(base.CloneSession(2, session=7, port=1))
    assert "clone session" in await write(base.CloneSession(3, session=0, port=1))
