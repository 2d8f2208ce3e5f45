"""Read requests: filters, wildcards, and an error for each that fails (section 13)."""

from __future__ import annotations

from typing import Any

import pytest
from finsy.proto import p4r
from grpc import aio

from netkv.p4rt.client import P4RuntimeClient
from netkv.p4rt.entities import Call, Ternary, insert
from netkv.p4rt.errors import DETAILS_KEY, Code, read_status


async def priorities(client: P4RuntimeClient, **entry: Any) -> list[int]:
    """Priorities of the entries that match a request."""
    wanted = p4r.Entity(table_entry=p4r.TableEntry(**entry))
    return sorted([each.table_entry.priority async for each in client.read(wanted)])


async def test_each_request_of_a_batch_has_its_own_error(client: P4RuntimeClient) -> None:
    names = client.names
    request = p4r.ReadRequest(
        device_id=1,
        entities=[
            names.register("results", 3),
            p4r.Entity(register_entry=p4r.RegisterEntry(register_id=5)),
            names.counter("arrivals"),
            p4r.Entity(),
        ],
    )
    found: list[p4r.Entity] = []

    async def read() -> None:
        async for response in client._stub.Read(request):
            found.extend(response.entities)

    with pytest.raises(aio.AioRpcError, match="2 of 4 requests failed; request 1: ") as caught:
        await read()
    assert len(found) == 1 + 8, "the entities of the other requests"
    assert caught.value.code() is Code.UNKNOWN
    (details,) = [
        value for key, value in caught.value.trailing_metadata() or () if key == DETAILS_KEY
    ]
    assert isinstance(details, bytes)
    failed = {at: error.code for at, error in read_status(details).items()}
    assert failed == {1: Code.NOT_FOUND, 3: Code.INVALID_ARGUMENT}


async def test_entries_are_filtered_by_the_fields_of_the_request(client: P4RuntimeClient) -> None:
    names = client.names

    def entry(priority: int, mask: int, action: Call) -> p4r.Entity:
        key = {"h.probe.ip": Ternary(0, mask)}
        found = names.table_entry(
            "ternary_table", key, action, priority=priority, metadata=bytes([priority])
        )
        found.table_entry.controller_metadata = priority % 2
        return found

    result = Call("set_result", {"result": 1})
    entries = [entry(1, 1, result), entry(2, 1, Call("NoAction", {})), entry(3, 2, result)]
    await client.write([insert(each) for each in entries])
    table = entries[0].table_entry.table_id
    assert await priorities(client, table_id=table) == [1, 2, 3]
    assert await priorities(client, table_id=table, priority=2) == [2]
    assert await priorities(client, table_id=table, metadata=b"\3") == [3]
    assert await priorities(client, table_id=table, controller_metadata=1) == [1, 3]
    match = entries[0].table_entry.match
    assert await priorities(client, table_id=table, match=match) == [1, 2]
    assert await priorities(client, table_id=table, match=match, priority=2) == [2]
    assert await priorities(client, table_id=table, match=match, priority=3) == []
    # The parameters of an action are not compared.
    other = names.call(Call("set_result", {"result": 99}))
    assert await priorities(client, table_id=table, action=p4r.TableAction(action=other)) == [1, 3]


async def test_wildcard_reads_of_empty_kinds_are_empty(client: P4RuntimeClient) -> None:
    kinds = [
        p4r.Entity(extern_entry=p4r.ExternEntry()),
        p4r.Entity(direct_counter_entry=p4r.DirectCounterEntry()),
        p4r.Entity(direct_meter_entry=p4r.DirectMeterEntry()),
        p4r.Entity(action_profile_member=p4r.ActionProfileMember()),
        p4r.Entity(action_profile_group=p4r.ActionProfileGroup()),
    ]
    assert [each async for each in client.read(*kinds)] == []
