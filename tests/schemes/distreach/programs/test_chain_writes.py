"""Writes, reads and entries of a chain of DistReach's switches: rules, each with programs that
break them (docs/schemes/distreach.md)."""

from __future__ import annotations

import pytest

from netkv.model.messages import Bit, Message, Op, Stamp, Status, decode, encode
from netkv.model.topology import SERVICE_IP, client_ip, key_hash, server_ip
from netkv.p4rt import entities, p4info
from tests.p4programs.defects import Patch
from tests.schemes.distreach.programs.chain import (
    CLIENT,
    OPEN,
    SERVER,
    UP,
    Chain,
    Frame,
    program,
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

STORES: Patch = ("distreach/entry.p4", "meta.stores = meta.applied ||", "meta.stores = ")
STORED_SET: Patch = (
    "distreach/chain.p4",
    "if (meta.applied || meta.covered) {",
    "if (true) {",
)
SAME_GENERATION = "\n                                && cell[31:0] == meta.generation"


@rule(3, ("upper", STORES))
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
            "distreach/entry.p4",
            "meta.storable && meta.validity == VALID;",
            "meta.validity == VALID;",
        ),
    ),
    ("upper", STORED_SET),
)
def write_that_the_head_does_not_have_goes_to_the_server(chain: Chain) -> None:
    """The entry of the leaf is valid, that of the spine is not any more."""
    cached(chain)
    head = chain.head
    entry, generation = head.lookup[KEY]
    head.control(Op.RETIRE, KEY, entry, Stamp(generation=generation))
    (reply,) = chain.ask(put(b"second", 2))
    assert not reply.cache_hit
    assert chain.server.stored(KEY).value == b"second"
    assert value_of(chain, 2) == b"second"


@rule(
    2,
    (
        "upper",
        (
            "distreach/requests.p4",
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
            "distreach/entry.p4",
            "meta.applied = newest && meta.storable",
            "meta.applied = meta.storable",
        ),
    ),
    (
        "tail",
        (
            "distreach/entry.p4",
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


@rule(2, ("upper", ("distreach/requests.p4", "&& cell[40:40] == 1" + SAME_GENERATION, "")))
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


@rule(2, ("upper", ("distreach/requests.p4", SAME_GENERATION, "")))
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


@rule(2, ("upper", ("distreach/chain.p4", "if (meta.superseded) {", "if (false) {")))
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
    2,
    (
        "upper",
        ("distreach/requests.p4", "meta.drop_reason = DROP_LATE;", "meta.first_copy = true;"),
    ),
)
def request_before_the_window_is_dropped(chain: Chain) -> None:
    cached(chain)
    chain.ask(put(b"new", 2 + 1024))
    assert chain.ask(put(b"old", 2)) == []
    assert value_of(chain, 2) == b"new"


@rule(2, ("both", ("distreach/chain.p4", "meta.storable = knows;", "meta.storable = true;")))
def write_of_a_client_without_an_incarnation_goes_to_the_server(chain: Chain) -> None:
    cached(chain)
    (reply,) = chain.ask(put(b"second", 2, incarnation=0))
    assert not reply.cache_hit
    assert chain.server.stored(KEY).value == b"second"
    assert value_of(chain, 2) == b"second"


@rule(2, ("both", ("distreach/requests.p4", "&& client < 64;", ";")))
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
            "distreach/entry.p4",
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
        "upper",
        ("distreach/entry.p4", "meta.refreshes = hdr", "meta.refreshes = false && hdr"),
    ),
    ("both", ("distreach/entry.p4", "&& (newest || sequence == maximum);", ";")),
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


@rule(2, ("both", ("write_back/sequence.p4", "a - b < 0x80000000", "a > b")))
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
    ("tail", ("write_back/messages.p4", "hdr.version_stamp.bits = BIT_HOT;", "")),
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


@rule(2, ("both", ("write_back/entry.p4", "++ (bit<1>) meta.incoming.deleted", "++ 1w0")))
def delete_is_a_write(chain: Chain) -> None:
    cached(chain)
    (reply,) = chain.ask(put(None, 2))
    assert reply.cache_hit
    assert value_of(chain, 2) is None
    assert chain.server.stored(KEY).value == b"first"
    chain.crash(1)
    chain.recover(restart=[1])
    assert chain.server.stored(KEY).value is None
    assert value_of(chain, 3, incarnation=42) is None
    (reply,) = chain.ask(get(4, incarnation=42))
    assert (reply.status, reply.cache_hit) == (Status.NOT_FOUND, True)


@rule(2, ("upper", ("distreach/requests.p4", "hash(meta.key_hash,", "hash(meta.swapped_hash,")))
def keys_have_their_counters_also_behind_another_switch(chain: Chain) -> None:
    """The switch of the clients has sent the requests to the owner of their keys."""
    keys = [KEY, (8).to_bytes(16)]
    assert key_hash(keys[0]) & 0x7FFF != key_hash(keys[1]) & 0x7FFF
    for request, key in enumerate(keys, 1):
        message = Message(Op.PUT, key, request, 1, stamp=Stamp(40), length=1, value=b"v")
        frame = encode(message, client_ip(1), server_ip(0))
        chain.frames.append(Frame(0, UP, frame))
        (reply,) = chain.settle()
        assert reply.stamp == Stamp(40, 1)


@rule(
    2,
    (
        "both",
        ("distreach/entry.p4", "(!newest && sequence != maximum);", "!newest;"),
    ),
)
def repeated_newest_write_is_stored_behind_the_head(chain: Chain) -> None:
    """Its first copy is lost behind the head, which has stored it. No newer write is known."""
    cached(chain)
    chain.send(put(b"second", 2))
    chain.step()
    lose(chain, 1)
    (reply,) = chain.ask(put(b"second", 2))
    assert (reply.cache_hit, reply.stamp) == (True, Stamp(40, 2))
    assert numbers(chain) == [Stamp(40, 2)] * 2
    assert chain.server.stored(KEY).value == b"first"


def sent_before_the_admission(chain: Chain, message: Message) -> Frame:
    """The key is admitted, and read from the cache, while a write waits before the server."""
    chain.send(message)
    while chain.frames[0].to != SERVER:
        chain.step()
    late = lose(chain, SERVER)
    chain.admit(KEY, ENTRY)
    chain.ask(get(1))
    (reply,) = chain.ask(get(2))
    assert reply.cache_hit
    return late


@rule(
    2,
    (
        "both",
        (
            "distreach/entry.p4",
            "meta.outdates = newest;",
            "meta.outdates = false;",
        ),
    ),
)
def reply_with_a_newer_sequence_outdates_the_entry(chain: Chain) -> None:
    """The server applies the write after its earlier record was admitted."""
    chain.ask(put(b"first", 1))
    late = sent_before_the_admission(chain, put(b"second", 2))
    chain.frames.append(late)
    (reply,) = chain.settle()
    assert (reply.status, reply.stamp) == (Status.OK, Stamp(40, 2))
    assert value_of(chain, 3) == b"second"


@rule(
    2,
    (
        "both",
        (
            "write_back/sequence.p4",
            "return a[31:0] != 0\n           && (",
            "return (",
        ),
    ),
)
def refusal_of_a_write_outdates_no_entry(chain: Chain) -> None:
    """A refusal has the incarnation of the chain and no sequence number."""
    late = sent_before_the_admission(chain, put(b"past", 1, incarnation=39))
    chain.frames.append(late)
    (reply,) = chain.settle()
    assert (reply.status, reply.stamp) == (Status.UNKNOWN, Stamp(40))
    (reply,) = chain.ask(get(3))
    assert (reply.status, reply.cache_hit) == (Status.NOT_FOUND, True)


@rule(
    2,
    (
        "both",
        ("distreach/entry.p4", "meta.reports = meta.same_generation && (", "meta.reports = ("),
    ),
)
def late_message_gets_no_report_about_the_next_entry(chain: Chain) -> None:
    cached(chain)
    late = Stamp(generation=chain.generation)
    chain.evict(KEY)
    chain.admit(KEY, ENTRY)
    for switch in chain.switches:
        for op in (Op.LOAD, Op.EVICT):
            answer = switch.control(op, KEY, ENTRY, late)
            assert answer.status is Status.STALE
            assert (answer.length, answer.value, answer.stamp) == (0, b"", late)


@pytest.mark.slow
@pytest.mark.parametrize("case", rule.cases, ids=str)
def test_rule(case: Case) -> None:
    case.check()


def test_only_the_tail_counts_requests() -> None:
    registers = {
        name: {
            each.name for each in entities.Names(p4info.from_bundle(program(name))).schema.registers
        }
        for name in ("upper", "tail")
    }
    counting = {name for name in registers["tail"] if "sketch" in name or "frequency" in name}
    assert len(counting) == 5
    assert registers["tail"] - registers["upper"] == counting
    assert registers["upper"] < registers["tail"]
