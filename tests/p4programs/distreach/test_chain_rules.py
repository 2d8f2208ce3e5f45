"""Rules and traps of DistReach's switches (docs/distreach.md), each with programs that break it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from netkv.control import base
from netkv.control.messages import Bit, Message, Op, Stamp, Status, decode, encode
from netkv.control.topology import SERVICE_IP, client_ip, key_hash, server_ip
from netkv.p4rt import entities, p4info
from tests.p4programs.distreach.chain import (
    CLIENT,
    CLOSED,
    DOWN,
    HOLD,
    OPEN,
    SERVER,
    TOPOLOGY,
    UP,
    Chain,
    Frame,
    Patch,
    program,
)

KEY = (7).to_bytes(16)
ENTRY = 3

Rule = Callable[[Chain], None]
RULES: list[tuple[Rule, int, Patch | None, Patch | None]] = []
"""Rule, length of the chain, and a defect of `link` or of `tail` (None: of none)."""


def rule(length: int, *defects: tuple[str, Patch]) -> Callable[[Rule], Rule]:
    """A rule that must hold for a chain of this length, and not with any of the defects. A defect
    is of the program `link`, `tail`, or `both`."""

    def register(test: Rule) -> Rule:
        RULES.append((test, length, None, None))
        for where, defect in defects:
            link = defect if where in ("link", "both") else None
            tail = defect if where in ("tail", "both") else None
            RULES.append((test, length, link, tail))
        return test

    return register


def put(value: bytes | None, request: int, client: int = 1, incarnation: int = 40) -> Message:
    """PUT, or DELETE for None."""
    op = Op.DELETE if value is None else Op.PUT
    value = value or b""
    stamp = Stamp(incarnation)
    return Message(op, KEY, request, client, stamp=stamp, length=len(value), value=value)


def get(request: int, client: int = 2, incarnation: int = 40) -> Message:
    return Message(Op.GET, KEY, request, client, stamp=Stamp(incarnation))


def value_of(chain: Chain, request: int, incarnation: int = 40) -> bytes | None:
    """What a read returns now."""
    (reply,) = chain.ask(get(request, incarnation=incarnation))
    return None if reply.status is Status.NOT_FOUND else reply.value[: reply.length]


def cached(chain: Chain, value: bytes = b"first") -> None:
    """The key is cached everywhere, with this value as the latest."""
    (reply,) = chain.ask(put(value, 1))
    assert reply.status is Status.OK
    assert not reply.cache_hit
    chain.admit(KEY, ENTRY)
    assert value_of(chain, 1) == value


def numbers(chain: Chain) -> list[Stamp]:
    """The sequence of the record in each live switch, from the head."""
    found = []
    for place in chain.live:
        entry, generation = chain.switches[place].lookup[KEY]
        load = chain.switches[place].control(Op.LOAD, KEY, entry, Stamp(generation=generation))
        assert load.stamp
        found.append(Stamp(load.stamp.incarnation, load.stamp.number))
    return found


def lose(chain: Chain, to: int) -> Frame:
    """The frame under way to a place never arrives; it is returned, so that it may come late."""
    (frame,) = [frame for frame in chain.frames if frame.to == to]
    chain.frames.remove(frame)
    return frame


STORES: Patch = ("distreach/entry.p4", "meta.stores = meta.applied ||", "meta.stores = ")
STORED_SET: Patch = (
    "distreach/chain_stamp.p4",
    "if (meta.applied || meta.covered) {",
    "if (true) {",
)


@rule(3, ("link", STORES))
def every_switch_has_an_acknowledged_write(chain: Chain) -> None:
    cached(chain)
    (reply,) = chain.ask(put(b"second", 2))
    assert reply.cache_hit
    assert reply.stamp == Stamp(40, 2)
    assert numbers(chain) == [Stamp(40, 2)] * 3
    assert chain.server.stored(KEY).value == b"first"
    assert value_of(chain, 2) == b"second"


@rule(
    2,
    (
        "tail",
        (
            "distreach/max_sequence.p4",
            "meta.storable && meta.validity == VALID;",
            "meta.validity == VALID;",
        ),
    ),
    ("link", STORED_SET),
)
def write_that_the_head_does_not_have_goes_to_the_server(chain: Chain) -> None:
    """The leaf says cached, the spine does not."""
    cached(chain)
    head = chain.head
    entry, generation = head.lookup[KEY]
    head.control(Op.RETIRE, KEY, entry, Stamp(generation=generation))
    head.forget(KEY)
    (reply,) = chain.ask(put(b"second", 2))
    assert not reply.cache_hit
    assert chain.server.stored(KEY).value == b"second"
    assert value_of(chain, 2) == b"second"


@rule(
    2,
    (
        "link",
        (
            "distreach/dedup.p4",
            "meta.repeated = true;\n            } else if (same && meta.previous",
            "meta.first_copy = true;\n            } else if (same && meta.previous",
        ),
    ),
)
def repeated_write_keeps_its_sequence(chain: Chain) -> None:
    """A put is lost between spine and leaf and comes again, after another client's put."""
    cached(chain)
    chain.send(put(b"mine", 2, client=1))
    chain.step()
    lose(chain, 1)
    (reply,) = chain.ask(put(b"later", 1, client=2))
    assert reply.stamp == Stamp(40, 3)
    (reply,) = chain.ask(put(b"mine", 2, client=1))
    assert reply.stamp is not None
    assert (reply.status, reply.stamp.number) == (Status.OK, 2)
    assert numbers(chain) == [Stamp(40, 3)] * 2
    assert value_of(chain, 2) == b"later"


@rule(
    2,
    (
        "tail",
        (
            "distreach/max_sequence.p4",
            "meta.applied = newest && meta.storable",
            "meta.applied = meta.storable",
        ),
    ),
    (
        "tail",
        (
            "distreach/record_sequence.p4",
            "meta.covered = meta.storable && (",
            "meta.covered = false && (",
        ),
    ),
)
def writes_that_swap_places_between_switches_keep_their_order(chain: Chain) -> None:
    cached(chain)
    chain.send(put(b"second", 2))
    chain.step()
    late = lose(chain, 1)
    chain.ask(put(b"third", 3))
    chain.frames.append(late)
    (reply,) = chain.settle()
    assert (reply.cache_hit, reply.stamp) == (True, Stamp(40, 2))
    assert value_of(chain, 2) == b"third"
    assert chain.server.stored(KEY).value == b"first"


SAME_GENERATION = "\n                                && cell[31:0] == meta.generation"


@rule(2, ("link", ("distreach/dedup.p4", "&& cell[40:40] == 1" + SAME_GENERATION, "")))
def write_stamped_before_the_admission_stays_out_of_the_entry(chain: Chain) -> None:
    """A later write went to the server, after the record for the entry was fetched."""
    chain.ask(put(b"first", 1))
    fetched = chain.server.stored(KEY)
    chain.send(put(b"second", 2, client=1))
    chain.step()
    lose(chain, 1)
    chain.ask(put(b"third", 1, client=2))
    chain.admit(KEY, ENTRY, fetched)
    (reply,) = chain.ask(put(b"second", 2, client=1))
    assert (reply.status, reply.cache_hit) == (Status.OK, False)
    assert value_of(chain, 2) == b"third"


@rule(2, ("link", ("distreach/dedup.p4", SAME_GENERATION, "")))
def write_stamped_for_an_earlier_entry_stays_out_of_the_next(chain: Chain) -> None:
    cached(chain)
    chain.send(put(b"second", 2, client=1))
    chain.step()
    lose(chain, 1)
    chain.evict(KEY)
    fetched = chain.server.stored(KEY)
    chain.ask(put(b"third", 1, client=2))
    chain.admit(KEY, ENTRY, fetched)
    (reply,) = chain.ask(put(b"second", 2, client=1))
    assert (reply.status, reply.cache_hit) == (Status.OK, False)
    assert value_of(chain, 2) == b"third"


@rule(2, ("link", ("distreach/chain_stamp.p4", "if (meta.superseded) {", "if (false) {")))
def write_behind_a_newer_one_of_which_only_the_head_knows_goes_to_the_server(chain: Chain) -> None:
    """Both passed between the two steps of an admission, and one of them got to the server."""
    chain.ask(put(b"first", 1))
    steps = chain.admitting(KEY, ENTRY)
    assert [next(steps), next(steps)] == ["filled", "valid"]
    chain.send(put(b"second", 2, client=1))
    chain.step()
    lose(chain, 1)
    (reply,) = chain.ask(put(b"third", 1, client=2))
    assert not reply.cache_hit
    assert list(steps) == ["filled", "valid"]
    (reply,) = chain.ask(put(b"second", 2, client=1))
    assert (reply.status, reply.cache_hit) == (Status.OK, False)
    assert value_of(chain, 2) == b"third"


@rule(
    2, ("link", ("distreach/dedup.p4", "meta.drop_reason = DROP_LATE;", "meta.first_copy = true;"))
)
def request_before_the_window_is_dropped(chain: Chain) -> None:
    cached(chain)
    chain.ask(put(b"new", 2 + 1024))
    assert chain.ask(put(b"old", 2)) == []
    assert value_of(chain, 2) == b"new"


@rule(2, ("both", ("distreach/incarnation.p4", "meta.storable = knows;", "meta.storable = true;")))
def write_of_a_client_without_an_incarnation_goes_to_the_server(chain: Chain) -> None:
    cached(chain)
    (reply,) = chain.ask(put(b"second", 2, incarnation=0))
    assert not reply.cache_hit
    assert chain.server.stored(KEY).value == b"second"
    assert value_of(chain, 2) == b"second"


@rule(2, ("both", ("distreach/dedup.p4", "&& client < 64;", ";")))
def write_of_a_client_beyond_the_window_goes_to_the_server(chain: Chain) -> None:
    cached(chain)
    message = put(b"second", 2)
    frame = encode(
        Message(Op.PUT, KEY, 2, 65, stamp=Stamp(40), length=6, value=b"second"),
        client_ip(3),
        SERVICE_IP,
    )
    chain.frames.append(Frame(0, UP, frame))
    while chain.frames[0].to != SERVER:
        assert chain.step() == []
    forwarded = decode(chain.frames[0].data).message
    assert forwarded.value == message.value


@rule(
    2,
    (
        "tail",
        (
            "distreach/max_sequence.p4",
            "meta.outdates = newest && !meta.applied; //",
            "meta.outdates = newest && meta.validity == TO_BE_EVICTED; //",
        ),
    ),
)
def value_that_does_not_fit_outdates_the_entry(chain: Chain) -> None:
    cached(chain)
    large = bytes(200)
    chain.send(put(large, 2))
    chain.step()
    chain.step()
    assert chain.frames[0].to == SERVER
    # The frame to the server is lost. Until then reads are answered from the server and the record.
    lost = lose(chain, SERVER)
    chain.send(get(5))
    chain.step()
    chain.step()
    assert chain.frames[0].to == SERVER, "the entry is outdated at once"
    chain.settle()
    chain.frames.append(lost)
    (reply,) = chain.settle()
    assert reply.status is Status.OK
    assert value_of(chain, 6) == large


@rule(
    3,
    (
        "link",
        ("distreach/max_sequence.p4", "meta.refreshes = hdr", "meta.refreshes = false && hdr"),
    ),
    ("both", ("distreach/max_sequence.p4", "&& (newest || meta.sequence == maximum);", ";")),
)
def conservative_read_refreshes_the_chain_in_reverse(chain: Chain) -> None:
    chain.ask(put(b"first", 1))
    chain.admit(KEY, ENTRY)
    chain.send(get(1))
    places = []
    while chain.frames:
        places.append(chain.frames[0].to)
        chain.step()
    assert places == [0, 1, 2, SERVER, 2, 1, 0, CLIENT]
    for switch in chain.switches:
        entry, generation = switch.lookup[KEY]
        load = switch.control(Op.LOAD, KEY, entry, Stamp(generation=generation))
        assert load.stamp is not None
        assert load.stamp.bits & Bit.LATEST
        assert not load.stamp.bits & Bit.DIRTY
    # A reply that straddles a write does not bring the old value back.
    chain.evict(KEY)
    chain.admit(KEY, ENTRY)
    chain.send(get(2))
    while chain.frames[0].to != SERVER:
        chain.step()
    chain.step()
    (reply,) = (chain.frames.pop(0),)
    (answer,) = chain.ask(put(b"second", 2))
    assert answer.cache_hit
    chain.frames.append(reply)
    chain.settle()
    assert numbers(chain) == [Stamp(40, 2)] * 3
    assert value_of(chain, 3) == b"second"


@rule(
    2,
    ("tail", ("distreach/incarnation.p4", "meta.drop_reason = DROP_LATE;", "")),
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


@rule(2, ("both", ("distreach/entry.p4", "(hdr.version_stamp.bits & BIT_LATEST) != 0;", "false;")))
@rule(
    2, ("tail", ("farreach/entry_state.p4", "meta.validity != INVALID;", "meta.validity == VALID;"))
)
def recovery_keeps_the_state_of_records(chain: Chain) -> None:
    cached(chain)
    chain.ask(put(b"second", 2))
    chain.crash(1)
    chain.recover(restart=[1])
    chain.send(get(9, incarnation=42))
    (reply,) = chain.settle()
    assert reply.cache_hit
    assert reply.value[: reply.length] == b"second"
    assert chain.server.stored(KEY).stamp == Stamp(40, 2), "the real sequence"
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
            "distreach/max_sequence.p4",
            "meta.outdates = newest || (maximum",
            "meta.outdates = newest || (false && maximum",
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
    (reply,) = chain.ask(get(2, incarnation=42))
    assert reply.cache_hit
    chain.frames.append(straggler)
    (reply,) = chain.settle()
    assert (reply.op, reply.status) == (Op.PUT_REPLY, Status.OK)
    assert value_of(chain, 3, incarnation=42) == b"second"


@rule(
    2,
    (
        "both",
        (
            "distreach/incarnation.p4",
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
    2, ("tail", ("farreach/entry_state.p4", "new[31:24] = TO_BE_EVICTED;", "new[31:24] = VALID;"))
)
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


@rule(2, ("both", ("distreach/mode.p4", "(meta.mode == MODE_HOLD && meta.cached)", "false")))
@rule(
    2,
    (
        "both",
        ("distreach/mode.p4", "(meta.mode == MODE_HOLD && meta.cached)", "meta.mode == MODE_HOLD"),
    ),
)
@rule(2, ("both", ("distreach/mode.p4", "meta.mode == MODE_CLOSED ||", "")))
def modes_drop_what_must_wait(chain: Chain) -> None:
    cached(chain)
    other = Message(Op.GET, (8).to_bytes(16), 5, 1, stamp=Stamp(40))
    chain.head.mode(HOLD)
    assert chain.ask(get(2)) == []
    assert chain.ask(put(b"second", 2)) == []
    assert len(chain.ask(other)) == 1
    chain.head.mode(CLOSED)
    assert chain.ask(get(3)) == []
    assert chain.ask(other) == []
    chain.head.mode(OPEN)
    assert value_of(chain, 4) == b"first"


@rule(2, ("link", ("distreach/chain.p4", "meta.role = ROLE_NONE;", "")))
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
        "link",
        (
            "distreach/dedup.p4",
            "meta.own_incarnation = meta.previous;",
            "meta.own_incarnation = meta.incarnation;",
        ),
    ),
    ("tail", ("distreach/incarnation.p4", "== meta.previous);", "== 0);")),
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


@rule(2, ("link", ("distreach/dedup.p4", "} else if (same) {", "} else if (false) {")))
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


@rule(2, ("both", ("farreach/serial_numbers.p4", "a - b < 0x80000000", "a > b")))
def numbers_wrap(chain: Chain) -> None:
    register = "NetkvEgress.sequence.counters"
    schema = entities.Names(p4info.from_bundle(chain.head.bundle)).schema
    index = key_hash(KEY) & 0x7FFF
    chain.head.engine.write_register(
        schema.registers.named(register).id, index, (0xFFFFFFFD).to_bytes(4)
    )
    cached(chain)
    for request, number in ((2, 0xFFFFFFFF), (3, 1), (4, 2)):
        (reply,) = chain.ask(put(b"%d" % request, request))
        assert (reply.cache_hit, reply.stamp) == (True, Stamp(40, number))
        assert numbers(chain) == [Stamp(40, number)] * 2
        assert value_of(chain, request) == b"%d" % request


@rule(
    2,
    ("tail", ("distreach/switch.p4", "meta.sampled && !meta.serving", "false")),
    ("tail", ("farreach/forward_to_server.p4", "hdr.version_stamp.bits = BIT_HOT;", "")),
)
def tail_tells_the_server_of_hot_keys(chain: Chain) -> None:
    for switch in chain.switches:
        switch.mode(OPEN, below=65_536, threshold=3)
    for request in range(1, 5):
        chain.send(get(request))
        while chain.frames[0].to != SERVER:
            chain.step()
        forwarded = decode(chain.frames[0].data).message
        assert forwarded.stamp is not None
        assert bool(forwarded.stamp.bits & Bit.HOT) == (request >= 3)
        chain.settle()


@rule(2, ("both", ("farreach/entry_flags.p4", "++ (bit<1>) meta.incoming.deleted", "++ 1w0")))
def delete_is_a_write(chain: Chain) -> None:
    cached(chain)
    (reply,) = chain.ask(put(None, 2))
    assert reply.cache_hit
    assert value_of(chain, 2) is None
    assert chain.server.stored(KEY).value == b"first"
    chain.crash(1)
    chain.recover(restart=[1])
    assert chain.server.stored(KEY).value is None
    (reply,) = chain.ask(get(3, incarnation=42))
    assert (reply.status, reply.cache_hit) == (Status.NOT_FOUND, True)


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
    assert value_of(chain, 4, incarnation=44) == b"third"
    (reply,) = chain.ask(put(b"fourth", 4, incarnation=44))
    assert reply.status is Status.OK
    assert chain.server.stored(KEY).stamp == Stamp(44, 1)


@pytest.mark.parametrize(
    ("rule", "length", "link", "tail"),
    RULES,
    ids=[
        f"{test.__name__}-{'defect' if link or tail else 'holds'}" for test, _, link, tail in RULES
    ],
)
def test_rule(rule: Rule, length: int, link: Patch | None, tail: Patch | None) -> None:
    chain = Chain.of(length, link, tail)
    if link is None and tail is None:
        rule(chain)
        return
    with pytest.raises((AssertionError, ValueError)):
        rule(chain)


def test_only_the_tail_counts_requests() -> None:
    registers = {
        name: {
            each.name for each in entities.Names(p4info.from_bundle(program(name))).schema.registers
        }
        for name in ("link", "tail")
    }
    counting = {name for name in registers["tail"] if "sketch" in name or "frequency" in name}
    assert len(counting) == 5
    assert registers["tail"] - registers["link"] == counting
    assert registers["link"] < registers["tail"]
