"""Losses, recoveries, incarnations and modes of a chain of DistReach's switches: rules, each with
programs that break them (docs/schemes/distreach.md)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netkv.control import base
from netkv.model.messages import Message, Op, Stamp, Status, encode
from netkv.model.topology import SERVICE_IP, client_ip, server_ip
from tests.schemes.distreach.programs.chain import (
    CLOSED,
    DOWN,
    HOLD,
    OPEN,
    SERVER,
    TOPOLOGY,
    UP,
    Chain,
)
from tests.schemes.distreach.programs.chain_rules import (
    ENTRY,
    KEY,
    Case,
    Rules,
    cached,
    get,
    lose,
    numbers,
    put,
    value_of,
)

rule = Rules()


@rule(
    2,
    ("tail", ("distreach/chain.p4", "meta.drop_reason = DROP_LATE;", "")),
)
def requests_from_before_a_recovery_do_not_reach_the_server(chain: Chain) -> None:
    """A read passed the spine before the leaf lost its state; the server lacks the value."""
    cached(chain)
    chain.ask(put(b"second", 2))
    chain.send(get(5))
    chain.step()
    chain.crash(1)
    for phase in chain.recovering(restart=[1]):
        assert phase
    chain.evict(KEY)
    chain.server.records[KEY].value = b"a later value"
    assert chain.settle() == []


@rule(
    2,
    (
        "both",
        (
            "distreach/entry.p4",
            "latest = !meta.filled;",
            "latest = !meta.filled || (hdr.version_stamp.bits & BIT_VALID) != 0;",
        ),
    ),
)
@rule(
    2,
    (
        "tail",
        ("write_back/entry.p4", "meta.validity != INVALID;", "meta.validity == VALID;"),
    ),
)
def first_read_after_a_recovery_goes_to_the_server(chain: Chain) -> None:
    """Its reply makes the record of the entry the latest one."""
    cached(chain)
    chain.ask(put(b"second", 2))
    chain.crash(1)
    chain.recover(restart=[1])
    assert chain.server.stored(KEY).stamp == Stamp(40, 2), "the real sequence"
    for request, hit in ((8, False), (9, True)):
        (reply,) = chain.ask(get(request, incarnation=42))
        assert reply.cache_hit == hit
        assert reply.value[: reply.length] == b"second"
    # Frozen records answer reads, too.
    entry, generation = chain.tail.lookup[KEY]
    chain.tail.control(Op.EVICT, KEY, entry, Stamp(generation=generation))
    (reply,) = chain.ask(get(10, incarnation=42))
    assert reply.cache_hit


@rule(
    2,
    (
        "tail",
        (
            "distreach/entry.p4",
            "sequence = hdr.version_stamp.incarnation ++ hdr.version_stamp.sequence;",
            "sequence = hdr.version_stamp.incarnation ++ hdr.version_stamp.sequence;"
            " if (!meta.same_incarnation) { sequence = 0; }",
        ),
    ),
)
def reply_of_an_earlier_incarnation_outdates_what_a_recovery_filled(chain: Chain) -> None:
    """A write passed uncached, the key was admitted, then the leaf died. The server applies the
    write after the recovery."""
    chain.ask(put(b"first", 1))
    chain.send(put(b"second", 2))
    while chain.frames[0].to != SERVER:
        chain.step()
    straggler = chain.frames.pop(0)
    chain.admit(KEY, ENTRY)
    assert value_of(chain, 1) == b"first"
    chain.crash(0)
    chain.recover(restart=[0])
    assert value_of(chain, 2, incarnation=42) == b"first"
    (reply,) = chain.ask(get(3, incarnation=42))
    assert reply.cache_hit
    chain.frames.append(straggler)
    (reply,) = chain.settle()
    assert (reply.op, reply.status) == (Op.PUT_REPLY, Status.OK)
    assert value_of(chain, 4, incarnation=42) == b"second"


@rule(
    2,
    (
        "both",
        (
            "distreach/chain.p4",
            "meta.past = hdr.version_stamp.incarnation != 0 && !knows;",
            "",
        ),
    ),
)
def write_first_sent_before_the_loss_is_past(chain: Chain) -> None:
    """The head lost its state, so it does not know the request."""
    cached(chain)
    chain.send(put(b"second", 2))
    chain.step()
    chain.step()
    lose(chain, 0)  # the answer
    chain.crash(0)
    chain.recover(restart=[0])
    chain.ask(put(b"third", 1, client=2, incarnation=42))
    (reply,) = chain.ask(put(b"second", 2))
    assert reply.status is Status.UNKNOWN
    assert value_of(chain, 3, incarnation=42) == b"third"


@rule(
    2,
    (
        "both",
        (
            "distreach/chain.p4",
            "if (meta.same_incarnation) {\n                meta.sequence",
            "if (true) {\n                meta.sequence",
        ),
    ),
)
def too_large_write_after_a_recovery_goes_to_the_server(chain: Chain) -> None:
    """The record of the entry has a larger number than the write, of an earlier incarnation."""
    cached(chain)
    for request in range(2, 9):
        chain.ask(put(b"v%d" % request, request))
    chain.crash(0)
    chain.recover(restart=[0])
    large = bytes(200)
    (reply,) = chain.ask(put(large, 9, incarnation=42))
    assert not reply.cache_hit
    assert value_of(chain, 10, incarnation=42) == large


@rule(2, ("tail", ("write_back/entry.p4", "new[31:24] = TO_BE_EVICTED;", "new[31:24] = VALID;")))
def leaf_dies_between_the_two_steps_of_an_eviction(chain: Chain) -> None:
    """Writes arrive meanwhile; the server gets them, and the spine's older record does not win."""
    cached(chain)
    chain.ask(put(b"second", 2))
    steps = chain.evicting(KEY)
    assert next(steps) == "frozen"
    (reply,) = chain.ask(put(b"third", 3))
    assert not reply.cache_hit
    assert next(steps) == "restored"
    assert next(steps) == "gone from the tail"
    chain.crash(1)
    chain.recover(restart=[1])
    assert chain.server.stored(KEY).value == b"third"
    assert value_of(chain, 4, incarnation=42) == b"third"


@rule(2, ("both", ("distreach/requests.p4", "(meta.mode == MODE_HOLD && meta.cached)", "false")))
@rule(
    2,
    (
        "both",
        (
            "distreach/requests.p4",
            "(meta.mode == MODE_HOLD && meta.cached)",
            "meta.mode == MODE_HOLD",
        ),
    ),
)
@rule(2, ("both", ("distreach/requests.p4", "meta.mode == MODE_CLOSED ||", "")))
def modes_drop_what_must_wait(chain: Chain) -> None:
    cached(chain)
    other = Message(Op.PUT, (8).to_bytes(16), 5, 1, stamp=Stamp(40), length=1, value=b"v")
    for switch in chain.switches:
        switch.mode(HOLD)
    chain.tail_begins()
    assert chain.ask(get(2)) == []
    assert chain.ask(put(b"second", 2)) == []
    (reply,) = chain.ask(other)
    assert reply.status is Status.UNKNOWN, "the tail gives it its sequence, and it is past"
    chain.head.mode(CLOSED)
    assert chain.ask(get(3)) == []
    assert chain.ask(other) == []
    for _ in chain.begin():
        pass
    for switch in chain.switches:
        switch.mode(OPEN)
    assert value_of(chain, 4) == b"first"


@rule(2, ("upper", ("distreach/requests.p4", "meta.role = ROLE_NONE;", "")))
def requests_pass_a_restarted_switch_before_the_chain_is_whole(chain: Chain) -> None:
    """It has no incarnation yet: only the tail takes part in what passes."""
    cached(chain)
    chain.crash(0)
    steps = chain.recovering(restart=[0])
    while next(steps) != "the tail is the head":
        pass
    other = Message(Op.PUT, (8).to_bytes(16), 5, 1, stamp=Stamp(41), length=1, value=b"v")
    (reply,) = chain.ask(other)
    assert (reply.status, reply.stamp) == (Status.OK, Stamp(41, 1))
    assert chain.ask(get(2)) == [], "the key is held at the tail"


@rule(2, ("upper", ("distreach/chain.p4", "meta.role = ROLE_NONE;", "")))
def request_for_another_chain_is_only_routed(chain: Chain) -> None:
    cached(chain)
    head = chain.head
    table, match = "NetkvIngress.chain.servers", {"address": server_ip(0)}
    head.write(base.DeleteEntry(0, table, match))
    frame = encode(put(b"second", 2), client_ip(1), SERVICE_IP)
    owner = TOPOLOGY.owner(KEY)
    ((port, out),) = head.engine.process(UP, frame)
    assert port == DOWN
    assert out == encode(put(b"second", 2), client_ip(1), owner.ip)


@rule(
    2,
    (
        "upper",
        (
            "distreach/requests.p4",
            "meta.own_incarnation = meta.previous;",
            "meta.own_incarnation = meta.incarnation;",
        ),
    ),
    ("tail", ("distreach/chain.p4", "== meta.previous);", "== 0);")),
)
def next_incarnation_without_a_loss_continues_the_sequence(chain: Chain) -> None:
    cached(chain)
    chain.send(put(b"second", 2))
    chain.step()
    chain.frames.append(replace(chain.frames[0]))
    copy = chain.frames.pop()
    lose(chain, 1)
    for _ in chain.raise_incarnation():
        pass
    # A frame that the head stamped before, and a request that it numbered before.
    chain.frames.append(copy)
    (reply,) = chain.settle()
    assert (reply.cache_hit, reply.stamp) == (True, Stamp(40, 2))
    (reply,) = chain.ask(put(b"second", 2))
    assert (reply.cache_hit, reply.stamp) == (True, Stamp(40, 2))
    # The copy has used a number up.
    (reply,) = chain.ask(put(b"third", 3))
    assert (reply.cache_hit, reply.stamp) == (True, Stamp(41, 4))
    assert numbers(chain) == [Stamp(41, 4)] * 2
    assert value_of(chain, 2) == b"third"


@rule(2, ("upper", ("distreach/requests.p4", "} else if (same) {", "} else if (false) {")))
def request_of_an_incarnation_before_the_previous_one_is_past(chain: Chain) -> None:
    cached(chain)
    (reply,) = chain.ask(put(b"second", 2))
    assert reply.cache_hit
    for _ in (*chain.raise_incarnation(), *chain.raise_incarnation()):
        pass
    (reply,) = chain.ask(put(b"third", 3, incarnation=42))
    assert reply.cache_hit
    for _ in range(2):
        (reply,) = chain.ask(put(b"second", 2))
        assert reply.status is Status.UNKNOWN
    assert value_of(chain, 2) == b"third"


@rule(3, ("tail", ("distreach/chain.p4", "== meta.position\n", "!= 9\n")))
def write_that_bypassed_a_switch_goes_to_the_server(chain: Chain) -> None:
    """The chain is open again, but some switch still routes around one that is in it."""
    cached(chain)
    chain.bypassed = {1}
    (reply,) = chain.ask(put(b"second", 2))
    assert not reply.cache_hit
    assert chain.server.stored(KEY).value == b"second"
    assert value_of(chain, 3) == b"second"


@rule(3)
def chain_survives_the_loss_of_all_but_one_switch(chain: Chain) -> None:
    cached(chain)
    chain.ask(put(b"second", 2))
    chain.crash(0)
    chain.crash(2)
    chain.recover(restart=[0, 2])
    assert numbers(chain) == [Stamp()] * 3
    assert value_of(chain, 2, incarnation=42) == b"second"
    (reply,) = chain.ask(put(b"third", 3, incarnation=42))
    assert reply.cache_hit
    chain.crash(0)
    chain.crash(1)
    chain.recover()  # they stay down: the tail is the head now
    assert chain.server.stored(KEY).value == b"third"
    assert value_of(chain, 4, incarnation=43) == b"third"
    (reply,) = chain.ask(put(b"fourth", 4, incarnation=43))
    assert reply.status is Status.OK
    assert chain.server.stored(KEY).stamp == Stamp(43, 1)


def begins_with(chain: Chain, incarnation: int) -> None:
    """The chain has lost a switch before, and has this incarnation since."""
    chain.number = incarnation
    for _ in chain.begin():
        pass


@rule(
    2,
    (
        "upper",
        ("distreach/requests.p4", "same && meta.previous != 0 && cell", "same && cell"),
    ),
)
def repeated_write_is_answered_without_a_previous_incarnation(chain: Chain) -> None:
    """The lowest byte of the incarnation of its first copy is 0, as if it were the previous one."""
    begins_with(chain, 256)
    chain.send(put(b"mine", 1, incarnation=256))
    chain.step()
    lose(chain, 1)
    begins_with(chain, 258)
    (reply,) = chain.ask(put(b"mine", 1, incarnation=256))
    assert reply.status is Status.UNKNOWN


@rule(
    2,
    (
        "both",
        (
            "distreach/chain.p4",
            "hdr.version_stamp.incarnation - lost < 0x80000000",
            "hdr.version_stamp.incarnation >= lost",
        ),
    ),
)
def incarnations_wrap(chain: Chain) -> None:
    """The last loss began the last incarnation before 1."""
    begins_with(chain, 0xFFFFFFFF)
    chain.admit(KEY, ENTRY)
    chain.number = 0
    for _ in chain.raise_incarnation():
        pass
    (reply,) = chain.ask(put(b"first", 1, incarnation=1))
    assert (reply.status, reply.cache_hit, reply.stamp) == (Status.OK, True, Stamp(1, 1))
    (reply,) = chain.ask(put(b"past", 1, client=2, incarnation=0xFFFFFFFE))
    assert reply.status is Status.UNKNOWN


@pytest.mark.slow
@pytest.mark.parametrize("case", rule.cases, ids=str)
def test_rule(case: Case) -> None:
    case.check()
