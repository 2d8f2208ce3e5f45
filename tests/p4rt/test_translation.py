"""Keys, parameters and metadata whose ids and values in P4Info differ from the program's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import finsy
import pytest
from finsy.proto import p4r

from netkv import _engine
from netkv.p4rt import packets, write
from netkv.p4rt.client import ControllerError, P4RuntimeClient
from netkv.p4rt.errors import RpcError
from netkv.p4rt.program_form import Strings
from netkv.p4rt.server import P4RuntimeServer

SOURCE = """
#include <core.p4>
#include <v1model.p4>

@p4runtime_translation("example/port", bit<32>)
type bit<9> port_t;
@p4runtime_translation("example/name", string)
type bit<16> name_t;

@controller_header("packet_out")
header out_t { @id(7) port_t port; @id(3) name_t name; @hidden bit<7> rest; }
@controller_header("packet_in")
header in_t { @id(7) port_t port; @id(3) name_t name; @hidden bit<7> rest; }
header main_t { name_t name; bit<8> kind; bit<8> answer; }
struct headers_t { out_t o; main_t m; }
struct meta_t { }

parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
    state start { p.extract(h.m); transition accept; }
}
control V(inout headers_t h, inout meta_t m) { apply { } }
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    register<port_t>(2) ports;
    action send(@id(8) port_t port, bit<8> answer, @id(1) name_t name) {
        s.egress_spec = (bit<9>) port;
        h.m.answer = answer;
        h.m.name = name;
    }
    action drop() { mark_to_drop(s); }
    table t {
        key = { h.m.name : exact @id(9); h.m.kind : ternary; }
        actions = { send; drop; }
        default_action = drop;
    }
    apply { t.apply(); ports.write(0, (port_t) s.ingress_port); }
}
control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in headers_t h) { apply { p.emit(h.m); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
"""
NAME, KIND, PORT, ANSWER, NEW_NAME = 9, 2, 8, 2, 1


@pytest.fixture(scope="module")
def bundle() -> bytes:
    return _engine.compile_source("translated.p4", SOURCE)


@pytest.fixture
def switch(bundle: bytes) -> _engine.Switch:
    return _engine.Switch(bundle)


@pytest.fixture
async def server(switch: _engine.Switch, bundle: bytes) -> AsyncIterator[P4RuntimeServer]:
    server = P4RuntimeServer(switch, bundle=bundle)
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
async def client(server: P4RuntimeServer) -> AsyncIterator[P4RuntimeClient]:
    async with P4RuntimeClient(server.address) as client:
        await client.get_pipeline()
        yield client


def entry(
    client: P4RuntimeClient, name: bytes, port: bytes = b"\x01", new_name: bytes = b"1"
) -> p4r.Entity:
    """An entry that answers 5 and sends to `port`, for kind 4."""
    schema = client.names.schema
    ternary = p4r.FieldMatch.Ternary(value=b"\x04", mask=b"\x0f")
    return p4r.Entity(
        table_entry=p4r.TableEntry(
            table_id=schema.tables.named("t").id,
            priority=1,
            match=[
                p4r.FieldMatch(field_id=NAME, exact=p4r.FieldMatch.Exact(value=name)),
                p4r.FieldMatch(field_id=KIND, ternary=ternary),
            ],
            action=p4r.TableAction(
                action=p4r.Action(
                    action_id=schema.actions.named("send").id,
                    params=[
                        p4r.Action.Param(param_id=PORT, value=port),
                        p4r.Action.Param(param_id=ANSWER, value=b"\x05"),
                        p4r.Action.Param(param_id=NEW_NAME, value=new_name),
                    ],
                )
            ),
        )
    )


async def insert(client: P4RuntimeClient, entity: p4r.Entity) -> str:
    """Insert an entity; returns the reason of a refusal, or ""."""
    try:
        await client.write([p4r.Update(type=p4r.Update.INSERT, entity=entity)])
    except ControllerError as refused:
        return str(refused)
    return ""


async def entries(client: P4RuntimeClient) -> list[p4r.Entity]:
    return [each async for each in client.read(client.names.table_entries("t"))]


async def test_an_entry_has_the_ids_and_widths_of_p4info(
    client: P4RuntimeClient, switch: _engine.Switch
) -> None:
    schema = client.names.schema
    keys = [(key.id, key.width) for key in schema.tables.named("t").keys]
    assert keys == [(NAME, 0), (KIND, 8)]
    written = entry(client, b"258", port=b"\x03", new_name=b"772")
    assert await insert(client, written) == ""
    assert switch.process(1, b"\x01\x02\x14\x00") == [(3, b"\x03\x04\x14\x05")]
    assert await entries(client) == [written]


async def test_strings_have_numbers_of_their_own(
    client: P4RuntimeClient, switch: _engine.Switch
) -> None:
    written = entry(client, b"3", new_name=b"uplink")
    assert await insert(client, written) == ""
    [(_, frame)] = switch.process(1, b"\0\x03\x04\0")
    # "uplink" is the key of another entry, which the answer of the first one matches.
    other = entry(client, b"uplink", port=b"\x02", new_name=b"3")
    assert await insert(client, other) == ""
    assert switch.process(1, frame) == [(2, b"\0\x03\x04\x05")]
    read = await entries(client)
    assert sorted(each.SerializeToString() for each in read) == sorted(
        each.SerializeToString() for each in (written, other)
    )


async def test_wrong_ids_and_values_are_refused(client: P4RuntimeClient) -> None:
    wide = entry(client, b"1", port=b"\x02\0")
    assert "parameter port is 9 bits wide" in await insert(client, wide)
    assert "65536 does not fit" in await insert(client, entry(client, b"65536"))
    assert "no value" in await insert(client, entry(client, b""))
    unknown = entry(client, b"1")
    unknown.table_entry.match[0].field_id = 1
    refusal = await insert(client, unknown)
    assert "no match field 1; it has: 9 (h.m.name), 2 (h.m.kind)" in refusal
    ternary = entry(client, b"1")
    ternary.table_entry.match[0].ternary.value = b"1"
    assert "is a string: its match is exact or optional" in await insert(client, ternary)
    assert await entries(client) == []


async def test_a_failed_batch_undoes_translated_entries(
    client: P4RuntimeClient, server: P4RuntimeServer
) -> None:
    kept = entry(client, b"leaf")
    assert await insert(client, kept) == ""
    updates = [
        p4r.Update(type=p4r.Update.DELETE, entity=kept),
        p4r.Update(type=p4r.Update.INSERT, entity=entry(client, b"1", port=b"\x02\0")),
    ]
    undone, failed = write.all_or_none(server.pipelines.current, updates)
    assert undone is not None
    assert "was undone" in undone.message
    assert failed is not None
    assert "parameter port is 9 bits wide" in failed.message
    assert await entries(client) == [kept]


async def test_a_register_of_a_new_type_has_its_width(
    client: P4RuntimeClient, switch: _engine.Switch
) -> None:
    switch.process(5, b"\0\x03\x04\0")
    [cell] = [each async for each in client.read(client.names.register("ports", 0))]
    assert cell.register_entry.data.bitstring == b"\x05"
    update = p4r.Update(type=p4r.Update.MODIFY, entity=client.names.register("ports", 1, value=300))
    await client.write([update])
    [cell] = [each async for each in client.read(client.names.register("ports", 1))]
    assert int.from_bytes(cell.register_entry.data.bitstring, "big") == 300


def test_packet_metadata_is_translated(server: P4RuntimeServer) -> None:
    pipeline = server.pipelines.require_committed()
    out = p4r.PacketOut(
        payload=b"x",
        metadata=[
            p4r.PacketMetadata(metadata_id=7, value=b"\x03"),
            p4r.PacketMetadata(metadata_id=3, value=b"spine"),
        ],
    )
    frame = packets.packet_out(pipeline.schema, pipeline.form.packet_out(out))
    assert len(frame) == 5
    found = packets.packet_in(pipeline.schema, frame)
    assert found is not None
    assert list(pipeline.form.packet_in(found).metadata) == list(out.metadata)


async def test_finsy_writes_translated_entries(
    server: P4RuntimeServer, switch: _engine.Switch
) -> None:
    async with finsy.Switch("sw", server.address, finsy.SwitchOptions()) as controller:
        written = finsy.P4TableEntry(
            "t",
            match=finsy.P4TableMatch({"h.m.name": "7", "h.m.kind": "4/&15"}),
            action=finsy.P4TableAction("send", port=6, answer=5, name="8"),
            priority=1,
        )
        await controller.write([+written])
        assert switch.process(1, b"\0\x07\x04\0") == [(6, b"\0\x08\x04\x05")]
        # finsy types its overloads as coroutines.
        found: Any = controller.read(finsy.P4TableEntry("t"))
        [read] = [each async for each in found]
        assert read.match == {"name": "7", "kind": (4, 15)}
        assert read.action == written.action


def test_a_number_with_a_string_is_not_taken_twice() -> None:
    strings = Strings(width=1)
    assert strings.number(b"a", "key") == b"\x01"
    with pytest.raises(RpcError, match="1 is the number of the string 'a' already"):
        strings.number(b"1", "key")
    assert strings.number(b"0", "key") == b"\0"
    with pytest.raises(RpcError, match="every number"):
        strings.number(b"b", "key")
