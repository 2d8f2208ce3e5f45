"""Batches of updates, atomic or not (section 12.2)."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from finsy.proto import p4r

from netkv import _engine
from netkv.p4rt.client import ControllerError, P4RuntimeClient
from netkv.p4rt.entities import (
    Call,
    Names,
    Ternary,
    clone_session,
    delete,
    insert,
    modify,
    multicast_group,
)
from netkv.p4rt.errors import Code
from netkv.p4rt.server import P4RuntimeServer
from tests.p4rt.conftest import probe, result_of

Request = p4r.WriteRequest
MODES = [Request.ROLLBACK_ON_ERROR, Request.DATAPLANE_ATOMIC]
ALL_KINDS = [
    p4r.Entity(table_entry=p4r.TableEntry(counter_data=p4r.CounterData())),
    p4r.Entity(table_entry=p4r.TableEntry(is_default_action=True)),
    p4r.Entity(counter_entry=p4r.CounterEntry()),
    p4r.Entity(register_entry=p4r.RegisterEntry()),
    p4r.Entity(meter_entry=p4r.MeterEntry()),
    p4r.Entity(action_profile_member=p4r.ActionProfileMember()),
    p4r.Entity(action_profile_group=p4r.ActionProfileGroup()),
    p4r.Entity(value_set_entry=p4r.ValueSetEntry()),
    p4r.Entity(digest_entry=p4r.DigestEntry()),
    p4r.Entity(
        packet_replication_engine_entry=p4r.PacketReplicationEngineEntry(
            multicast_group_entry=p4r.MulticastGroupEntry()
        )
    ),
    p4r.Entity(
        packet_replication_engine_entry=p4r.PacketReplicationEngineEntry(
            clone_session_entry=p4r.CloneSessionEntry()
        )
    ),
]


@pytest.fixture(params=[1, 4], ids=["1-pipeline", "4-pipelines"])
def switch(bundle: bytes, request: pytest.FixtureRequest) -> _engine.Switch:
    return _engine.Switch(bundle, pipelines=request.param)


async def write(client: P4RuntimeClient, mode: Any, updates: list[p4r.Update]) -> None:
    request = Request(device_id=1, election_id=p4r.Uint128(low=1), atomicity=mode, updates=updates)
    await client._call(client._stub.Write(request))


async def whole_state(client: P4RuntimeClient) -> list[str]:
    return sorted([str(each) for wanted in ALL_KINDS async for each in client.read(wanted)])


def exact(names: Names, ip: int, result: int) -> p4r.Entity:
    key = {"h.probe.ip": ip, "h.probe.tag": 1}
    return names.table_entry("exact_table", key, Call("set_result", {"result": result}))


def ternary(names: Names, priority: int, result: int) -> p4r.Entity:
    key = {"h.probe.ip": Ternary(0x0A00, 0xFF00)}
    call = Call("set_result", {"result": result})
    return names.table_entry("ternary_table", key, call, priority=priority)


def member(names: Names, number: int, port: int) -> p4r.Entity:
    return p4r.Entity(
        action_profile_member=p4r.ActionProfileMember(
            action_profile_id=names.schema.profiles.named("balancer").id,
            member_id=number,
            action=names.call(Call("forward", {"port": port})),
        )
    )


def group(names: Names, weight: int) -> p4r.Entity:
    return p4r.Entity(
        action_profile_group=p4r.ActionProfileGroup(
            action_profile_id=names.schema.profiles.named("balancer").id,
            group_id=1,
            members=[p4r.ActionProfileGroup.Member(member_id=1, weight=weight)],
        )
    )


def meter(names: Names, rate: int) -> p4r.Entity:
    config = p4r.MeterConfig(cir=rate, cburst=rate, pir=rate, pburst=rate)
    number = names.schema.meters.named("rate").id
    return p4r.Entity(
        meter_entry=p4r.MeterEntry(meter_id=number, index=p4r.Index(index=2), config=config)
    )


def counter(names: Names, packets: int) -> p4r.Entity:
    entity = names.counter("arrivals", 3)
    entity.counter_entry.data.packet_count = packets
    return entity


def value_set(names: Names, value: int) -> p4r.Entity:
    field = p4r.FieldMatch(field_id=1, exact=p4r.FieldMatch.Exact(value=bytes([value])))
    return p4r.Entity(
        value_set_entry=p4r.ValueSetEntry(
            value_set_id=names.schema.value_sets.named("special_ops").id,
            members=[p4r.ValueSetMember(match=[field])],
        )
    )


@pytest.mark.parametrize("mode", MODES, ids=["rollback", "atomic"])
async def test_a_failed_batch_changes_nothing(
    client: P4RuntimeClient, switch: _engine.Switch, mode: Any
) -> None:
    names = client.names
    await client.write(
        [
            insert(exact(names, 1, 11)),
            insert(exact(names, 2, 22)),
            insert(ternary(names, 5, 55)),
            modify(names.default_entry("lpm_table", Call("forward", {"port": 1}))),
            insert(member(names, 1, 1)),
            insert(group(names, 1)),
            insert(multicast_group(3, [(1, 0)])),
            insert(clone_session(7, [(2, 0)])),
            insert(names.digest("hot_t", max_list_size=5)),
            modify(names.register("results", 4, 44)),
            modify(value_set(names, 0x42)),
            modify(meter(names, 10)),
            modify(counter(names, 100)),
        ]
    )
    switch.process(2, probe(ip=1, tag=1))
    before = await whole_state(client)
    updates = [
        modify(exact(names, 1, 12)),
        delete(exact(names, 2, 0)),
        insert(exact(names, 3, 33)),
        delete(ternary(names, 5, 0)),
        insert(ternary(names, 6, 66)),
        modify(names.default_entry("lpm_table")),
        modify(member(names, 1, 2)),
        modify(group(names, 2)),
        insert(member(names, 2, 2)),
        modify(multicast_group(3, [(1, 0), (2, 0)])),
        delete(clone_session(7, [])),
        modify(names.digest("hot_t", max_list_size=6)),
        modify(names.register("results", None, 9)),
        modify(value_set(names, 0x43)),
        modify(meter(names, 20)),
        modify(counter(names, 0)),
        insert(exact(names, 1, 1)),  # exists already
        insert(exact(names, 4, 44)),
    ]
    with pytest.raises(ControllerError, match="update 16: ") as caught:
        await write(client, mode, updates)
    codes = [caught.value.failed[number].code for number in range(len(updates))]
    assert codes == [*[Code.ABORTED] * 16, Code.ALREADY_EXISTS, Code.ABORTED]
    assert "was undone" in caught.value.failed[0].message
    assert "was not tried" in caught.value.failed[17].message
    assert await whole_state(client) == before
    ((port, frame),) = switch.process(2, probe(ip=2, tag=1))
    assert (port, result_of(frame)) == (1, 22)
    await write(client, mode, updates[:16])
    assert await whole_state(client) != before


@pytest.mark.parametrize("mode", MODES, ids=["rollback", "atomic"])
async def test_a_batch_without_errors_is_applied(
    client: P4RuntimeClient, switch: _engine.Switch, mode: Any
) -> None:
    names = client.names
    forward = modify(names.default_entry("lpm_table", Call("forward", {"port": 2})))
    await write(client, mode, [insert(exact(names, 1, 11)), forward])
    ((port, frame),) = switch.process(1, probe(ip=1, tag=1))
    assert (port, result_of(frame)) == (2, 11)


async def test_no_packet_sees_half_of_an_atomic_batch(
    server: P4RuntimeServer, client: P4RuntimeClient, switch: _engine.Switch
) -> None:
    """The port comes from one table and the result from another; a batch changes both."""
    del server
    names = client.names

    def batch(write: Any, number: int) -> list[p4r.Update]:
        forward = Call("forward", {"port": number})
        return [
            modify(names.default_entry("lpm_table", forward)),
            *[insert(exact(names, 100 + ip, 0)) for ip in range(20) if write is insert],
            write(exact(names, 1, number)),
        ]

    await write(client, Request.DATAPLANE_ATOMIC, batch(insert, 1))
    seen: set[tuple[int, int]] = set()
    done = threading.Event()

    def traffic() -> None:
        while not done.is_set():
            ((port, frame),) = switch.process(3, probe(ip=1, tag=1))
            seen.add((port, result_of(frame)))

    running = asyncio.create_task(asyncio.to_thread(traffic))
    for number in range(30):
        await write(client, Request.DATAPLANE_ATOMIC, batch(modify, 1 + number % 2))
    done.set()
    await running
    assert seen <= {(1, 1), (2, 2)}


async def test_an_unknown_atomicity_is_refused(client: P4RuntimeClient) -> None:
    with pytest.raises(ControllerError, match="there is no atomicity 7; expected CONTINUE"):
        await write(client, 7, [])
