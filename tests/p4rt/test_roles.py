"""Roles and election ids of a P4Runtime server (section 5)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import finsy as fy
import grpc
import pytest
from finsy.proto import U128, p4r, p4r_grpc, stratum
from grpc import aio

from netkv import _engine
from netkv.p4rt.arbitration import Arbitration, Controller
from netkv.p4rt.client import ControllerError, P4RuntimeClient
from netkv.p4rt.entities import Call, Names, insert, multicast_group
from netkv.p4rt.errors import Code, RpcError
from netkv.p4rt.server import P4RuntimeServer
from netkv.p4rt.stream import Session, Streams


@pytest.fixture
async def running(switch: _engine.Switch, bundle: bytes) -> AsyncIterator[P4RuntimeServer]:
    server = P4RuntimeServer(switch, bundle=bundle)
    await server.start()
    yield server
    await server.stop()


def claim(
    role: str = "", config: stratum.P4RoleConfig | None = None, election_id: int | None = 1
) -> p4r.MasterArbitrationUpdate:
    update = p4r.MasterArbitrationUpdate(device_id=1)
    if election_id is not None:
        update.election_id.CopyFrom(U128.encode(election_id))
    if role:
        update.role.name = role
    if config is not None:
        update.role.config.Pack(config)
    return update


def open_stream(streams: Streams, update: p4r.MasterArbitrationUpdate) -> Session:
    session = streams.open()
    streams.on_request(session, p4r.StreamMessageRequest(arbitration=update))
    return session


async def write(server: P4RuntimeServer, role: str, update: p4r.Update) -> None:
    async with aio.insecure_channel(server.address) as channel:
        request = p4r.WriteRequest(
            device_id=1, role=role, election_id=U128.encode(1), updates=[update]
        )
        await p4r_grpc.P4RuntimeStub(channel).Write(request)


def route(names: Names) -> p4r.Entity:
    return names.table_entry("lpm_table", {}, Call("drop", {}))


async def test_a_role_writes_and_reads_only_its_objects(
    running: P4RuntimeServer, names: Names
) -> None:
    lpm, results = (
        names.schema.tables.named("lpm_table").id,
        names.schema.registers.named("results"),
    )
    open_stream(running.streams, claim("routes", stratum.P4RoleConfig(exclusive_p4_ids=[lpm])))
    await write(running, "routes", insert(route(names)))
    for update, sentence in [
        (insert(names.digest("hot_t")), rf"may not write digest hot_t; .*its ids: {lpm}"),
        (insert(multicast_group(3, [(1, 0)])), "may not write multicast groups"),
    ]:
        with pytest.raises(aio.AioRpcError, match=sentence) as caught:
            await write(running, "routes", update)
        assert caught.value.code() is grpc.StatusCode.UNKNOWN
    wanted = [
        names.table_entries(),
        p4r.Entity(register_entry=p4r.RegisterEntry(register_id=results.id)),
    ]
    async with P4RuntimeClient(running.address) as root:
        root.role = "routes"
        assert [each.table_entry.table_id async for each in root.read(*wanted)] == [lpm]
        root.role = ""
        assert len([each async for each in root.read(*wanted)]) == 2 + results.size


async def test_finsy_can_have_a_role(running: P4RuntimeServer, names: Names) -> None:
    lpm = names.schema.tables.named("lpm_table").id
    config = stratum.P4RoleConfig(shared_p4_ids=[lpm])
    options = fy.SwitchOptions(role_name="routes", role_config=config)
    async with (
        fy.Switch("root", running.address) as root,
        fy.Switch("routes", running.address, options) as routes,
    ):
        await routes.insert([fy.P4TableEntry("lpm_table", action=fy.Action("drop"))])
        with pytest.raises(fy.P4ClientError) as caught:
            await routes.insert([fy.P4DigestEntry("hot_t")])
        assert "role 'routes' may not write digest hot_t" in caught.value.details[0].message
        await root.insert([fy.P4DigestEntry("hot_t")])
        assert root.is_primary
        assert routes.is_primary


async def test_write_of_an_unknown_role_is_not_found(
    running: P4RuntimeServer, names: Names
) -> None:
    open_stream(running.streams, claim("routes"))
    with pytest.raises(aio.AioRpcError, match=r"no role 'roads'.*'routes'") as caught:
        await write(running, "roads", insert(route(names)))
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND


async def test_digests_go_to_the_roles_that_list_them(
    running: P4RuntimeServer, names: Names
) -> None:
    digest = names.schema.digests.named("hot_t").id
    streams = running.streams
    owner = open_stream(streams, claim("hot", stratum.P4RoleConfig(shared_p4_ids=[digest])))
    other = open_stream(streams, claim("cold", stratum.P4RoleConfig(receives_packet_ins=True)))
    root = open_stream(streams, claim())
    await write(running, "", insert(names.digest("hot_t")))
    streams.on_digests([(digest, [b"\1", b"\2"])])
    streams.poll()
    assert [len(session.outbox) for session in (owner, other, root)] == [2, 1, 2]
    streams.on_packets([bytes(5)])
    assert [len(session.outbox) for session in (owner, other, root)] == [2, 2, 3]


def test_two_roles_cannot_have_exclusive_access_to_an_object() -> None:
    arbitration = Arbitration(1)
    config = stratum.P4RoleConfig(exclusive_p4_ids=[5])
    arbitration.update(Controller(), claim("one", config))
    with pytest.raises(RpcError, match="exclusive access to id 5, which role 'one' has") as caught:
        arbitration.update(Controller(), claim("two", config))
    assert caught.value.code is Code.INVALID_ARGUMENT
    arbitration.update(Controller(), claim("one", config, 2))


def test_a_stream_cannot_change_its_device() -> None:
    arbitration, controller = Arbitration(1), Controller()
    arbitration.update(controller, claim())
    with pytest.raises(RpcError, match="cannot become one of device 2") as caught:
        arbitration.update(controller, p4r.MasterArbitrationUpdate(device_id=2))
    assert caught.value.code is Code.FAILED_PRECONDITION


def test_election_id_zero_differs_from_an_unset_id() -> None:
    arbitration, zero, unset = Arbitration(1), Controller(), Controller()
    (notice,) = arbitration.update(unset, claim(election_id=None))
    assert notice.update.status.code == Code.NOT_FOUND.value[0]
    assert not notice.update.HasField("election_id"), "there has not been a primary"
    first, second = arbitration.update(zero, claim(election_id=0))
    assert (first.to, second.to) == (unset, zero)
    assert second.update.status.code == 0
    assert second.update.HasField("election_id")
    arbitration.authorize("", U128.encode(0))
    with pytest.raises(RpcError, match="the request has no election id"):
        arbitration.authorize("", None)


def test_an_update_of_the_primary_is_reported_to_all() -> None:
    arbitration, primary, backup = Arbitration(1), Controller(), Controller()
    arbitration.update(primary, claim("r", election_id=5))
    arbitration.update(backup, claim("r", election_id=4))
    config = stratum.P4RoleConfig(shared_p4_ids=[5])
    notices = arbitration.update(primary, claim("r", config, 5))
    assert [each.to for each in notices] == [backup, primary]
    for notice in notices:
        found = stratum.P4RoleConfig()
        assert notice.update.role.config.Unpack(found)
        assert found == config


async def test_a_past_election_id_does_not_become_primary(running: P4RuntimeServer) -> None:
    async with P4RuntimeClient(running.address, election_id=9):
        pass
    with pytest.raises(ControllerError, match="the highest election id there is 9") as caught:
        await P4RuntimeClient(running.address, election_id=8).connect()
    assert caught.value.code is Code.NOT_FOUND
    async with P4RuntimeClient(running.address, election_id=9) as again:
        await again.get_pipeline()
