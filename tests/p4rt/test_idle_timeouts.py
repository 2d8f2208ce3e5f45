"""Idle entries: notifications, and the time since the last hit (section 9.1.8)."""

from __future__ import annotations

import asyncio

import finsy as fy
from finsy.p4entity import P4IdleTimeoutNotification
from finsy.proto import p4r

from netkv import _engine
from netkv.p4rt import p4info
from netkv.p4rt.client import P4RuntimeClient
from netkv.p4rt.entities import Names, delete, insert, modify
from netkv.p4rt.server import P4RuntimeServer
from netkv.p4rt.stream import REPORTS_LIMIT
from netkv.rack.sampling import GroupRises
from tests.p4rt.conftest import probe
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
from tests.waiting import PATIENCE_S, until_async

__all__ = ["direct", "direct_bundle", "direct_server", "direct_switch"]

SHORT_NS = 1_000_000
"""Much shorter than the limit of a test."""

LONG_NS = 3_600_000_000_000


async def notifications(switch: fy.Switch, count: int) -> list[P4IdleTimeoutNotification]:
    found: list[P4IdleTimeoutNotification] = []
    async with asyncio.timeout(PATIENCE_S):
        async for each in switch.read_idle_timeouts():
            found.append(each)
            if len(found) == count:
                break
    return found


async def test_idle_notifications_that_are_dropped_have_a_counter(
    direct_switch: _engine.Switch, direct_bundle: bytes
) -> None:
    """They are no reports of hot records."""
    server = P4RuntimeServer(direct_switch, bundle=direct_bundle)
    session = server.streams.open()
    update = p4r.MasterArbitrationUpdate(device_id=1, election_id=p4r.Uint128(low=1))
    server.streams.on_request(session, p4r.StreamMessageRequest(arbitration=update))
    while len(session.outbox) < REPORTS_LIMIT:
        session.outbox.put(p4r.StreamMessageResponse())
    table = Names(p4info.from_bundle(direct_bundle)).schema.tables.named(FLOWS)
    mark = next(iter(table.actions))
    direct_switch.insert_entry(
        table.id, [(1, "exact", b"\1")], ("action", mark, [b"\1"]), idle_timeout_ns=SHORT_NS
    )

    def dropped() -> bool:
        server.streams.poll_idle_entries()
        return server.statistics().get("outbox_idle_drops") == 1

    await until_async(dropped, "the notification is dropped")
    assert "outbox_report_drops" not in server.statistics()
    rises = GroupRises().take({"switch": server.statistics()})
    assert (rises["control"], rises["reports"]) == (1, None)


async def test_an_idle_entry_is_reported_once_in_each_timeout(
    direct_server: P4RuntimeServer,
) -> None:
    """Of three entries, only the one with a short timeout is reported, repeatedly."""
    async with fy.Switch("sw", direct_server.address) as switch:
        listening = asyncio.create_task(notifications(switch, 3))
        await asyncio.sleep(0)  # the task waits for notifications
        await switch.insert(
            [
                fy.P4TableEntry(
                    "flows",
                    match=fy.Match({"ip": ip}),
                    action=fy.Action("mark", result=ip),
                    idle_timeout_ns=timeout,
                    metadata=b"mine",
                )
                for ip, timeout in [(1, SHORT_NS), (2, LONG_NS), (3, 0)]
            ]
        )
        for message in await listening:
            (entry,) = message
            assert entry.match == {"ip": 1}
            assert (entry.idle_timeout_ns, entry.metadata) == (SHORT_NS, b"mine")


async def test_a_hit_resets_the_idle_time_of_its_entry(
    direct: P4RuntimeClient, direct_switch: _engine.Switch
) -> None:
    await direct.write([insert(flow(direct.names, ip)) for ip in (1, 2)])
    direct_switch.process(1, probe(ip=1))
    wanted = p4r.TableEntry(table_id=flow(direct.names, 1).table_entry.table_id)
    wanted.time_since_last_hit.SetInParent()
    hit, other = sorted(
        (each.table_entry for each in await read(direct, table_entry=wanted)),
        key=lambda entry: entry.match[0].exact.value,
    )
    assert 0 <= hit.time_since_last_hit.elapsed_ns < other.time_since_last_hit.elapsed_ns
    (plain,) = await read(direct, table_entry=flow(direct.names, 1).table_entry)
    assert not plain.table_entry.HasField("time_since_last_hit")


async def test_idle_timeouts_are_read_back_and_modified(direct: P4RuntimeClient) -> None:
    await direct.write([insert(flow(direct.names, 1, idle_timeout_ns=LONG_NS))])
    (found,) = await read(direct, table_entry=flow(direct.names, 1).table_entry)
    assert found.table_entry.idle_timeout_ns == LONG_NS
    await direct.write([modify(flow(direct.names, 1, None, idle_timeout_ns=LONG_NS + 1))])
    (found,) = await read(direct, table_entry=flow(direct.names, 1).table_entry)
    assert found.table_entry.idle_timeout_ns == LONG_NS + 1
    await direct.write([delete(flow(direct.names, 1, None, idle_timeout_ns=-5))])


async def test_idle_timeouts_that_cannot_be_set_are_refused(direct: P4RuntimeClient) -> None:
    since = p4r.TableEntry.IdleTimeout(elapsed_ns=1)
    fixed = direct.names.table_entry(FIXED, {"h.probe.op": 0xC1})
    fixed.table_entry.idle_timeout_ns = 5
    for update, sentence in [
        (modify(fixed), "does not have support_timeout"),
        (insert(flow(direct.names, 1, idle_timeout_ns=-1)), "expected 0 or more"),
        (insert(flow(direct.names, 1, time_since_last_hit=since)), "only the switch sets"),
    ]:
        code, text = await refusal(direct, update)
        assert (code, sentence in text) == ("INVALID_ARGUMENT", True), text
