"""Updates that the engine reads itself have the effects and errors of all others."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from finsy.proto import p4r

from netkv import _engine
from netkv.control import base
from netkv.p4rt.client import ControllerError, P4RuntimeClient
from netkv.p4rt.entities import Call, MatchValue, Names, delete, insert, modify, multicast_group
from netkv.p4rt.server import P4RuntimeServer
from netkv.p4rt.updates import Encoder, update
from netkv.p4rt.write import Request

TABLE, SET = "MyIngress.exact_table", "MyIngress.set_result"


def key(ip: int) -> dict[str, base.MatchValue]:
    return {"h.probe.ip": ip, "h.probe.tag": 2}


def at(ip: int) -> dict[str, MatchValue]:
    return {"h.probe.ip": ip, "h.probe.tag": 2}


def entry(names: Names, ip: int, result: int = 7, metadata: bytes = b"") -> p4r.Entity:
    return names.table_entry(TABLE, at(ip), Call(SET, {"result": result}), metadata=metadata)


def wrong(names: Names, change: str) -> p4r.Update:
    """An insertion with one fault."""
    wanted = insert(entry(names, 9))
    it = wanted.entity.table_entry
    match change:
        case "table":
            it.table_id += 999
        case "no table":
            it.table_id = 0
        case "field":
            it.match[0].field_id = 5
        case "field twice":
            it.match[1].field_id = it.match[0].field_id
        case "field missing":
            del it.match[0]
        case "empty value":
            it.match[0].exact.value = b""
        case "large value":
            it.match[0].exact.value = b"\1\0\0\0\0"
        case "another kind":
            it.match[0].lpm.prefix_len = 3
        case "priority":
            it.priority = 4
        case "no action":
            it.ClearField("action")
        case "action":
            it.action.action.action_id += 999
        case "default only":
            it.action.action.action_id = names.schema.actions.named("MyIngress.forward").id
        case "param missing":
            del it.action.action.params[:]
        case "param twice":
            it.action.action.params.add(param_id=1, value=b"\1")
        case "param":
            it.action.action.params[0].param_id = 2
        case "empty param":
            it.action.action.params[0].value = b""
        case "large param":
            it.action.action.params[0].value = b"\1\0\0"
        case "timeout":
            it.idle_timeout_ns = 5
        case "constant":
            it.is_const = True
        case "counter":
            it.counter_data.packet_count = -1
        case "const table":
            it.table_id = names.schema.tables.named("MyIngress.const_table").id
            del it.match[1]
        case "type":
            wanted.type = p4r.Update.UNSPECIFIED
        case "entity":
            wanted.ClearField("entity")
    return wanted


FAULTS = [
    *("table", "no table", "type", "entity", "const table", "priority", "timeout", "constant"),
    *("field", "field twice", "field missing", "empty value", "large value", "another kind"),
    *("no action", "action", "default only", "counter"),
    *("param missing", "param twice", "param", "empty param", "large param"),
]


def cases(names: Names) -> Iterator[p4r.Update]:
    """Updates that depend on those before them, with faults in between."""
    yield insert(entry(names, 1))
    yield insert(entry(names, 1))
    yield insert(entry(names, 2, metadata=b"two"))
    yield modify(entry(names, 2, 0xFFFF))
    yield modify(entry(names, 3))
    for fault in FAULTS:
        yield wrong(names, fault)
    yield delete(entry(names, 1))
    yield delete(entry(names, 1))
    yield insert(entry(names, 4))
    unordered = insert(entry(names, 5))
    unordered.entity.table_entry.match.reverse()
    yield unordered
    yield delete(names.table_entry(TABLE, at(2)))


async def outcome(client: P4RuntimeClient, updates: list[p4r.Update]) -> dict[int, tuple[str, str]]:
    try:
        await client.write(updates)
    except ControllerError as error:
        return {at: (each.code.name, each.message) for at, each in error.failed.items()}
    return {}


@pytest.mark.parametrize("pipelines", [1, 4])
async def test_plain_updates_have_the_effects_of_messages(bundle: bytes, pipelines: int) -> None:
    """Each update is sent alone, and together with one that is not plain."""
    found = []
    for companions in ([], [insert(multicast_group(7, [(1, 0)]))]):
        switch = _engine.Switch(bundle, pipelines=pipelines)
        server = P4RuntimeServer(switch)
        await server.start()
        errors = []
        async with P4RuntimeClient(server.address) as client:
            await client.set_pipeline(bundle)
            for each in cases(client.names):
                errors.append((await outcome(client, [each, *companions])).get(0))
            entries = [it async for it in client.read(client.names.table_entries(TABLE))]
        await server.stop()
        found.append((errors, entries))
    assert found[0] == found[1]
    assert sum(error is None for error in found[0][0]) == 7
    assert {it.table_entry.match[0].exact.value for it in found[0][1]} == {b"\4", b"\5"}


async def test_errors_of_a_large_batch_are_those_of_their_updates(client: P4RuntimeClient) -> None:
    updates = [insert(entry(client.names, ip)) for ip in range(1, 601)]
    for at in (0, 199, 200, 555):
        updates[at] = wrong(client.names, "large value")
    failed = await outcome(client, updates)
    assert list(failed) == [0, 199, 200, 555]
    assert {code for code, _ in failed.values()} == {"OUT_OF_RANGE"}
    entries = [it async for it in client.read(client.names.table_entries(TABLE))]
    assert len(entries) == 596


async def test_a_plain_request_is_readable_as_messages(client: P4RuntimeClient) -> None:
    names = client.names
    request = p4r.WriteRequest(
        updates=[insert(entry(names, 1)), insert(entry(names, 2)), insert(entry(names, 1))],
        atomicity=p4r.WriteRequest.ROLLBACK_ON_ERROR,
    )
    read = Request.read(request.SerializeToString())
    assert read.plain is not None
    assert read.updates() == list(request.updates)
    assert read.header.atomicity == p4r.WriteRequest.ROLLBACK_ON_ERROR


def writes() -> Iterator[base.TableWrite]:
    yield base.InsertEntry(1, TABLE, key(1), SET, {"result": 0})
    yield base.InsertEntry(1, "exact_table", key(2**32 - 1), "set_result", {"result": 0xFFFF})
    yield base.InsertEntry(1, TABLE, key(5), "MyIngress.drop", {})
    yield base.ModifyEntry(2, TABLE, key(0), SET, {"result": 256})
    yield base.DeleteEntry(3, TABLE, key(300))
    ternary: dict[str, base.MatchValue] = {"h.probe.port": base.Range(1, 5), "h.probe.tag": 9}
    yield base.InsertEntry(4, "MyIngress.ternary_table", ternary, SET, {"result": 1}, priority=3)
    yield base.SetDefault(5, TABLE, SET, {"result": 3})
    yield base.CloneSession(6, 3, 4)
    yield base.MulticastGroup(7, 2, (1, 2))


def test_a_table_write_is_encoded_as_its_message(names: Names) -> None:
    encoder = Encoder(names)
    for write in writes():
        request = p4r.WriteRequest.FromString(encoder.encode(write))
        assert request == p4r.WriteRequest(updates=[update(names, write)]), write


@pytest.mark.parametrize(
    ("match", "params"),
    [
        ({"h.probe.ip": 2**32, "h.probe.tag": 1}, {"result": 1}),
        (key(-1), {"result": 1}),
        (key(1), {"result": 2**16}),
        ({"h.probe.ipp": 1}, {"result": 1}),
        (key(1), {"results": 1}),
    ],
)
def test_a_wrong_table_write_is_refused_with_a_sentence(
    names: Names, match: dict[str, base.MatchValue], params: dict[str, int]
) -> None:
    write = base.InsertEntry(1, TABLE, match, SET, params)
    with pytest.raises(Exception) as expected:  # noqa: PT011
        update(names, write)
    with pytest.raises(type(expected.value)) as refused:
        Encoder(names).encode(write)
    assert str(refused.value) == str(expected.value)


def test_a_damaged_request_is_left_to_protobuf(names: Names) -> None:
    """Whatever is cut off: the engine reads it exactly if protobuf does, with the same updates."""
    data = p4r.WriteRequest(
        device_id=1, role="r", updates=[insert(entry(names, ip)) for ip in (1, 2)]
    ).SerializeToString()
    for length in range(len(data)):
        cut = data[:length]
        read = _engine.PlainUpdates.read(cut)
        try:
            message = p4r.WriteRequest.FromString(cut)
        except Exception:
            assert read is None
            continue
        assert read is None or [bytes(read[at]) for at in range(len(read))] == [
            each.SerializeToString() for each in message.updates
        ]
