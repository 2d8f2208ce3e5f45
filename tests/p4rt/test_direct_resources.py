"""Direct counters and meters, const tables and default entries (sections 9.1, 9.3, 9.4)."""

from __future__ import annotations

from typing import Any

import finsy as fy
import pytest
from finsy.proto import p4r

from netkv import _engine
from netkv.p4rt.client import ControllerError, P4RuntimeClient
from netkv.p4rt.entities import Call, delete, insert, modify
from netkv.p4rt.errors import Code
from netkv.p4rt.server import P4RuntimeServer
from tests.p4rt.conftest import probe, result_of
from tests.p4rt.direct_program import (
    FIXED,
    FLOWS,
    direct,
    direct_bundle,
    direct_server,
    direct_switch,
    flow,
    read,
    refusal,
)

__all__ = ["direct", "direct_bundle", "direct_server", "direct_switch"]

ONE_OF_EACH = p4r.MeterConfig(cir=0, cburst=1, pir=0, pburst=2)
"""Buckets that are never refilled: one packet is green, one yellow, and all others are red."""


def colours(switch: _engine.Switch, ip: int, packets: int) -> list[int]:
    """Colours of packets of a flow, all through one pipeline."""
    frames = [switch.process(1, probe(ip=ip)) for _ in range(packets)]
    return [frame[21] for ((_, frame),) in frames]


async def test_an_entry_is_inserted_with_meter_and_counter(
    direct: P4RuntimeClient, direct_switch: _engine.Switch
) -> None:
    counts = p4r.CounterData(packet_count=100, byte_count=5)
    entry = flow(direct.names, 1, meter_config=ONE_OF_EACH, counter_data=counts)
    await direct.write([insert(entry), insert(flow(direct.names, 2))])
    wanted = p4r.TableEntry(table_id=entry.table_entry.table_id)
    wanted.meter_config.SetInParent()
    wanted.counter_data.SetInParent()
    found = {
        each.table_entry.match[0].exact.value: each.table_entry
        for each in await read(direct, table_entry=wanted)
    }
    assert found[b"\1"] == entry.table_entry
    assert not found[b"\2"].HasField("meter_config")
    assert found[b"\2"].counter_data == p4r.CounterData()
    assert colours(direct_switch, 1, 4) == [0, 1, 2, 2]
    assert colours(direct_switch, 2, 4) == [0, 0, 0, 0]
    (plain,) = await read(direct, table_entry=flow(direct.names, 1).table_entry)
    assert not plain.table_entry.HasField("meter_config")
    assert not plain.table_entry.HasField("counter_data")


async def test_modify_resets_the_meter_and_keeps_the_counter(
    direct: P4RuntimeClient, direct_switch: _engine.Switch
) -> None:
    await direct.write([insert(flow(direct.names, 1, meter_config=ONE_OF_EACH))])
    assert colours(direct_switch, 1, 3) == [0, 1, 2]
    await direct.write([modify(flow(direct.names, 1, None, metadata=b"new"))])
    ((_, frame),) = direct_switch.process(1, probe(ip=1))
    assert result_of(frame) == 7, "a MODIFY without an action keeps it"
    assert frame[21] == 0, "a MODIFY without a meter_config removes it"
    wanted = flow(direct.names, 1).table_entry
    wanted.counter_data.SetInParent()
    wanted.meter_config.SetInParent()
    (found,) = await read(direct, table_entry=wanted)
    assert found.table_entry.counter_data.packet_count == 4
    assert found.table_entry.metadata == b"new"
    assert not found.table_entry.HasField("meter_config")
    missing = await refusal(direct, modify(flow(direct.names, 9, None)))
    assert missing == ("NOT_FOUND", f"table {FLOWS} has no such entry")


async def test_direct_meters_are_written_and_read_without_entries(
    direct: P4RuntimeClient, direct_switch: _engine.Switch
) -> None:
    await direct.write([insert(flow(direct.names, ip)) for ip in (1, 2)])
    key = flow(direct.names, 1, None).table_entry
    meter = p4r.DirectMeterEntry(table_entry=key, config=ONE_OF_EACH)
    await direct.write([modify(p4r.Entity(direct_meter_entry=meter))])
    assert colours(direct_switch, 1, 3) == [0, 1, 2]
    (found,) = await read(direct, direct_meter_entry=p4r.DirectMeterEntry(table_entry=key))
    assert found.direct_meter_entry == meter
    both = await read(direct, direct_meter_entry=p4r.DirectMeterEntry())
    assert [each.direct_meter_entry.HasField("config") for each in both] == [True, False]
    reset = p4r.DirectMeterEntry(table_entry=key)
    await direct.write([modify(p4r.Entity(direct_meter_entry=reset))])
    assert colours(direct_switch, 1, 3) == [0, 0, 0]
    for update, code, sentence in [
        (insert(p4r.Entity(direct_meter_entry=meter)), "INVALID_ARGUMENT", "use MODIFY"),
        (
            modify(
                p4r.Entity(
                    direct_meter_entry=p4r.DirectMeterEntry(
                        table_entry=flow(direct.names, 9, None).table_entry
                    )
                )
            ),
            "NOT_FOUND",
            "no such entry",
        ),
    ]:
        found_code, text = await refusal(direct, update)
        assert (found_code, sentence in text) == (code, True), text


async def test_finsy_reads_and_writes_direct_resources(
    direct_server: P4RuntimeServer, direct_switch: _engine.Switch
) -> None:
    limit = fy.P4MeterConfig(cir=0, cburst=1, pir=0, pburst=2)
    entry = fy.P4TableEntry(
        "flows",
        match=fy.Match({"ip": 1}),
        action=fy.Action("mark", result=7),
        meter_config=limit,
        counter_data=fy.P4CounterData(packet_count=5),
    )
    async with fy.Switch("sw", direct_server.address) as switch:
        await switch.insert([entry])
        assert colours(direct_switch, 1, 3) == [0, 1, 2]
        entities: Any = switch.read(fy.P4DirectMeterEntry(table_entry=fy.P4TableEntry("flows")))
        (meter,) = [each async for each in entities]
        assert meter.config == limit
        entities = switch.read(fy.P4DirectCounterEntry("flow_hits"))
        (counter,) = [each async for each in entities]
        assert counter.packet_count == 8
        await switch.modify([fy.P4DirectMeterEntry(table_entry=entry)])
        assert colours(direct_switch, 1, 3) == [0, 0, 0]


async def test_direct_counters_of_missing_entries_are_not_found(direct: P4RuntimeClient) -> None:
    await direct.write([insert(flow(direct.names, 1))])
    for kind, message in [
        ("direct_counter_entry", p4r.DirectCounterEntry),
        ("direct_meter_entry", p4r.DirectMeterEntry),
    ]:
        absent = message(table_entry=flow(direct.names, 9, None).table_entry)
        with pytest.raises(ControllerError, match="has no such entry") as caught:
            await read(direct, **{kind: absent})
        assert caught.value.code is Code.NOT_FOUND


async def test_a_counter_without_data_is_left_as_it_is(
    direct: P4RuntimeClient, direct_switch: _engine.Switch
) -> None:
    await direct.write([insert(flow(direct.names, 1))])
    direct_switch.process(1, probe(ip=1))
    counter = p4r.DirectCounterEntry(table_entry=flow(direct.names, 1, None).table_entry)
    await direct.write([modify(p4r.Entity(direct_counter_entry=counter))])
    (found,) = await read(direct, direct_counter_entry=counter)
    assert found.direct_counter_entry.data.packet_count == 1
    counter.data.packet_count = -1
    code, text = await refusal(direct, modify(p4r.Entity(direct_counter_entry=counter)))
    assert (code, "cannot be negative" in text) == ("INVALID_ARGUMENT", True)


async def test_meter_configurations_are_checked(direct: P4RuntimeClient) -> None:
    for config, sentence in [
        (p4r.MeterConfig(cir=-1), "cannot be negative"),
        (p4r.MeterConfig(eburst=1), "two-rate three-colour meter and has no eburst"),
    ]:
        code, text = await refusal(direct, insert(flow(direct.names, 1, meter_config=config)))
        assert (code, sentence in text) == ("INVALID_ARGUMENT", True), text
    colour_counts = flow(direct.names, 1, meter_counter_data=p4r.MeterCounterData())
    assert (await refusal(direct, insert(colour_counts)))[0] == "UNIMPLEMENTED"


async def test_only_counters_of_a_const_table_can_be_modified(
    direct: P4RuntimeClient, direct_switch: _engine.Switch
) -> None:
    key = {"h.probe.op": 0xC1}
    entry = direct.names.table_entry(FIXED, key)
    entry.table_entry.counter_data.packet_count = 41
    await direct.write([modify(entry)])
    direct_switch.process(1, probe(op=0xC1))
    (found,) = await read(direct, table_entry=entry.table_entry)
    assert found.table_entry.counter_data.packet_count == 42
    assert found.table_entry.is_const
    same = direct.names.table_entry(FIXED, key, Call("note", {"result": 0xC001}))
    for update in (modify(same), insert(same), delete(same)):
        code, text = await refusal(direct, update)
        assert (code, "const entries" in text) == ("PERMISSION_DENIED", True), text
    await direct.write([modify(direct.names.default_entry(FIXED, Call("note", {"result": 5})))])


async def test_controllers_cannot_set_is_const(direct: P4RuntimeClient) -> None:
    entry = flow(direct.names, 1, is_const=True)
    code, text = await refusal(direct, insert(entry))
    assert (code, "is_const" in text) == ("INVALID_ARGUMENT", True)


async def test_metadata_of_a_default_entry_is_kept_until_reset(direct: P4RuntimeClient) -> None:
    entry = direct.names.default_entry(FLOWS, Call("mark", {"result": 3}))
    entry.table_entry.metadata = b"mine"
    entry.table_entry.controller_metadata = 9
    await direct.write([modify(entry)])
    wanted = p4r.TableEntry(table_id=entry.table_entry.table_id, is_default_action=True)
    (found,) = await read(direct, table_entry=wanted)
    assert found.table_entry == entry.table_entry
    await direct.write([modify(direct.names.default_entry(FLOWS))])
    (found,) = await read(direct, table_entry=wanted)
    assert (found.table_entry.metadata, found.table_entry.controller_metadata) == (b"", 0)
    for update, code in [
        (insert(entry), "INVALID_ARGUMENT"),
        (delete(entry), "INVALID_ARGUMENT"),
        (modify(flow(direct.names, 1, is_default_action=True)), "INVALID_ARGUMENT"),
        (
            modify(
                p4r.Entity(
                    table_entry=p4r.TableEntry(
                        table_id=wanted.table_id, is_default_action=True, idle_timeout_ns=5
                    )
                )
            ),
            "INVALID_ARGUMENT",
        ),
    ]:
        assert (await refusal(direct, update))[0] == code
