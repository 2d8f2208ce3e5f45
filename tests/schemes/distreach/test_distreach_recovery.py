"""Recoveries of chains: what they wait for, what has no effect on them, and what they report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from netkv.control.base import (
    MILLISECOND,
    SECOND,
    Event,
    Note,
    PacketIn,
    Preload,
    ReadTable,
    Recovered,
    Recovering,
    TableRead,
)
from netkv.model.messages import Message, Op, Stamp, Status, decode, encode
from netkv.model.topology import CONTROLLER_IP, SERVICE_IP, server_ip
from netkv.schemes.distreach.recovery import Step
from tests.schemes.distreach.distreach_rack import Rack, System
from tests.schemes.distreach.distreach_traps import (
    KEY,
    KEYS,
    cached_rack,
    evict,
    make_rack,
    read,
    ready_rack,
)
from tests.schemes.mutants import Mutant

NEW = KEYS[5]
"""A key that is not cached."""


def recovered(rack: Rack) -> list[Recovered]:
    return [event for event in rack.events if isinstance(event, Recovered)]


def of_one_chain(rack: Rack) -> list[bytes]:
    """The keys of the chain of KEY."""
    return [key for key in KEYS if rack.chain(key) == rack.chain(KEY)]


def test_recovery_reports_its_begin_and_its_end() -> None:
    rack = cached_rack(System, layers=3)
    rack.put(1, KEY, b"second")
    assert rack.control.statistics()["recoveries"] == 0, "the first start is none"
    tail = rack.chain(KEY)[-1]
    rack.crash_switch(tail)
    rack.recover()
    assert [it.switch for it in rack.events if isinstance(it, Recovering)] == [tail.name]
    (end,) = recovered(rack)
    assert end.switch == tail.name
    assert [name for name, _ in end.phases] == ["load", "update servers", "admit"]
    assert all(seconds > 0 for _, seconds in end.phases)
    assert end.counts == {"records": 1, "restored": 1, "keys_readmitted": 1, "switches": 3}


def test_recovery_leaves_other_chains_open() -> None:
    rack = ready_rack(System, width=2, preload=tuple(KEYS[:12]))
    head = rack.chain(KEY)[0]
    elsewhere = next(key for key in KEYS[:12] if rack.chain(key)[0] is not head)
    rack.lost = lambda hop: hop.op in (Op.LOAD, Op.RESTORE)
    rack.crash_switch(head)
    rack.run(10 * MILLISECOND)
    assert not rack.control.ready()
    assert not rack.control.switch_ready(head.name)
    assert rack.control.switch_ready(rack.chain(elsewhere)[0].name)
    assert elsewhere in rack.control.cached_keys()
    assert KEY not in rack.control.cached_keys()
    rack.put(1, elsewhere, b"second")
    assert rack.put(1, elsewhere, b"third").cache_hit
    assert rack.processes[1].unknown == 0, "that chain has lost nothing"


def test_loss_of_all_switches_is_noted() -> None:
    """The limit of the paper: what only the switches had is lost, and the run's events say it."""
    rack = cached_rack(System)
    rack.crash_switch(*rack.chain(KEY))
    rack.recover()
    (note,) = [it for it in rack.events if isinstance(it, Note) and "have lost" in it.what]
    assert note.fields == {"tail": rack.chain(KEY)[-1].name}
    assert read(rack) == b"first", "the server's record"
    rack.put(1, KEY, b"second")
    assert rack.put(1, KEY, b"third").cache_hit, "the key is cached again"


def test_loss_without_records_in_switches_only_is_not_noted() -> None:
    """Before the first recovery that opens the chain with entries, servers have all records."""
    rack = make_rack(System)
    rack.start_controller()
    rack.run(MILLISECOND)
    rack.crash_switch(*rack.chain(KEY))
    rack.recover()
    assert not any("have lost" in what for what in rack.noted())


def test_chain_tolerates_a_loss_while_another_switch_has_the_records() -> None:
    rack = cached_rack(System)
    head, tail = rack.chain(KEY)
    everywhere = {head.name, tail.name}
    assert rack.control.tolerates(head.name, everywhere)
    assert rack.control.tolerates("edge-0", set()), "it is in no chain"
    assert not rack.control.tolerates(head.name, {head.name}), "the tail has restarted"
    rack.lost = lambda hop: hop.op is Op.RESTORE
    rack.crash_switch(tail)
    rack.run(10 * MILLISECOND)
    assert not rack.control.tolerates(head.name, everywhere), "the tail has no records yet"
    assert rack.control.tolerates(tail.name, everywhere)
    rack.lost = lambda _: False
    rack.recover()
    assert rack.control.tolerates(head.name, everywhere)


def test_lookup_table_that_cannot_be_read_stops_the_recovery(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It may name the only copies of records: the keys are held until it can be read."""
    rack = cached_rack(System)
    head, tail = rack.chain(KEY)

    def refuse(request: ReadTable, switch: str) -> TableRead:
        return TableRead(request.read, error="out of memory", switch=switch)

    with monkeypatch.context() as patched:
        patched.setattr(tail.tables, "read", refuse)
        rack.crash_switch(head)
        rack.run(SECOND)
    assert "a lookup table cannot be read" in rack.noted()
    assert rack.control._chains[head.name].recovery.step is Step.READ
    # The next change of a switch begins the recovery again.
    rack.crash_switch(head)
    rack.recover()
    assert read(rack) == b"cached"


class RefusesKey(Mutant, System):
    """The head answers STALE to FILL of a recovery for KEY."""

    def change_event(self, event: Event) -> Event | None:
        if isinstance(event, PacketIn) and event.switch == "spine-0":
            datagram = decode(event.frame)
            message = datagram.message
            of_recovery = message.slot is not None and message.slot.number
            if message.op is Op.FILL_REPLY and of_recovery and message.key == KEY:
                refused = replace(message, status=Status.STALE)
                frame = encode(refused, datagram.source, datagram.destination)
                return replace(event, frame=frame)
        return event


def test_entry_that_a_switch_does_not_take_is_set_aside() -> None:
    rack = ready_rack(RefusesKey, preload=tuple(KEYS[:3]))
    for key in KEYS[:3]:
        rack.put(1, key, b"dirty")
    rack.crash_switch(rack.chain(KEY)[0])
    rack.recover()
    rack.run(20 * MILLISECOND)
    assert "entries set aside" in rack.noted()
    statistics = rack.control.statistics()
    assert statistics["entries_set_aside"] == 1
    assert set(rack.control.cached_keys()) == set(KEYS[1:3])
    assert all(KEY not in switch.lookup() for switch in rack.chain(KEY))
    # Its number is not used again, and its record is at the server.
    assert statistics["free_entries"] == rack.configuration.options.cache_entries - 3
    for key in KEYS[:3]:
        assert read(rack, key=key) == b"dirty"
    assert rack.violations() == []


@pytest.mark.parametrize("op", [Op.LOAD_REPLY, Op.RESTORE_REPLY, Op.FILL_REPLY])
def test_answer_to_an_earlier_attempt_has_no_effect(op: Op) -> None:
    """A second loss begins the recovery again; messages of the first attempt come late."""
    rack = ready_rack(System, layers=3, preload=tuple(KEYS[:4]))
    for key in KEYS[:4]:
        rack.put(1, key, b"dirty")
    head, middle, tail = rack.chain(KEY)
    early = rack.catch(lambda hop: hop.to == "controller" and hop.op is op)
    rack.crash_switch(tail)
    rack.run(10 * MILLISECOND)
    assert early
    recovery = rack.control._chains[head.name].recovery
    rack.crash_switch(middle)
    again = rack.catch(lambda hop: hop.to == "controller" and hop.op is op)
    rack.run(10 * MILLISECOND)
    assert again
    step = recovery.step
    for hop in early:
        rack.deliver(hop)
    rack.run(MILLISECOND)
    assert recovery.step is step, "it still waits for answers to its own messages"
    rack.release(*again)
    rack.recover()
    for key in KEYS[:4]:
        assert read(rack, key=key) == b"dirty"
    assert rack.violations() == []


def begin_admission(rack: Rack) -> None:
    rack.handle(Preload((NEW,)))


def begin_eviction(rack: Rack) -> None:
    evict(rack, duration=0)


def begin_recovery(rack: Rack) -> None:
    rack.crash_switch(rack.chain(KEY)[-1])


@pytest.mark.parametrize("begin", [begin_admission, begin_eviction, begin_recovery])
@pytest.mark.parametrize("lost", [0, 1, 2])
def test_loss_of_a_switch_at_any_step_loses_nothing(
    begin: Callable[[Rack], None], lost: int
) -> None:
    """A switch is lost after each number of steps of what the controller does."""

    def begun() -> tuple[Rack, int]:
        rack = cached_rack(System, layers=3)
        rack.put(2, NEW, b"at the server")
        before = rack.steps
        begin(rack)
        return rack, before

    whole, before = begun()
    whole.run(50 * MILLISECOND)
    steps = whole.steps - before
    assert steps > 15
    tried = 0
    for step in range(1, steps):
        rack, before = begun()
        victim = rack.chain(KEY)[lost]
        rack.run_until_step(before + step)
        kept = {it.name for it in rack.chain(KEY) if it.up and not it.blank}
        if not rack.control.tolerates(victim.name, kept):
            continue  # no other switch has the records
        tried += 1
        rack.crash_switch(victim)
        rack.recover()
        context = f"{victim.name} is lost after {step} steps"
        assert read(rack) == b"cached", context
        assert read(rack, key=NEW) == b"at the server", context
        rack.put(1, KEY, b"second")
        reply = rack.put(1, KEY, b"third")
        assert reply.cache_hit == (KEY in rack.control.cached_keys()), context
        assert rack.violations() == [], context
    assert tried > 10


# ----------------------------------------------------------------------- offers and preloads


def offer(rack: Rack, key: bytes, value: bytes = b"first") -> Status:
    """The answer of the controller to an offer of a record."""
    server = rack.topology.owner(key)
    message = Message(
        Op.OFFER, key, 77, 0x8000 + server.index, stamp=Stamp(), value=value, length=len(value)
    )
    frame = encode(message, server_ip(server.index), CONTROLLER_IP)
    answers = rack.catch(lambda hop: hop.op is Op.OFFER_REPLY and hop.source == "controller")
    rack.handle(PacketIn(101, frame, rack.chain(key)[-1].name))
    (answer,) = answers
    rack.catches = lambda _: False
    return answer.datagram.message.status


def test_offer_is_refused_during_a_recovery() -> None:
    rack = cached_rack(System)
    key = of_one_chain(rack)[1]
    rack.lost = lambda hop: hop.op is Op.RESTORE
    rack.crash_switch(rack.chain(KEY)[0])
    rack.run(10 * MILLISECOND)
    assert offer(rack, key) is Status.REJECTED
    rack.lost = lambda _: False
    rack.recover()
    rack.run(10 * MILLISECOND)
    assert offer(rack, key) is Status.OK
    rack.run(10 * MILLISECOND)
    assert key in rack.control.cached_keys()
    assert rack.control.statistics()["offers_rejected"] == 1


def test_offer_of_a_large_record_is_refused() -> None:
    rack = ready_rack(System)
    assert offer(rack, KEY, bytes(200)) is Status.REJECTED


def test_keys_beyond_the_entries_are_given_up() -> None:
    rack = make_rack(System, cache_entries=4).start(preload=KEYS[:6])
    assert rack.control.cached_keys() == KEYS[:4]
    assert rack.control.statistics()["without_room"] == 2
    with pytest.raises(ValueError, match="a key has 16 bytes"):
        rack.handle(Preload((b"short",)))


def test_key_preloaded_during_a_recovery_is_cached_after_it() -> None:
    rack = cached_rack(System)
    rack.crash_switch(rack.chain(KEY)[0])
    rack.run(MILLISECOND)
    rack.handle(Preload((KEYS[1],)))
    assert not rack.control.ready()
    rack.recover()
    assert set(rack.control.cached_keys()) == {KEY, KEYS[1]}


def test_frame_that_is_no_message_is_counted() -> None:
    rack = ready_rack(System)
    frame = encode(Message(Op.GET, KEY), CONTROLLER_IP, SERVICE_IP)[:-4]
    rack.handle(PacketIn(1, frame, rack.chain(KEY)[-1].name))
    rack.handle(PacketIn(1, frame, "edge-0"))  # not of a chain: ignored
    assert rack.control.statistics()["malformed_frames"] == 1
