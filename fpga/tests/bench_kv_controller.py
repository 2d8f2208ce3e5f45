"""The key-value controller: every trap of caches by name, and random requests against a server."""

from __future__ import annotations

import binascii
import struct
from collections.abc import Awaitable, Callable
from typing import Any

import cocotb
import frames
from kv_lab import (
    DEFAULT,
    INVALIDATE,
    LIFETIME,
    OPAQUE,
    ORDERED,
    OTHER_SERVER,
    QUERY,
    RESPONSE,
    SECOND,
    SERVER,
    STORE,
    Ends,
    Lab,
    checked,
)
from memcached import (
    ADD,
    APPEND,
    DELETE,
    DELETEQ,
    FLUSH,
    GAT,
    GET,
    GETK,
    GETKQ,
    GETQ,
    INCREMENT,
    NOOP,
    REPLACE,
    SETQ,
    TOUCH,
    Operation,
    get,
    store,
)
from streams import Frame

TOP = "kv_controller"
PARAMETERS = [
    {"FUNCTIONS": 2, "INDEX_BITS": 8, "MISS_ENTRIES": 16},
    {"FUNCTIONS": 1, "INDEX_BITS": 6, "KEY_BYTES": 32, "VALUE_BYTES": 192, "MISS_ENTRIES": 8},
]
KEY = b"key"
MUTATIONS = {
    "add": Operation(ADD, KEY, bytes(8), b"new"),
    "replace": Operation(REPLACE, KEY, bytes(8), b"new"),
    "delete": Operation(DELETE, KEY),
    "increment": Operation(INCREMENT, KEY, struct.pack(">QQI", 1, 0, 0xFFFFFFFF)),
    "append": Operation(APPEND, KEY, b"", b"new"),
    "touch": Operation(TOUCH, KEY, struct.pack(">I", 100)),
    "gat": Operation(GAT, KEY, struct.pack(">I", 100)),
    "set": store(KEY, b"new"),
    "setq": store(KEY, b"new", opcode=SETQ),
    "deleteq": Operation(DELETEQ, KEY),
    "set-if": store(KEY, b"new", cas=77),
    "set-expiring": store(KEY, b"new", expiry=5),
    "unknown": Operation(0x3F, KEY),
}


def test(**settings: Any) -> Callable[[Callable[[Lab], Awaitable[None]]], Any]:
    """A test with a lab of these settings, which has been reset."""

    def wrap(body: Callable[[Lab], Awaitable[None]]) -> Any:
        async def run(dut: Any) -> None:
            lab = Lab(dut, **settings)
            await lab.start()
            await body(lab)

        run.__name__ = run.__qualname__ = body.__name__
        run.__doc__ = body.__doc__
        return cocotb.test()(run)

    return wrap


async def fill(lab: Lab, key: bytes = KEY, value: bytes = b"old", ends: Ends = DEFAULT) -> None:
    """The server has the item, and the cache has it from a reply."""
    await lab.ask(store(key, value, opaque=lab.opaque()), ends=ends)
    await lab.ask(get(key, opaque=lab.opaque()), ends=ends)
    hit = await lab.request(get(key, opaque=lab.opaque()), ends=ends)
    assert hit is not None, f"the fixture is not in the cache: {key!r} {lab.counts}"
    assert hit.value == value


# ---- answers -------------------------------------------------------------------------------------
async def random_requests(lab: Lab) -> None:
    """In order and without loss, each hit is what the server would have answered."""
    rng = lab.bench.rng
    long = 8 * (len(lab.dut.quota) // 9 > 1)  # the larger table
    limit = 512 if long else 192
    keys = [rng.randbytes(rng.choice((1, 4, 15, 16, 17, 31, 32))) for _ in range(8)]
    keys += [rng.randbytes(length) for length in (33, 64, 65, 250)]
    sizes = (0, 1, 8, 49, 50, 51, 63, 64, 65, 128, 190, limit, limit + 1, 1000)
    hits = 0
    for number in range(900):
        key = rng.choice(keys)
        ends = Ends(server=OTHER_SERVER if rng.random() < 0.2 else Ends().server)
        server = lab.servers[ends.server]
        choice = rng.random()
        if choice < 0.6:
            asked = get(key, opcode=rng.choice((GET, GET, GETK, GETQ, GETKQ)), opaque=number)
        elif choice < 0.8:
            value = rng.randbytes(rng.choice(sizes))
            asked = store(key, value, flags=rng.getrandbits(32), opaque=number)
        elif choice < 0.9:
            asked = Operation(rng.choice((DELETE, APPEND)), key, opaque=number)
        else:
            first = Operation(DELETE, key, opaque=number)
            other = get(rng.choice(keys), opaque=number)
            second = Operation(NOOP, opaque=number)
            several = rng.sample([first, other, second], 3)
            await lab.ask(*several, ends=ends)
            continue
        held = server.items.get(key)
        found = await lab.ask(asked, ends=ends)
        if found is None:
            continue
        hits += 1
        assert held is not None, "a value of an item that is not there"
        assert (found.extras, found.value) == held[:2]
        assert found.key == (key if asked.opcode in (GETK, GETKQ) else b"")
        assert found.status == 0
        # A value that is visible early has no CAS until its acknowledgement, which may go unread.
        assert found.cas == held[2] or (not found.cas and not lab.settings["safe_writes"])
    await lab.bench.step(2)
    assert hits == lab.counts["hit"] == lab.counts["replied"]
    assert hits > 10, hits


@test(pace=None)
async def hits_are_what_the_server_answers(lab: Lab) -> None:
    await random_requests(lab)


@test(pace=None, set_mode=INVALIDATE)
async def hits_are_what_the_server_answers_if_sets_invalidate(lab: Lab) -> None:
    await random_requests(lab)
    assert lab.counts["stored"] == 0


@test(pace=None, set_mode=STORE, udp_header=0)
async def hits_are_what_the_server_answers_if_sets_store(lab: Lab) -> None:
    await random_requests(lab)
    assert lab.counts["stored"] > 20


@test(pace=None, set_mode=STORE, safe_writes=0)
async def hits_are_what_the_server_answers_with_early_writes(lab: Lab) -> None:
    await random_requests(lab)


@test()
async def figures_of_hits(lab: Lab) -> None:
    """Cycles from the last word of a GET to the first word of its reply, and to the last."""
    for size in (16, 64, 128, 256, 512):
        if size > 192 and lab.functions == 1:
            break
        key = b"k" * 16
        await fill(lab, key, bytes(size))
        data = lab.frame(lab.payload(get(key)), Ends())
        taken: list[int] = []
        first: list[int] = []
        before = lab.sink.count
        lab.source.send(Frame(data, 1, 0, {"s_kind": QUERY}))
        for _ in range(200):
            await lab.bench.step()
            if lab.source.idle and not taken:
                taken.append(lab.bench.cycle)
            if lab.sink.offered and not first:
                first.append(lab.bench.cycle)
            if lab.sink.count > before:
                break
        last = lab.sink.cycles[0][-1]
        cost = last - taken[0]
        lab.dut._log.warning(
            f"a value of {size} bytes: {first[0] - taken[0]} cycles to the first word, "
            f"{cost} to the last, {cost / (len(lab.sink.frames[0][-1].data)):.3f} a byte"
        )
        assert first[0] - taken[0] < 40
        assert cost < 40 + size / 64 + 2


@test()
async def the_index_is_crc16_of_the_key(lab: Lab) -> None:
    """Two keys with one index: the second evicts the first."""
    bits = lab.index_bits
    by_index: dict[int, list[bytes]] = {}
    for number in range(2000):
        key = b"%04d" % number
        by_index.setdefault(binascii.crc_hqx(key, 0) >> (16 - bits), []).append(key)
    first, second = next(each for each in by_index.values() if len(each) > 1)[:2]
    third = next(each for index, each in by_index.items() if first not in each)[0]
    for key in (first, third):
        await fill(lab, key)
    assert await lab.request(get(second)) is None
    await fill(lab, second)
    assert await lab.request(get(third)) is not None
    assert lab.counts["evicted"] == 1
    assert await lab.request(get(first)) is None


@test()
async def request_without_checksum_is_answered(lab: Lab) -> None:
    await fill(lab)
    data = bytearray(lab.frame(lab.payload(get(KEY)), Ends()))
    data[40:42] = bytes(2)
    out = await lab.passes(bytes(data), QUERY)
    assert out.beside["m_host"]
    assert checked(out.data)


# ---- fills ---------------------------------------------------------------------------------------
@test()
async def old_reply_does_not_fill_after_a_mutation(lab: Lab) -> None:
    """GET misses, a mutation passes, the old reply comes."""
    for number, (name, mutation) in enumerate(MUTATIONS.items()):
        key = b"key%d" % number
        changes = Operation(**{**mutation.__dict__, "key": key, "opaque": 900})
        old = Operation(GET, extras=bytes(4), value=b"old", opaque=number, magic=0x81)
        assert await lab.request(get(key, opaque=number)) is None
        await lab.request(changes)
        await lab.reply(old)
        assert await lab.request(get(key, opaque=500 + number)) is None, name
        # Nor with the reply to the mutation before it.
        key = b"Key%d" % number
        changes = Operation(**{**mutation.__dict__, "key": key, "opaque": 901})
        assert await lab.request(get(key, opaque=100 + number)) is None
        await lab.request(changes)
        await lab.reply(Operation(changes.opcode, opaque=901, magic=0x81))
        await lab.reply(Operation(**{**old.__dict__, "opaque": 100 + number}))
        assert await lab.request(get(key, opaque=600 + number)) is None, name
        await lab.units(LIFETIME + 3)


@test()
async def reply_does_not_fill_while_a_mutation_is_unanswered(lab: Lab) -> None:
    """The GET passes behind the mutation, and overtakes it on its way."""
    for number, (name, mutation) in enumerate(MUTATIONS.items()):
        key = b"key%d" % number
        changes = Operation(**{**mutation.__dict__, "key": key, "opaque": 900})
        old = Operation(GET, extras=bytes(4), value=b"old", opaque=number, magic=0x81)
        await lab.request(changes)
        assert await lab.request(get(key, opaque=number)) is None
        await lab.reply(old)
        assert await lab.request(get(key, opaque=500)) is None, name
        await lab.reply(Operation(changes.opcode, opaque=900, magic=0x81))
        assert await lab.request(get(key, opaque=501)) is None, name
        await lab.units(LIFETIME + 3)


@test()
async def fills_come_again_after_the_lifetime_of_a_lost_mutation(lab: Lab) -> None:
    await lab.request(Operation(DELETEQ, KEY))
    await lab.units(LIFETIME // 2)
    await lab.ask(get(KEY, opaque=4))
    lab.servers[Ends().server].items[KEY] = (bytes(4), b"value", 7)
    assert await lab.ask(get(KEY, opaque=5)) is None
    assert await lab.ask(get(KEY, opaque=6)) is None, "the mutation may still be on its way"
    await lab.units(LIFETIME + 20)
    assert await lab.ask(get(KEY, opaque=7)) is None
    hit = await lab.ask(get(KEY, opaque=8))
    assert hit is not None
    assert (hit.value, hit.cas) == (b"value", 7)


@test()
async def replies_that_are_no_values_do_not_fill(lab: Lab) -> None:
    bad: list[tuple[str, list[Operation]]] = [
        ("not-found", [Operation(GET, value=b"Not found", status=1, magic=0x81)]),
        ("error-with-extras", [Operation(GET, b"", bytes(4), b"x", status=0x82, magic=0x81)]),
        ("no-extras", [Operation(GET, value=b"x", magic=0x81)]),
        ("long-extras", [Operation(GET, extras=bytes(8), value=b"x", magic=0x81)]),
        ("too-long", [Operation(GET, extras=bytes(4), value=bytes(600), magic=0x81)]),
        (
            "two-in-a-datagram",
            [Operation(GET, extras=bytes(4), value=b"x", magic=0x81), Operation(NOOP, magic=0x81)],
        ),
        ("a-request", [Operation(GET, extras=bytes(4), value=b"x", magic=0x80)]),
    ]
    for number, (name, replies) in enumerate(bad):
        key = b"key%d" % number
        assert await lab.request(get(key)) is None
        await lab.reply(*replies)
        assert await lab.request(get(key, opaque=9)) is None, name
        await lab.units(LIFETIME + 3)
    assert lab.counts["filled"] == 0


@test()
async def reply_in_several_datagrams_does_not_fill(lab: Lab) -> None:
    for number, (sequence, total) in enumerate(((0, 2), (1, 2))):
        key = b"key%d" % number
        assert await lab.request(get(key)) is None
        part = Operation(GET, extras=bytes(4), value=b"x", magic=0x81).encode()
        data = lab.frame(struct.pack(">HHHH", lab.request_id, sequence, total, 0) + part, Ends())
        data = frames.udp_frame(
            struct.pack(">HHHH", lab.request_id, sequence, total, 0) + part, response=True
        )
        out = await lab.passes(data, RESPONSE)
        assert (out.data, out.beside["m_host"]) == (data, 1)
        assert await lab.request(get(key, opaque=9)) is None


@test()
async def nothing_is_filled_before_the_lifetime_of_an_unseen_mutation(lab: Lab) -> None:
    await fill(lab)
    await lab.foreign_write()
    assert await lab.ask(get(KEY, opaque=1)) is None
    assert await lab.ask(get(KEY, opaque=2)) is None
    assert not int(lab.dut.quiet.value) & 1
    await lab.units(LIFETIME + 3)
    assert await lab.ask(get(KEY, opaque=3)) is None
    assert await lab.ask(get(KEY, opaque=4)) is not None


@test()
async def reply_from_before_an_unseen_mutation_does_not_fill(lab: Lab) -> None:
    assert await lab.request(get(KEY, opaque=1)) is None
    await lab.foreign_write()
    await lab.reply(Operation(GET, extras=bytes(4), value=b"old", opaque=1, magic=0x81))
    assert await lab.request(get(KEY, opaque=2)) is None


@test()
async def get_behind_an_unseen_mutation_does_not_fill_after_its_lifetime(lab: Lab) -> None:
    """The GET overtakes the unseen mutation, and its reply comes when the quiet time is over."""
    await lab.foreign_write()
    await lab.units(LIFETIME - 4)
    assert await lab.request(get(KEY, opaque=1)) is None
    await lab.units(8)
    assert int(lab.dut.quiet.value) & 1
    await lab.reply(Operation(GET, extras=bytes(4), value=b"old", opaque=1, magic=0x81))
    assert await lab.request(get(KEY, opaque=2)) is None


@test()
async def item_with_expiry_is_never_filled(lab: Lab) -> None:
    await lab.ask(store(KEY, b"value", expiry=3))
    for opaque in (1, 2, 3):
        assert await lab.ask(get(KEY, opaque=opaque)) is None


@test()
async def maximum_age_bounds_what_is_served(lab: Lab) -> None:
    lab.set(max_age=30)
    await fill(lab)
    await lab.units(28)
    assert await lab.request(get(KEY)) is not None
    await lab.units(6)
    assert await lab.request(get(KEY)) is None


# ---- SETs ----------------------------------------------------------------------------------------
@test()
async def set_that_is_lost_is_never_served(lab: Lab) -> None:
    await fill(lab)
    await lab.request(store(KEY, b"lost", opaque=5))
    for _ in range(3):
        assert await lab.request(get(KEY, opaque=6)) is None
        await lab.units(LIFETIME)
    assert lab.counts["stored"] == 1


@test()
async def set_that_the_server_refuses_is_not_served(lab: Lab) -> None:
    for safe in (1, 0):
        lab.set(safe_writes=safe)
        key = b"key%d" % safe
        await fill(lab, key)
        await lab.request(store(key, b"refused", opaque=5))
        seen = await lab.request(get(key, opaque=6))
        assert (seen is None) if safe else (seen is not None and seen.value == b"refused")
        await lab.reply(Operation(1, opaque=5, status=0x82, magic=0x81))
        assert await lab.request(get(key, opaque=7)) is None


@test()
async def set_is_served_after_its_acknowledgement(lab: Lab) -> None:
    await fill(lab)
    assert await lab.ask(store(KEY, b"next", flags=5, opaque=5)) is None
    hit = await lab.request(get(KEY, opaque=6))
    assert hit is not None
    assert (hit.extras, hit.value, hit.cas) == (*lab.servers[Ends().server].items[KEY],)
    assert (lab.counts["stored"], lab.counts["visible"]) == (1, 1)


@test(set_mode=STORE)
async def set_does_not_hide_a_mutation_that_passed_before(lab: Lab) -> None:
    """The server may get them in the other order."""
    await fill(lab)
    await lab.request(Operation(DELETE, KEY, opaque=4))
    await lab.request(store(KEY, b"new", opaque=5))
    await lab.reply(Operation(1, opaque=5, cas=9, magic=0x81))
    assert await lab.request(get(KEY, opaque=6)) is None


@test(set_mode=STORE)
async def set_does_not_become_visible_after_a_later_mutation(lab: Lab) -> None:
    for number, mutation in enumerate((Operation(DELETE, KEY, opaque=4), store(KEY, b"b"))):
        key = b"key%d" % number
        await lab.request(store(key, b"a", opaque=5))
        await lab.request(Operation(**{**mutation.__dict__, "key": key, "opaque": 4}))
        await lab.reply(Operation(1, opaque=5, cas=9, magic=0x81))
        assert await lab.request(get(key, opaque=6)) is None


@test(set_mode=STORE)
async def set_during_a_quiet_mutation_is_not_stored(lab: Lab) -> None:
    """Nobody answers the quiet one, so the SET is visible only if nothing else is on its way."""
    await lab.request(store(KEY, b"quiet", opcode=SETQ))
    await lab.request(store(KEY, b"a", opaque=5))
    await lab.reply(Operation(1, opaque=5, cas=9, magic=0x81))
    assert await lab.request(get(KEY, opaque=6)) is None


@test()
async def sets_update_only_what_is_there(lab: Lab) -> None:
    await lab.ask(store(KEY, b"new"))
    assert await lab.request(get(KEY)) is None
    assert lab.counts["stored"] == 0


@test(set_mode=STORE, safe_writes=0)
async def sets_that_depend_on_more_are_not_stored(lab: Lab) -> None:
    for number, each in enumerate(
        (
            store(KEY, b"a", cas=3),
            store(KEY, b"a", expiry=3),
            store(KEY, bytes(600)),
            store(KEY, b"a", opcode=ADD),
            store(KEY, b"a", opcode=REPLACE),
        )
    ):
        key = b"key%d" % number
        await lab.request(Operation(**{**each.__dict__, "key": key, "opaque": number}))
        assert await lab.request(get(key, opaque=50 + number)) is None
    assert lab.counts["stored"] == 0


# ---- mutations -----------------------------------------------------------------------------------
@test()
async def mutation_invalidates_before_the_server_has_it(lab: Lab) -> None:
    for number, (name, mutation) in enumerate(MUTATIONS.items()):
        key = b"key%d" % number
        await fill(lab, key)
        await lab.request(Operation(**{**mutation.__dict__, "key": key}))
        assert await lab.request(get(key, opaque=3)) is None, name
        await lab.units(LIFETIME + 3)


@test()
async def mutation_anywhere_in_a_datagram_is_seen(lab: Lab) -> None:
    for place in range(4):
        key = b"key%d" % place
        await fill(lab, key)
        operations = [get(b"other"), Operation(NOOP), get(b"another", opcode=GETQ)]
        operations.insert(place, Operation(DELETE, key))
        await lab.request(*operations)
        assert await lab.request(get(key)) is None, place
        await lab.units(LIFETIME + 3)


@test()
async def get_in_a_larger_datagram_is_not_answered(lab: Lab) -> None:
    await fill(lab)
    assert await lab.request(get(KEY), Operation(NOOP)) is None
    assert await lab.request(get(KEY, opcode=GETQ), Operation(NOOP)) is None


@test()
async def flush_ends_all_entries(lab: Lab) -> None:
    await fill(lab)
    await lab.ask(Operation(FLUSH))
    assert await lab.request(get(KEY)) is None
    assert lab.counts["advance_epoch"] == 1
    assert not int(lab.dut.pause.value)


def delayed(seconds: int) -> Operation:
    return Operation(FLUSH, extras=struct.pack(">I", seconds))


@test()
async def delayed_flush_ends_hits_while_it_may_take_effect(lab: Lab) -> None:
    """Three seconds before it to three behind it."""
    await fill(lab)
    await lab.ask(delayed(10))
    served = []
    for second in range(22):
        if second == 8:
            lab.servers[SERVER].items.clear()
            lab.servers[SERVER].answer(store(KEY, b"new"))
        served.append(await lab.ask(get(KEY, opaque=lab.opaque())) is not None)
        await lab.units(SECOND)
    assert all(served[:6]), served
    assert not any(served[8:14]), served
    assert all(served[-3:]), served


@test()
async def delayed_flush_of_a_group_leaves_others_on(lab: Lab) -> None:
    ends = [Ends(function=each) for each in range(lab.functions)]
    for each in ends:
        await fill(lab, ends=each)
    await lab.ask(delayed(1), ends=ends[0])
    for each in ends:
        served = await lab.request(get(KEY, opaque=lab.opaque()), ends=each) is not None
        assert served == (each.function != 0)


@test()
async def flush_whose_time_is_not_known_is_not_sent_on(lab: Lab) -> None:
    """A time of day before the card knows it; a fifth delay."""
    await fill(lab)
    before = lab.sink.count
    for seconds in (1_700_000_000, 100, 200, 300, 400, 500):
        data = lab.frame(lab.payload(delayed(seconds)), Ends())
        lab.source.send(Frame(data, 1, 0, {"s_kind": QUERY}))
        await lab.bench.step(300)
    assert lab.sink.count == before + 4
    assert int(lab.dut.flushes_under_way.value) == 4
    assert await lab.request(get(KEY)) is not None


IGNORED = {
    "text-that-reads": b"get key\r\n",
    "text-without-an-end": b"set key 0 0 3",
    "no-command": b"hello\r\n",
    "magic": b"\x81" + get(b"abc").encode()[1:],
    "short": get(b"abc").encode()[:12],
    "no-key": get(b"abc").encode()[:2] + b"\0\0" + get(b"abc").encode()[4:],
    "behind": get(b"abc").encode() + b"\x80\x04\0\3\0",
}
CHANGING = {
    "ascii": b"set key 0 0 3\r\nnew\r\n",
    "blanks": b"  set key 0 0 3\r\nnew\r\n",
    "second-line": b"get a\r\ndelete key\r\n",
    "far-behind": b"get %s\r\ntouch key 9\r\n" % (b"a" * 300),
    "flush": b"flush_all\r\n",
    "long-body": store(KEY, b"new").encode()[:8] + b"\0\0\1\0" + store(KEY, b"new").encode()[12:],
}


@test()
async def request_that_the_server_ignores_leaves_all_entries(lab: Lab) -> None:
    await fill(lab)
    headers = {
        "second-part": struct.pack(">HHHH", 1, 1, 2, 0) + store(KEY, b"new").encode(),
        "several-parts": struct.pack(">HHHH", 1, 0, 2, 0) + store(KEY, b"new").encode(),
    }
    bad = {name: frames.datagram(payload) for name, payload in IGNORED.items()} | headers
    for name, payload in bad.items():
        data = lab.frame(payload, Ends())
        out = await lab.passes(data, QUERY)
        assert (out.data, out.beside["m_host"]) == (data, 0), name
        await lab.bench.step(2)
        assert await lab.request(get(KEY, opaque=lab.opaque())) is not None, name
    assert lab.counts["malformed"] == len(bad)
    assert lab.counts["advance_epoch"] == 0


@test()
async def malformed_request_ends_all_entries(lab: Lab) -> None:
    for name, command in CHANGING.items():
        await fill(lab)
        epoch = int(lab.dut.epochs.value) & 0xFFFFFFFF
        data = lab.frame(frames.datagram(command), Ends())
        out = await lab.passes(data, QUERY)
        assert (out.data, out.beside["m_host"]) == (data, 0), name
        await lab.bench.step(2)
        assert int(lab.dut.epochs.value) & 0xFFFFFFFF == epoch + 1, name
        assert await lab.request(get(KEY, opaque=9)) is None, name
        await lab.units(LIFETIME + 3)


@test()
async def opaque_frame_ends_all_entries_behind_it(lab: Lab) -> None:
    """Frames in front of it are answered; it and those behind it keep their order."""
    await fill(lab)
    rng = lab.bench.rng
    question = lab.frame(lab.payload(get(KEY)), Ends())
    before = lab.sink.count
    opaque = rng.randbytes(9000)
    ordered = rng.randbytes(100)
    for data, kind in ((question, QUERY), (ordered, ORDERED), (opaque, OPAQUE), (question, QUERY)):
        lab.source.send(Frame(data, 1, 0, {"s_kind": kind}))
    await lab.bench.until(lambda: lab.sink.count == before + 4, 2000)
    first, second, third, fourth = lab.sink.frames[0][before:]
    assert first.beside["m_host"]
    assert (second.data, third.data) == (ordered, opaque)
    assert (fourth.data, fourth.beside["m_host"]) == (question, 0)
    assert lab.counts["advance_epoch"] == 1


# ---- tags ----------------------------------------------------------------------------------------
def value_of(key: bytes, opaque: int = 0) -> Operation:
    return Operation(GET, extras=bytes(4), value=b"value of " + key, opaque=opaque, magic=0x81)


@test()
async def requests_with_one_opaque_are_not_mixed_up(lab: Lab) -> None:
    """The replies come in the other order."""
    for opaque in (0, 7):
        keys = [b"a%d" % opaque, b"b%d" % opaque]
        for key in keys:
            assert await lab.request(get(key, opaque=opaque)) is None
        for key in reversed(keys):
            await lab.reply(value_of(key, opaque))
        for key in keys:
            assert await lab.request(get(key, opaque=50)) is None


@test()
async def opaque_of_a_request_without_an_entry_is_remembered(lab: Lab) -> None:
    long = bytes(250)
    before: list[list[Operation]] = [
        [get(b"first"), Operation(NOOP)],
        [get(long)],
    ]
    for number, operations in enumerate(before):
        key = b"key%d" % number
        await lab.request(*operations)
        assert await lab.request(get(key)) is None
        await lab.reply(value_of(b"first"))
        assert await lab.request(get(key, opaque=1)) is None
        await lab.units(LIFETIME + 3)


@test()
async def opaque_may_be_used_again_after_the_reply(lab: Lab) -> None:
    for number in range(5):
        key = b"key%d" % number
        await lab.ask(store(key, b"x"))
        assert await lab.ask(get(key)) is None
        assert await lab.request(get(key)) is not None


@test(single_use=1)
async def copied_reply_does_not_fill_a_later_request(lab: Lab) -> None:
    assert await lab.request(get(b"a")) is None
    await lab.reply(value_of(b"a"))
    assert await lab.request(get(b"b")) is None
    await lab.reply(value_of(b"a"))
    assert await lab.request(get(b"b", opaque=1)) is None
    assert await lab.request(get(b"a")) is not None


@test()
async def clients_servers_and_functions_are_told_apart(lab: Lab) -> None:
    """One opaque, everywhere; each gets its own value."""
    every = [
        Ends(),
        Ends(client=("10.0.0.2", 40000)),
        Ends(client=("10.0.0.1", 40001)),
        Ends(server=OTHER_SERVER),
    ]
    if lab.functions > 1:
        lab.set_groups([0, 0])
        every.append(Ends(function=1))
    for backwards in (False, True):
        keys = {each: b"key%d%d" % (number, backwards) for number, each in enumerate(every)}
        for each, key in keys.items():
            assert await lab.request(get(key), ends=each) is None
        for each, key in reversed(keys.items()) if backwards else keys.items():
            await lab.reply(value_of(key), ends=each)
        for each, key in keys.items():
            hit = await lab.request(get(key, opaque=5), ends=each)
            assert hit is not None
            assert hit.value == b"value of " + key
            await lab.bench.step(20)


@test()
async def one_key_of_two_servers_is_two_items(lab: Lab) -> None:
    await fill(lab, value=b"first")
    other = Ends(server=OTHER_SERVER)
    assert await lab.request(get(KEY, opaque=3), ends=other) is None
    hit = await lab.request(get(KEY, opaque=5))
    assert hit is not None
    assert hit.value == b"first"


def keys_of_an_entry(lab: Lab, *, one_guard: bool) -> tuple[bytes, bytes]:
    """Two keys with one index; with one place in the guard table, or with two."""
    bits = lab.index_bits
    seen: dict[int, bytes] = {}
    number = 0
    while True:
        key = b"entry%d" % number
        number += 1
        place = binascii.crc_hqx(key, 0)
        other = seen.setdefault(place >> (16 - bits), key)
        same = binascii.crc_hqx(other, 0) >> 4 == place >> 4
        if other != key and same == one_guard:
            return other, key


@test(set_mode=STORE)
async def acknowledgement_is_for_its_own_store_only(lab: Lab) -> None:
    """The entry of an unanswered SET goes to a SET that never reaches the server."""
    first, second = keys_of_an_entry(lab, one_guard=False)
    assert await lab.request(store(first, b"first", opaque=1)) is None
    assert await lab.request(store(second, b"second", opaque=2)) is None
    await lab.reply(*lab.serve(store(first, b"first", opaque=1)))
    assert await lab.request(get(second, opaque=3)) is None


@test()
async def reply_to_a_delete_changes_no_other_entry(lab: Lab) -> None:
    """The DELETE has the number of the fill before it."""
    first, second = keys_of_an_entry(lab, one_guard=False)
    await lab.ask(store(first, b"to be deleted", opaque=1))
    await lab.ask(store(second, b"value", opaque=2))
    await lab.ask(get(second, opaque=3))
    await lab.ask(Operation(DELETE, first, opaque=4))
    hit = await lab.request(get(second, opaque=5))
    assert hit is not None
    assert hit.cas == lab.servers[SERVER].items[second][2]


@test()
async def keys_that_differ_by_a_zero_are_told_apart(lab: Lab) -> None:
    """Keys stand in the table with zeros behind them."""
    shift = 16 - lab.index_bits
    number = 0
    while True:
        key = b"zero%d" % number
        number += 1
        if binascii.crc_hqx(key, 0) >> shift == binascii.crc_hqx(key + b"\0", 0) >> shift:
            break
    for held, asked in ((key, key + b"\0"), (key + b"\0", key)):
        await fill(lab, held, b"value")
        assert await lab.request(get(asked, opaque=lab.opaque())) is None


@test()
async def one_key_at_two_ports_is_two_items(lab: Lab) -> None:
    port = Ends(server=(SERVER[0], SERVER[1] + 1))
    await fill(lab, value=b"first")
    assert await lab.request(get(KEY, opaque=3), ends=port) is None


@test()
async def requests_that_differ_in_one_field_are_both_filled(lab: Lab) -> None:
    port = Ends(client=("10.0.0.1", 40001))
    server_port = Ends(server=(SERVER[0], SERVER[1] + 1))
    pairs = {
        "opcode": ((GET, 7, DEFAULT), (GETK, 7, DEFAULT)),
        "opaque": ((GET, 7, DEFAULT), (GET, 8, DEFAULT)),
        "client-port": ((GET, 7, DEFAULT), (GET, 7, port)),
        "server-port": ((GET, 7, DEFAULT), (GET, 7, server_port)),
    }
    for field, pair in pairs.items():
        keys = [b"%s%d" % (field.encode(), number) for number in range(2)]
        for key, (opcode, opaque, ends) in zip(keys, pair, strict=True):
            asked = get(key, opcode=opcode, opaque=opaque)
            assert await lab.request(asked, ends=ends) is None
        for key, (opcode, opaque, ends) in zip(keys, pair, strict=True):
            echoed = key if opcode == GETK else b""
            answer = Operation(opcode, echoed, bytes(4), b"value of " + key, opaque, 1, magic=0x81)
            await lab.reply(answer, ends=ends)
        for key, (_, _, ends) in zip(keys, pair, strict=True):
            hit = await lab.request(get(key, opaque=lab.opaque()), ends=ends)
            assert hit is not None, field
            assert hit.value == b"value of " + key


@test(set_mode=STORE)
async def set_behind_an_unseen_mutation_is_not_stored(lab: Lab) -> None:
    """The SET overtakes the unseen mutation, and its reply comes when the quiet time is over."""
    await lab.foreign_write()
    await lab.units(LIFETIME - 4)
    asked = store(KEY, b"first", opaque=1)
    assert await lab.request(asked) is None
    await lab.units(8)
    assert int(lab.dut.quiet.value) & 1
    await lab.reply(*lab.serve(asked))
    assert await lab.request(get(KEY, opaque=2)) is None


@test()
async def full_miss_table_does_not_mix_up_requests(lab: Lab) -> None:
    for number in range(40):
        assert await lab.request(get(b"key%d" % number, opaque=number)) is None
    for number in reversed(range(40)):
        await lab.reply(value_of(b"key%d" % number, number))
    filled = 0
    for number in range(40):
        hit = await lab.request(get(b"key%d" % number, opaque=100 + number))
        if hit is not None:
            assert hit.value == b"value of key%d" % number
            filled += 1
    assert 0 < filled <= 16


# ---- tenants -------------------------------------------------------------------------------------
@test()
async def groups_never_read_each_others_entries(lab: Lab) -> None:
    if lab.functions == 1:
        return
    other = Ends(function=1)
    await fill(lab, value=b"first")
    assert await lab.request(get(KEY, opaque=3), ends=other) is None
    await lab.request(Operation(DELETE, KEY, opaque=4), ends=other)
    await lab.ask(Operation(FLUSH, opaque=6), ends=other)
    hit = await lab.request(get(KEY, opaque=5))
    assert hit is not None, "another group's mutation or flush"


@test()
async def functions_of_a_group_share_entries(lab: Lab) -> None:
    if lab.functions == 1:
        return
    lab.set_groups([0, 0])
    other = Ends(function=1)
    await fill(lab)
    assert await lab.request(get(KEY, opaque=3), ends=other) is not None
    await lab.ask(Operation(DELETE, KEY, opaque=4), ends=other)
    assert await lab.request(get(KEY, opaque=5)) is None


@test()
async def groups_never_evict_each_others_entries(lab: Lab) -> None:
    if lab.functions == 1:
        return
    lab.set_groups([0, 1], mask=0x7FFF, step=0x8000)
    other = Ends(function=1)
    keys = [b"key%d" % number for number in range(10)]
    for key in keys:
        await fill(lab, key)
    held = [key for key in keys if await lab.request(get(key)) is not None]
    for number in range(200):
        await lab.ask(get(b"noise%d" % number, opaque=number), ends=other)
        lab.servers[Ends().server].items[b"noise%d" % number] = (bytes(4), b"x", 1)
        await lab.ask(get(b"noise%d" % number, opaque=1000 + number), ends=other)
    assert lab.counts["filled"] > 150
    for key in held:
        assert await lab.request(get(key)) is not None


@test()
async def functions_keep_their_share_of_the_miss_table(lab: Lab) -> None:
    if lab.functions == 1:
        return
    lab.quota(8, 8)
    other = Ends(function=1)
    for number in range(100):
        await lab.request(get(b"noise", opaque=number), ends=other)
    for number in range(8):
        key = b"key%d" % number
        assert await lab.request(get(key, opaque=number)) is None
    for number in range(8):
        await lab.reply(value_of(b"key%d" % number, number))
    for number in range(8):
        assert await lab.request(get(b"key%d" % number, opaque=50)) is not None
