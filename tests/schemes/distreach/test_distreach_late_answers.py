"""Recoveries of chains ignore answers to what an earlier recovery or controller has asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from netkv.control.base import MILLISECOND, PacketIn
from netkv.model.messages import Op, Status, encode
from netkv.model.topology import CONTROLLER_IP, SERVICE_IP
from netkv.schemes.distreach.recovery import Recovery, Step
from tests.schemes.distreach.distreach_rack import Rack, System
from tests.schemes.distreach.distreach_traps import (
    KEY,
    KEYS,
    admit,
    between,
    cached_rack,
    make_rack,
    read,
    ready_rack,
)
from tests.schemes.distreach.test_distreach_recovery import recovered
from tests.schemes.distreach.test_distreach_recovery_traps import LARGE
from tests.schemes.scripted_rack import Hop

OTHER = KEYS[1]

of_another = pytest.mark.parametrize(
    ("number", "generation"), [(-1, 0), (0, -1)], ids=["recovery", "generation"]
)
"""What an answer differs in from the expected one."""


def recovery_of(rack: Rack) -> Recovery:
    """The recovery of the chain of KEY."""
    return rack.control._chains[rack.chain(KEY)[-1].name].recovery


def recovers_twice(rack: Rack, op: Op) -> list[Hop]:
    """Two switches are lost, one after another, and the recovery waits for answers to `op` both
    times; returns the messages, which are held."""
    head, middle, _ = rack.chain(KEY)
    caught = rack.catch(lambda hop: hop.op is op)
    rack.crash_switch(head)
    rack.run(10 * MILLISECOND)
    assert caught
    rack.crash_switch(middle)
    rack.run(10 * MILLISECOND)
    return caught


def answer(rack: Rack, hop: Hop, op: Op, status: Status, number: int, generation: int) -> None:
    """The controller gets an answer to a message of the recovery that differs by so much."""
    message = hop.datagram.message
    assert message.stamp is not None
    assert message.slot is not None
    reply = replace(
        message,
        op=op,
        status=status,
        stamp=replace(message.stamp, generation=message.stamp.generation + generation),
        slot=replace(message.slot, number=message.slot.number + number),
        length=0,
        value=b"",
    )
    rack.handle(PacketIn(hop.port, encode(reply, SERVICE_IP, CONTROLLER_IP), hop.to))


def held(rack: Rack, which: Callable[[Hop], bool], value: bytes) -> list[Hop]:
    """Client 1 writes the value, and sends it once; the frames that are held."""
    caught = rack.catch(which)
    rack.processes[1].begin(Op.PUT, KEY, value)
    rack.run(MILLISECOND)
    rack.catches = lambda _: False
    rack.lost = lambda hop: hop.source == "client-1"
    return list(caught)


@of_another
def test_late_answer_to_load_does_not_replace_a_record(number: int, generation: int) -> None:
    """The record would be taken for one that the switch does not have, and be lost."""
    rack = cached_rack(System, layers=3)
    load = recovers_twice(rack, Op.LOAD)[-1]
    answer(rack, load, Op.LOAD_REPLY, Status.STALE, number, generation)
    assert recovery_of(rack).step is Step.LOAD
    rack.release(load)
    rack.recover()
    assert read(rack) == b"cached"


@of_another
def test_late_answer_to_fill_does_not_open_the_chain(number: int, generation: int) -> None:
    """A switch would serve without the record."""
    rack = cached_rack(System)
    caught = rack.catch(lambda hop: hop.op is Op.FILL)
    rack.crash_switch(rack.chain(KEY)[0])
    rack.run(10 * MILLISECOND)
    fills = {hop.to: hop for hop in caught}
    assert len(fills) == 2
    for fill in fills.values():
        answer(rack, fill, Op.FILL_REPLY, Status.OK, number, generation)
    assert recovery_of(rack).step is Step.ADMIT
    rack.release(*fills.values())
    rack.recover()
    assert read(rack) == b"cached"


def test_late_answer_to_restore_stands_for_no_other_record() -> None:
    """The answers of two recoveries about one record do not show that a second one is stored."""
    rack = make_rack(System, layers=3).start(preload=(KEY, OTHER))
    for key in (KEY, OTHER):
        rack.put(1, key, b"before")
        assert rack.put(1, key, b"cached").cache_hit
    restores = recovers_twice(rack, Op.RESTORE)
    rack.lost = lambda hop: hop.op is Op.RESTORE and hop.datagram.message.key == OTHER
    rack.release(*(hop for hop in restores if hop.datagram.message.key == KEY))
    rack.run(10 * MILLISECOND)
    assert recovery_of(rack).step is Step.UPDATE
    rack.lost = lambda _: False
    rack.recover()
    assert read(rack, key=OTHER) == b"cached"


def test_record_that_was_never_written_is_not_restored() -> None:
    """The server has it, and its sequence is older than all."""
    rack = make_rack(System).start(preload=(KEY,))
    assert read(rack) == b"first"
    rack.lost = lambda hop: hop.op is Op.RESTORE
    rack.crash_switch(rack.chain(KEY)[0])
    rack.recover()
    (end,) = recovered(rack)
    assert end.counts["records"] == 1
    assert end.counts["restored"] == 0
    assert read(rack) == b"first"


def test_outdated_record_is_not_the_latest_after_a_recovery() -> None:
    """The later write gets to the server when that has answered RESTORE, and before FILL."""
    rack = cached_rack(System)
    head, tail = rack.chain(KEY)
    server = f"server-{rack.topology.owner(KEY).index}"
    (late,) = held(rack, between(tail, server, Op.PUT), LARGE)
    fills = rack.catch(lambda hop: hop.op is Op.FILL)
    rack.crash_switch(head)
    rack.run(10 * MILLISECOND)
    assert recovery_of(rack).step is Step.ADMIT
    rack.deliver(late)
    rack.run(10 * MILLISECOND)
    rack.release(*fills)
    rack.recover()
    assert read(rack) == LARGE


@pytest.mark.parametrize("cached", ["before-the-loss", "after-the-loss"])
def test_read_reply_behind_a_late_write_makes_no_record_the_latest(cached: str) -> None:
    """The write has passed the chain before it lost a switch. The server answers a read first, and
    the reply to the write overtakes that to the read."""
    rack = ready_rack(System)
    head, tail = rack.chain(KEY)
    server = f"server-{rack.topology.owner(KEY).index}"
    rack.put(2, KEY, b"before")
    (late,) = held(rack, between(tail, server, Op.PUT), b"late")
    if cached == "before-the-loss":
        admit(rack)
    rack.crash_switch(head)
    rack.recover()
    if cached == "after-the-loss":
        admit(rack)
    assert KEY in rack.control.cached_keys()
    replies = rack.catch(between(server, tail, Op.GET_REPLY))
    pending = rack.processes[2].begin(Op.GET, KEY)
    rack.run(MILLISECOND)
    rack.catches = lambda _: False
    rack.lost = lambda _: False
    assert len(replies) == 1
    rack.deliver(late)
    rack.run(10 * MILLISECOND)
    rack.release(*replies)
    rack.run_until(lambda: pending.ended)
    assert read(rack) == b"late"
    assert rack.violations() == []
