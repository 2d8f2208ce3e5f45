"""Every kind of entity, written and read by finsy, which shares no code with netkv."""

from __future__ import annotations

from typing import Any

import finsy as fy
import pytest
from finsy.p4entity import P4Replica, P4ValueSetMember
from finsy.proto import p4r

from netkv import _engine
from netkv.p4rt.client import ControllerError, P4RuntimeClient
from netkv.p4rt.entities import clone_session, insert, multicast_group
from netkv.p4rt.errors import Code
from tests.p4rt.conftest import probe, result_of


@pytest.fixture(params=[1, 4], ids=["1-pipeline", "4-pipelines"])
def switch(bundle: bytes, request: pytest.FixtureRequest) -> _engine.Switch:
    """A switch with several pipelines has the same interface as one with a single pipeline."""
    return _engine.Switch(bundle, pipelines=request.param)


async def read(controller: fy.Switch, entity: Any) -> list[Any]:
    entities: Any = controller.read(entity)  # its overloads are typed as coroutines
    return [each async for each in entities]


def exact(ip: int, tag: int, result: int, **extra: Any) -> fy.P4TableEntry:
    return fy.P4TableEntry(
        "exact_table",
        match=fy.Match({"ip": ip, "tag": tag}),
        action=fy.Action("set_result", result=result),
        **extra,
    )


def out_of_port_1(switch: _engine.Switch, **fields: int) -> bytes:
    """The probe as it leaves at port 1; an entry of lpm_table must forward it there."""
    ((port, frame),) = switch.process(2, probe(**fields))
    assert port == 1
    return frame


async def test_an_entry_is_inserted_modified_and_deleted(controller: fy.Switch) -> None:
    await controller.write([+exact(1, 2, 30)])
    (found,) = await read(controller, fy.P4TableEntry("exact_table"))
    assert found.match == {"ip": 1, "tag": 2}
    assert found.action.args == {"result": 30}
    await controller.write([~exact(1, 2, 31)])
    (found,) = await read(controller, fy.P4TableEntry("exact_table"))
    assert found.action.args == {"result": 31}
    await controller.write([-exact(1, 2, 31)])
    assert await read(controller, fy.P4TableEntry("exact_table")) == []


async def test_packets_are_processed_by_the_inserted_entries(
    controller: fy.Switch, switch: _engine.Switch
) -> None:
    route = fy.P4TableEntry(
        "lpm_table",
        match=fy.Match({"ip": "10.0.0.0/8"}),
        action=fy.Action("forward", port=1),
    )
    assert switch.process(2, probe(ip=0x0A000001)) == []
    await controller.write([+route, +exact(0x0A000001, 2, 0x1234)])
    assert result_of(out_of_port_1(switch, ip=0x0A000001, tag=2)) == 0x1234


async def test_matches_of_all_kinds_are_read_as_written(controller: fy.Switch) -> None:
    entries = [
        fy.P4TableEntry(
            "ternary_table",
            match=fy.Match({"ip": "0x0A00/&0xFF00", "port": "5...10"}),
            action=fy.Action("set_result", result=1),
            priority=10,
        ),
        fy.P4TableEntry(
            "ternary_table",
            match=fy.Match({"tag": 7}),
            action=fy.Action("NoAction"),
            priority=20,
        ),
        fy.P4TableEntry(
            "lpm_table",
            match=fy.Match({"ip": "10.1.0.0/16"}),
            action=fy.Action("to_group", group=3),
        ),
        fy.P4TableEntry("lpm_table", match=fy.Match(), action=fy.Action("drop")),
    ]
    await controller.write([+each for each in entries])
    found = await read(controller, fy.P4TableEntry())
    as_text = sorted(str((each.table_id, each.match or {}, each.priority)) for each in found)
    assert as_text == [
        "('const_table', {'tag': 193}, 0)",
        "('lpm_table', {'ip': (167837696, 16)}, 0)",
        "('lpm_table', {}, 0)",
        "('ternary_table', {'ip': (2560, 65280), 'port': (5, 10)}, 10)",
        "('ternary_table', {'tag': 7}, 20)",
    ]


async def test_reads_can_ask_for_one_table_or_one_entry(controller: fy.Switch) -> None:
    await controller.write([+exact(ip, 2, ip, metadata=b"mine") for ip in range(1, 11)])
    assert len(await read(controller, fy.P4TableEntry("exact_table"))) == 10
    one = fy.P4TableEntry("exact_table", match=fy.Match({"ip": 4, "tag": 2}))
    (found,) = await read(controller, one)
    assert (found.action.args, found.metadata) == ({"result": 4}, b"mine")


async def test_a_default_action_is_set_read_and_reset(
    controller: fy.Switch, switch: _engine.Switch
) -> None:
    default = fy.P4TableEntry("lpm_table", is_default_action=True)
    (before,) = await read(controller, default)
    assert before.action.name == "drop"
    await controller.write(
        [~fy.P4TableEntry("lpm_table", is_default_action=True, action=fy.Action("forward", port=1))]
    )
    (after,) = await read(controller, default)
    assert (after.action.name, after.action.args) == ("forward", {"port": 1})
    assert out_of_port_1(switch)
    await controller.write([~default])
    assert switch.process(2, probe()) == []


async def test_counters_count_and_can_be_reset(
    controller: fy.Switch, switch: _engine.Switch
) -> None:
    switch.process(2, probe())
    cell = fy.P4CounterEntry("arrivals", index=2)
    (found,) = await read(controller, cell)
    assert (found.packet_count, found.byte_count) == (1, len(probe()))
    await controller.write(
        [~fy.P4CounterEntry("arrivals", index=2, data=fy.P4CounterData(packet_count=0))]
    )
    (found,) = await read(controller, cell)
    assert found.packet_count == 0
    assert len(await read(controller, fy.P4CounterEntry("arrivals"))) == 8


async def test_direct_counters_count_hits_of_their_entry(
    controller: fy.Switch, switch: _engine.Switch
) -> None:
    await controller.write([+exact(1, 2, 3), +exact(4, 5, 6)])
    for _ in range(3):
        switch.process(2, probe(ip=1, tag=2))
    counts = {
        each.table_entry.match["ip"]: each.packet_count
        for each in await read(controller, fy.P4DirectCounterEntry("exact_hits"))
    }
    assert counts == {1: 3, 4: 0}
    with_counters = fy.P4TableEntry("exact_table", counter_data=fy.P4CounterData())
    assert sorted(
        each.counter_data.packet_count for each in await read(controller, with_counters)
    ) == [0, 3]
    await controller.write(
        [
            ~fy.P4DirectCounterEntry(
                "exact_hits",
                table_entry=fy.P4TableEntry("exact_table", match=fy.Match({"ip": 1, "tag": 2})),
                data=fy.P4CounterData(packet_count=100),
            )
        ]
    )
    switch.process(2, probe(ip=1, tag=2))
    assert sorted(
        each.counter_data.packet_count for each in await read(controller, with_counters)
    ) == [0, 101]


async def test_registers_are_written_to_the_program_and_read_from_it(
    controller: fy.Switch, switch: _engine.Switch
) -> None:
    await controller.write(
        [
            ~fy.P4RegisterEntry("results", index=5, data=0xBEEF),
            ~fy.P4TableEntry(
                "lpm_table", is_default_action=True, action=fy.Action("forward", port=1)
            ),
        ]
    )
    assert result_of(out_of_port_1(switch, tag=5)) == 0xBEEF
    cells = await read(controller, fy.P4RegisterEntry("results"))
    assert {each.index: each.data for each in cells if each.data} == {5: 0xBEEF}
    assert len(cells) == 16


async def test_meters_are_configured_and_reset(controller: fy.Switch) -> None:
    config = fy.P4MeterConfig(cir=10, cburst=20, pir=30, pburst=40)
    await controller.write([~fy.P4MeterEntry("rate", index=1, config=config)])
    found = {each.index: each.config for each in await read(controller, fy.P4MeterEntry("rate"))}
    assert found.pop(1) == config
    assert set(found.values()) == {None}
    await controller.write([~fy.P4MeterEntry("rate", index=1)])
    (cell,) = await read(controller, fy.P4MeterEntry("rate", index=1))
    assert cell.config is None


async def test_a_multicast_group_copies_packets(
    controller: fy.Switch, switch: _engine.Switch
) -> None:
    group = fy.P4MulticastGroupEntry(
        multicast_group_id=3, replicas=(P4Replica(1, instance=1), P4Replica(2, instance=1))
    )
    to_group = fy.P4TableEntry(
        "lpm_table", is_default_action=True, action=fy.Action("to_group", group=3)
    )
    await controller.insert([group])
    await controller.write([~to_group])
    assert {port for port, _ in switch.process(2, probe())} == {1, 2}
    assert await read(controller, fy.P4MulticastGroupEntry()) == [group]
    await controller.delete([group])
    assert switch.process(2, probe()) == []
    assert await read(controller, fy.P4MulticastGroupEntry()) == []


async def test_a_clone_session_copies_packets(
    controller: fy.Switch, switch: _engine.Switch
) -> None:
    session = fy.P4CloneSessionEntry(session_id=7, replicas=(P4Replica(2, instance=1),))
    await controller.insert([session])
    assert [port for port, _ in switch.process(1, probe(op=3))] == [2]
    assert await read(controller, fy.P4CloneSessionEntry()) == [session]
    await controller.delete([session])
    assert switch.process(1, probe(op=3)) == []


async def test_action_profiles_with_members_groups_and_one_shots(
    controller: fy.Switch, switch: _engine.Switch
) -> None:
    def member(number: int, port: int) -> fy.P4ActionProfileMember:
        return fy.P4ActionProfileMember(
            "balancer", member_id=number, action=fy.Action("forward", port=port)
        )

    def entry(op: int, action: fy.P4IndirectAction) -> fy.P4TableEntry:
        return fy.P4TableEntry("balanced_table", match=fy.Match({"op": op}), action=action)

    group = fy.P4ActionProfileGroup(
        "balancer",
        group_id=9,
        max_size=4,
        members=[fy.P4Member(1, weight=1), fy.P4Member(2, weight=2)],
    )
    one_shot = fy.P4IndirectAction(
        [(1, fy.Action("forward", port=5)), (1, fy.Action("forward", port=6))]
    )
    await controller.write(
        [
            +member(1, 1),
            +member(2, 2),
            +group,
            +entry(10, fy.P4IndirectAction(member_id=1)),
            +entry(11, fy.P4IndirectAction(group_id=9)),
        ]
    )
    assert [port for port, _ in switch.process(2, probe(op=10))] == [1]
    chosen = {port for ip in range(64) for port, _ in switch.process(3, probe(op=11, ip=ip * 7919))}
    assert chosen == {1, 2}
    assert len(await read(controller, fy.P4ActionProfileMember("balancer"))) == 2
    assert await read(controller, fy.P4ActionProfileGroup("balancer")) == [group]
    found = {
        each.match["op"]: each.action
        for each in await read(controller, fy.P4TableEntry("balanced_table"))
    }
    assert found[10].member_id == 1
    assert found[11].group_id == 9
    await controller.write([~member(1, 3)])
    assert [port for port, _ in switch.process(2, probe(op=10))] == [3]
    entries = [
        entry(10, fy.P4IndirectAction(member_id=1)),
        entry(11, fy.P4IndirectAction(group_id=9)),
    ]
    await controller.delete(entries)
    await controller.write([+entry(12, one_shot)])
    chosen = {port for ip in range(64) for port, _ in switch.process(3, probe(op=12, ip=ip * 7919))}
    assert chosen == {5, 6}
    (found_one,) = await read(controller, fy.P4TableEntry("balanced_table"))
    assert len(found_one.action.action_set) == 2


async def test_a_value_set_changes_how_packets_are_parsed(
    controller: fy.Switch, switch: _engine.Switch
) -> None:
    await controller.write(
        [
            ~fy.P4ValueSetEntry("special_ops", members=[P4ValueSetMember({"": 0x42})]),
            ~fy.P4TableEntry(
                "lpm_table", is_default_action=True, action=fy.Action("forward", port=1)
            ),
        ]
    )
    assert result_of(out_of_port_1(switch, op=0x42)) == 0x5EC1
    assert result_of(out_of_port_1(switch, op=0x43)) == 0


async def test_digest_configurations_are_read_as_written(controller: fy.Switch) -> None:
    config = fy.P4DigestEntry("hot_t", max_list_size=10, max_timeout_ns=5, ack_timeout_ns=1_000_000)
    await controller.insert([config])
    assert await read(controller, fy.P4DigestEntry("hot_t")) == [config]
    await controller.delete([config])
    assert await read(controller, fy.P4DigestEntry("hot_t")) == []


async def test_failed_updates_have_errors_and_others_are_applied(
    controller: fy.Switch,
) -> None:
    await controller.write([+exact(1, 1, 1)])
    with pytest.raises(fy.P4ClientError) as caught:
        await controller.write([+exact(2, 2, 2), +exact(1, 1, 1), -exact(9, 9, 9), +exact(3, 3, 3)])
    details = caught.value.details
    assert {index: error.canonical_code.name for index, error in details.items()} == {
        1: "ALREADY_EXISTS",
        2: "NOT_FOUND",
    }
    assert "exact_table" in details[2].message
    assert len(await read(controller, fy.P4TableEntry("exact_table"))) == 3


def table_update(**entry: Any) -> p4r.Update:
    return p4r.Update(
        type=p4r.Update.INSERT, entity=p4r.Entity(table_entry=p4r.TableEntry(**entry))
    )


def set_result(client: P4RuntimeClient, value: bytes = b"\1") -> p4r.TableAction:
    action = client.names.schema.actions.named("set_result")
    return p4r.TableAction(
        action=p4r.Action(action_id=action.id, params=[p4r.Action.Param(param_id=1, value=value)])
    )


def exact_field(field_id: int, value: bytes) -> p4r.FieldMatch:
    return p4r.FieldMatch(field_id=field_id, exact=p4r.FieldMatch.Exact(value=value))


async def test_error_of_a_wrong_entry_has_the_names_of_p4info(
    client: P4RuntimeClient,
) -> None:
    tables = client.names.schema.tables
    exact_id = tables.named("exact_table").id
    ternary_id = tables.named("ternary_table").id
    lpm_id = tables.named("lpm_table").id
    const_id = tables.named("const_table").id
    ip, tag = exact_field(1, b"\1"), exact_field(2, b"\1")
    action = set_result(client)
    prefix = p4r.FieldMatch.LPM(value=b"\x0a\0\0\1", prefix_len=8)
    cases = [
        (table_update(table_id=77), "NOT_FOUND", "no table with id 77; it has: MyIngress."),
        (
            table_update(table_id=exact_id, match=[ip], action=action),
            "INVALID_ARGUMENT",
            "match field h.probe.tag is missing",
        ),
        (
            table_update(table_id=exact_id, match=[ip, exact_field(2, b"\1\0")], action=action),
            "OUT_OF_RANGE",
            "match field h.probe.tag is 8 bits wide, and 0x100 does not fit",
        ),
        (
            table_update(table_id=exact_id, match=[ip, tag, exact_field(3, b"\1")], action=action),
            "INVALID_ARGUMENT",
            "has no match field 3; it has: 1 (h.probe.ip), 2 (h.probe.tag)",
        ),
        (
            table_update(table_id=exact_id, match=[ip, tag], action=action, priority=5),
            "INVALID_ARGUMENT",
            "must be 0",
        ),
        (
            table_update(table_id=ternary_id, action=action),
            "INVALID_ARGUMENT",
            "needs a priority above 0",
        ),
        (
            table_update(table_id=exact_id, match=[ip, tag], action=set_result(client, b"\1\0\0")),
            "OUT_OF_RANGE",
            "parameter result is 16 bits wide",
        ),
        (
            table_update(
                table_id=lpm_id, match=[p4r.FieldMatch(field_id=1, lpm=prefix)], action=action
            ),
            "INVALID_ARGUMENT",
            "has bits set beyond its /8 prefix",
        ),
        (
            table_update(table_id=lpm_id, action=action),
            "INVALID_ARGUMENT",
            "does not list action MyIngress.set_result; it lists: MyIngress.",
        ),
        (
            table_update(table_id=const_id, match=[exact_field(1, b"\1")], action=action),
            "PERMISSION_DENIED",
            "const entries",
        ),
        (table_update(table_id=exact_id, match=[ip, tag]), "INVALID_ARGUMENT", "has no action"),
        (p4r.Update(type=p4r.Update.INSERT), "INVALID_ARGUMENT", "has no entity"),
    ]
    for update, code, sentence in cases:
        with pytest.raises(Exception, match="1 of 1 updates failed") as caught:
            await client.write([update])
        failed = caught.value.failed[0]  # type: ignore[attr-defined]
        assert (failed.code.name, sentence in failed.message) == (code, True), failed.message


async def test_error_of_a_wrong_object_has_the_valid_values(client: P4RuntimeClient) -> None:
    names = client.names
    schema = names.schema

    def modify(**kind: Any) -> p4r.Update:
        return p4r.Update(type=p4r.Update.MODIFY, entity=p4r.Entity(**kind))

    member = p4r.ValueSetMember(match=[exact_field(1, b"\1")])
    members = p4r.ValueSetEntry(value_set_id=schema.value_sets.named("special_ops").id)
    members.members.extend([member, member])
    too_many = p4r.ValueSetEntry(value_set_id=members.value_set_id, members=[member] * 5)
    negative = p4r.CounterEntry(counter_id=schema.counters.named("arrivals").id)
    negative.data.byte_count = -1
    beyond = p4r.CounterEntry(counter_id=negative.counter_id, index=p4r.Index(index=8))
    below = p4r.CounterEntry(counter_id=negative.counter_id, index=p4r.Index(index=-1))
    cell = p4r.RegisterEntry(register_id=schema.registers.named("results").id)
    counted = p4r.MeterEntry(
        meter_id=schema.meters.named("rate").id, counter_data=p4r.MeterCounterData()
    )
    digest = p4r.DigestEntry(digest_id=schema.digests.named("hot_t").id)
    cases = [
        (modify(value_set_entry=members), "ALREADY_EXISTS", "member 1 of the update equals"),
        (modify(value_set_entry=too_many), "RESOURCE_EXHAUSTED", "holds 4 members"),
        (modify(counter_entry=negative), "INVALID_ARGUMENT", "cannot be negative"),
        (modify(counter_entry=beyond), "OUT_OF_RANGE", "8 cells, 0 to 7; there is no 8"),
        (modify(counter_entry=below), "INVALID_ARGUMENT", "index -1 is negative"),
        (modify(register_entry=cell), "INVALID_ARGUMENT", "holds bit<16>"),
        (modify(meter_entry=counted), "UNIMPLEMENTED", "per colour"),
        (modify(digest_entry=digest), "NOT_FOUND", "INSERT a configuration first"),
        (modify(table_entry=p4r.TableEntry()), "INVALID_ARGUMENT", "id of the table is missing"),
        (modify(extern_entry=p4r.ExternEntry()), "UNIMPLEMENTED", "no externs"),
        (insert(multicast_group(0, [])), "INVALID_ARGUMENT", "1 to 65535"),
        (insert(multicast_group(1, [(512, 0)])), "INVALID_ARGUMENT", "0 to 511, not 512"),
        (insert(multicast_group(1, [(1, 1 << 16)])), "INVALID_ARGUMENT", "0 to 65535"),
        (insert(multicast_group(1, [(1, 0), (1, 0)])), "INVALID_ARGUMENT", "given twice"),
        (insert(clone_session(0, [(1, 0)])), "INVALID_ARGUMENT", "1 or more, not 0"),
    ]
    for update, code, sentence in cases:
        with pytest.raises(ControllerError, match="1 of 1 updates failed") as caught:
            await client.write([update])
        failed = caught.value.failed[0]
        assert (failed.code.name, sentence in failed.message) == (code, True), failed.message
    switch_cells = [each async for each in client.read(p4r.Entity(counter_entry=negative))]
    assert len(switch_cells) == 8
    await client.write([modify(counter_entry=p4r.CounterEntry(counter_id=negative.counter_id))])


async def test_wildcard_reads_reach_every_object_of_a_kind(client: P4RuntimeClient) -> None:
    async def count(**kind: Any) -> int:
        return len([each async for each in client.read(p4r.Entity(**kind))])

    assert await count(table_entry=p4r.TableEntry(is_default_action=True)) == 5
    assert await count(table_entry=p4r.TableEntry()) == 1  # the constant one
    assert await count(counter_entry=p4r.CounterEntry()) == 8
    assert await count(register_entry=p4r.RegisterEntry()) == 16
    assert await count(meter_entry=p4r.MeterEntry()) == 8
    assert await count(value_set_entry=p4r.ValueSetEntry()) == 1
    assert await count(digest_entry=p4r.DigestEntry()) == 0
    with pytest.raises(ControllerError, match="no register with id 5") as caught:
        await count(register_entry=p4r.RegisterEntry(register_id=5))
    assert caught.value.code is Code.NOT_FOUND


async def test_leading_zeros_do_not_make_another_entry(client: P4RuntimeClient) -> None:
    table = client.names.schema.tables.named("exact_table").id
    action = set_result(client)
    first = table_update(
        table_id=table, match=[exact_field(1, b"\0\0\0\1"), exact_field(2, b"\1")], action=action
    )
    again = table_update(
        table_id=table, match=[exact_field(1, b"\1"), exact_field(2, b"\0\0\1")], action=action
    )
    await client.write([first])
    with pytest.raises(Exception, match="1 of 1") as caught:
        await client.write([again])
    assert caught.value.failed[0].code.name == "ALREADY_EXISTS"  # type: ignore[attr-defined]
    (found,) = [each async for each in client.read(client.names.table_entries("exact_table"))]
    assert found.table_entry.match[0].exact.value == b"\1"
