"""Each way to a stale or wrong value that a cache before memcached has, as a test of the RTL.


A test ends with reads of its keys: what LaKe serves must be what the server has. Mutants of the RTL
show that these tests find what they are for (test_lake_mutants.py).
"""

from __future__ import annotations

import dataclasses
import random
import zlib
from collections.abc import Callable, Iterator

import pytest

from tests.fpga.packets import Operation, frames, get, memcached, store
from tests.schemes.lake.lake import CLIENT, HOST, LIFETIME, OTHER, UNIT, Client, Lab, Reply, Request

KEY, KEY2 = b"key1", b"key2"
FAULTS = (
    "none",
    "get-lost",
    "get-reply-lost",
    "mutation-lost",
    "mutation-reply-lost",
    "get-copied",
    "get-reply-copied",
    "mutation-reply-copied",
)
MUTATIONS: dict[str, Callable[[bytes], Operation]] = {
    "set": lambda key: store(key, b"new", opaque=2),
    "setq": lambda key: store(key, b"new", opcode=memcached.SETQ),
    "set-with-expiry": lambda key: store(key, b"new", expiry=1000, opaque=2),
    "set-of-large-value": lambda key: store(key, bytes(1000), opaque=2),
    "set-with-wrong-cas": lambda key: store(key, b"new", cas=999, opaque=2),
    "add": lambda key: store(key, b"new", opcode=memcached.ADD, opaque=2),
    "replace": lambda key: store(key, b"new", opcode=memcached.REPLACE, opaque=2),
    "delete": lambda key: Operation(memcached.DELETE, key, opaque=2),
    "deleteq": lambda key: Operation(memcached.DELETEQ, key),
    "append": lambda key: Operation(memcached.APPEND, key, value=b"more", opaque=2),
    "increment": lambda key: Operation(memcached.INCREMENT, key, bytes(7) + b"\1" + bytes(12)),
    "touch": lambda key: Operation(memcached.TOUCH, key, (5).to_bytes(4, "big"), opaque=2),
    "get-and-touch": lambda key: Operation(memcached.GAT, key, (5).to_bytes(4, "big"), opaque=2),
    "flush": lambda _: Operation(memcached.FLUSH, opaque=2),
}


def interleavings(first: str, second: str) -> Iterator[str]:
    """All orders that keep the order of each."""
    if not first or not second:
        yield first + second
        return
    for rest in interleavings(first[1:], second):
        yield first[0] + rest
    for rest in interleavings(first, second[1:]):
        yield second[0] + rest


def race(lab: Lab, key: bytes, order: str, mutation: Operation, fault: str, *, probe: bool) -> None:
    """A GET (abc) and a mutation (ABC): a passes LaKe, b is executed, c is answered."""
    lab.hold(key, b"1")
    asked = {"a": (CLIENT, get(key, opaque=1)), "A": (OTHER, mutation)}
    requests: dict[str, Request | None] = {}
    replies: dict[str, list[Reply]] = {}
    late: list[Reply] = []
    for step in order:
        kind = "get" if step.islower() else "mutation"
        first = "a" if step.islower() else "A"
        match step.lower():
            case "a":
                client, operation = asked[first]
                requests[first] = lab.request(operation, client=client)
            case "b":
                request = requests[first]
                replies[first] = []
                if request is not None and fault != f"{kind}-lost":
                    replies[first] = lab.execute(request)
                    if fault == f"{kind}-copied":
                        replies[first] += lab.execute(request)
            case "c":
                if fault != f"{kind}-reply-lost":
                    for reply in replies[first]:
                        lab.deliver(reply)
                        if fault == f"{kind}-reply-copied":
                            late.append(reply)
        if probe:
            lab.is_hit(key)
    for reply in late:
        lab.deliver(reply)
    lab.is_hit(key)
    lab.settle([key])


@pytest.mark.parametrize("fault", FAULTS)
def test_fill_race_with_a_set_in_every_order(lab: Lab, fault: str) -> None:
    number = 0
    for order in interleavings("abc", "ABC"):
        for probe in (False, True):
            number += 1
            key = b"%s%d" % (KEY, number)
            race(lab, key, order, MUTATIONS["set"](key), fault, probe=probe)
    assert lab.lake.read("filled") >= 10
    assert lab.lake.read("misses") > 10


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_fill_race_with_every_mutation(lab: Lab, mutation: str) -> None:
    for number, order in enumerate(interleavings("abc", "ABC")):
        key = b"%s%d" % (KEY, number)
        race(lab, key, order, MUTATIONS[mutation](key), "none", probe=False)
        race(
            lab,
            key + b"lost",
            order,
            MUTATIONS[mutation](key + b"lost"),
            "mutation-reply-lost",
            probe=False,
        )


def test_fill_race_with_two_sets_in_every_order(lab: Lab) -> None:
    """Two SETs that the server gets, and answers, in every order."""
    for number, order in enumerate(interleavings("abc", "ABC")):
        key = b"%s%d" % (KEY, number)
        lab.fill(key, b"old")
        values = {"a": b"first", "A": b"second"}
        requests, replies = {}, {}
        for step in order:
            first = "a" if step.islower() else "A"
            match step.lower():
                case "a":
                    requests[first] = lab.forwarded(store(key, values[first], opaque=ord(first)))
                case "b":
                    replies[first] = lab.execute(requests[first])
                case _:
                    for reply in replies[first]:
                        lab.deliver(reply)
            lab.is_hit(key)
        lab.settle([key])


# ---- SET ---------------------------------------------------------------------------------------


def test_set_is_not_visible_before_its_reply(lab: Lab) -> None:
    lab.fill(KEY, b"old")
    request = lab.forwarded(store(KEY, b"new"))
    assert not lab.is_hit(KEY)
    for reply in lab.execute(request):
        lab.deliver(reply)
    assert lab.is_hit(KEY)


def test_set_that_is_lost_is_never_served(lab: Lab) -> None:
    lab.fill(KEY, b"old")
    lab.forwarded(store(KEY, b"new"))
    for _ in range(3):
        assert not lab.is_hit(KEY), "the SET may still arrive"
    lab.settle([KEY])
    assert lab.is_hit(KEY), "a lost SET forbids fills for ever"


@pytest.mark.parametrize("status", [0x03, 0x05, 0x82])
def test_set_that_the_server_rejects_is_not_served(lab: Lab, status: int) -> None:
    lab.fill(KEY, b"old")
    request = lab.forwarded(store(KEY, b"new", opaque=9))
    refusal = Operation(memcached.SET, opaque=9, status=status, magic=0x81, value=b"No.")
    lab.deliver(reply_to(lab, request.client, refusal, request.request_id))
    lab.is_hit(KEY)
    lab.settle([KEY])


@pytest.mark.parametrize("safe", [True, False], ids=["safe", "paper"])
def test_conditional_sets_are_not_applied_early(lab: Lab, safe: bool) -> None:
    """Also with early writes, as in the paper: only a SET that cannot fail is applied early."""
    lab.lake.write("options", 0b1101 | safe << 1)
    conditions = [
        store(KEY, b"new", cas=12345),
        store(KEY, b"new", opcode=memcached.ADD),
        store(KEY, b"new", opcode=memcached.REPLACE, cas=77),
        store(KEY2, b"new", cas=1),
        store(KEY2, b"new", opcode=memcached.REPLACE),
    ]
    for condition in conditions:
        lab.fill(KEY, b"old")
        request = lab.forwarded(condition)
        assert not lab.is_hit(condition.key), "a SET that may fail is served"
        for reply in lab.execute(request):
            lab.deliver(reply)
        lab.settle([KEY, KEY2])


def test_set_does_not_hide_an_older_delete_on_its_way(lab: Lab) -> None:
    """The DELETE passes first, and the server gets it last."""
    for quiet in (False, True):
        lab.fill(KEY, b"old")
        delete = lab.forwarded(
            Operation(memcached.DELETEQ if quiet else memcached.DELETE, KEY, opaque=3)
        )
        for reply in lab.execute(lab.forwarded(store(KEY, b"new", opaque=4), client=OTHER)):
            lab.deliver(reply)
        assert not lab.is_hit(KEY)
        for reply in lab.execute(delete):
            lab.deliver(reply)
        lab.is_hit(KEY)
        lab.settle([KEY])


def test_paper_mode_serves_a_set_before_its_reply(lab: Lab) -> None:
    lab.lake.write("options", 0b1101)
    lab.histories[KEY].add(bytes(4) + b"new")
    lab.forwarded(store(KEY, b"new"))
    assert lab.is_hit(KEY)


# ---- mutations that invalidate -----------------------------------------------------------------


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_mutation_invalidates_before_the_server_has_it(lab: Lab, mutation: str) -> None:
    lab.fill(KEY, b"1")
    request = lab.forwarded(MUTATIONS[mutation](KEY))
    assert not lab.is_hit(KEY)
    replies = lab.execute(request)
    for reply in replies:
        lab.deliver(reply)
    lab.is_hit(KEY)
    lab.settle([KEY])


@pytest.mark.parametrize("mutation", ["deleteq", "setq"])
def test_quiet_mutation_forbids_fills_for_its_lifetime(lab: Lab, mutation: str) -> None:
    lab.fill(KEY, b"old")
    quiet = lab.forwarded(MUTATIONS[mutation](KEY))
    read = lab.execute(lab.forwarded(get(KEY, opaque=5), client=OTHER))
    lab.execute(quiet)
    for reply in read:
        lab.deliver(reply)
    lab.settle([KEY])
    assert (KEY in lab.server.items) == lab.is_hit(KEY), "fills are forbidden for ever"


# ---- expiry ------------------------------------------------------------------------------------


def test_set_with_expiry_is_never_served_after_it(lab: Lab) -> None:
    lab.ask(store(KEY, b"short", expiry=1))
    lab.advance(2)
    assert not lab.is_hit(KEY)
    lab.settle([KEY])


def test_item_with_expiry_is_never_filled(lab: Lab) -> None:
    lab.ask(store(KEY, b"short", expiry=1))
    lab.settle([KEY])
    lab.is_hit(KEY)
    lab.advance(2)
    assert not lab.is_hit(KEY)


@pytest.mark.parametrize("opcode", [memcached.TOUCH, memcached.GAT])
def test_touch_gives_a_cached_item_its_expiry(lab: Lab, opcode: int) -> None:
    lab.fill(KEY, b"long")
    lab.ask(Operation(opcode, KEY, (1).to_bytes(4, "big")))
    lab.settle([KEY])
    lab.advance(2)
    assert not lab.is_hit(KEY)


def test_maximum_age_bounds_what_is_served(lab: Lab) -> None:
    """For expiries that were given before LaKe was there."""
    lab.fill(KEY, b"old")
    lab.lake.write("max_age", 10)
    assert lab.is_hit(KEY)
    lab.lake.design.step(12 * UNIT)
    assert not lab.is_hit(KEY)
    assert lab.is_hit(KEY)


# ---- opaque values -----------------------------------------------------------------------------


@pytest.mark.parametrize("backwards", [False, True])
def test_two_clients_may_have_one_opaque_and_port(lab: Lab, backwards: bool) -> None:
    for key in (KEY, KEY2):
        lab.hold(key, b"value of " + key)
    replies = [
        *lab.execute(lab.forwarded(get(KEY, opaque=7), client=CLIENT)),
        *lab.execute(lab.forwarded(get(KEY2, opaque=7), client=OTHER)),
    ]
    for reply in reversed(replies) if backwards else replies:
        lab.deliver(reply)
    assert lab.is_hit(KEY)
    assert lab.is_hit(KEY2)


@pytest.mark.parametrize("opaque", [0, 0xFFFFFFFF])
def test_reused_opaque_does_not_mix_up_keys(lab: Lab, opaque: int) -> None:
    for key in (KEY, KEY2):
        lab.hold(key, b"value of " + key)
    for order in ((0, 1), (1, 0)):
        asked = [lab.forwarded(get(key, opaque=opaque)) for key in (KEY, KEY2)]
        replies = [reply for each in asked for reply in lab.execute(each)]
        for index in order:
            lab.deliver(replies[index])
        lab.settle([KEY, KEY2])
        lab.lake.invalidate()


def test_opaque_of_a_request_in_a_larger_datagram(lab: Lab) -> None:
    """Its reply comes alone, and could be taken for that of a later request."""
    for key in (KEY, KEY2):
        lab.hold(key, b"value of " + key)
    first = lab.forwarded(store(b"key3", b"", opcode=memcached.SETQ), get(KEY, opaque=5))
    lab.forwarded(get(KEY2, opaque=5))
    for reply in lab.execute(first):
        lab.deliver(reply)
    lab.settle([KEY, KEY2])


def test_opaque_is_used_again_after_its_reply(lab: Lab) -> None:
    """Clients that always send opaque 0 get their replies stored."""
    for number in range(20):
        key = b"%s%d" % (KEY, number)
        lab.hold(key, key)
        lab.ask(get(key, opaque=0))
        assert lab.ask(get(key, opaque=0)) is None


@pytest.mark.parametrize("kind", ["get", "set"])
def test_copied_reply_does_not_serve_a_reused_opaque(lab: Lab, kind: str) -> None:
    """For networks that copy packets behind LaKe; bit 4 of the options."""
    lab.lake.write("options", 0b11111)
    for key in (KEY, KEY2):
        lab.hold(key, b"value of " + key)
    first, second = (
        (get(KEY, opaque=0), get(KEY2, opaque=0))
        if kind == "get"
        else (store(KEY, b"one", opaque=0), store(KEY2, b"two", opaque=0))
    )
    copied = lab.execute(lab.forwarded(first))
    for reply in copied:
        lab.deliver(reply)
    assert lab.is_hit(KEY)
    lab.forwarded(second)
    for reply in copied:
        lab.deliver(reply)
    assert not lab.is_hit(KEY2)
    lab.settle([KEY, KEY2])


# ---- what a simple parser does not see ---------------------------------------------------------


@pytest.mark.parametrize("place", [0, 1, 2])
def test_mutation_anywhere_in_a_datagram_is_seen(lab: Lab, place: int) -> None:
    for name, mutation in MUTATIONS.items():
        key = name.encode()
        lab.fill(key, b"1")
        operations = [get(b"other", opaque=1), Operation(memcached.NOOP)]
        operations.insert(place, mutation(key))
        request = lab.forwarded(*operations)
        assert not lab.is_hit(key)
        for reply in lab.execute(request):
            lab.deliver(reply)
        lab.settle([key])


def test_get_in_a_larger_datagram_is_forwarded(lab: Lab) -> None:
    lab.fill(KEY, b"old")
    replies = lab.ask(get(KEY, opcode=memcached.GETQ), Operation(memcached.NOOP))
    assert replies is not None
    assert [each.opcode for each in replies] == [memcached.GETQ, memcached.NOOP]


def fragments(frame: bytes) -> list[bytes]:
    """An IPv4 datagram in two."""
    payload, cut = frame[34:], 32
    return [
        frames.ethernet(frames.ipv4(payload[:cut], frames.UDP, more_fragments=True)),
        frames.ethernet(frames.ipv4(payload[cut:], frames.UDP, fragment_offset=cut // 8)),
    ]


def tcp(payload: bytes) -> bytes:
    return frames.ethernet(frames.ipv4(frames.tcp(payload), frames.TCP))


FOREIGN: dict[str, Callable[[Lab, bytes], list[bytes]]] = {
    "tcp-ascii": lambda _, key: [tcp(b"set %s 0 0 3\r\nnew\r\n" % key)],
    "tcp-binary": lambda _, key: [tcp(store(key, b"new").encode())],
    "udp-ascii": lambda lab, key: [lab.frame(CLIENT, b"set %s 0 0 3\r\nnew\r\n" % key)],
    "fragments": lambda lab, key: fragments(lab.frame(CLIENT, store(key, b"new").encode())),
    "ip-options": lambda lab, key: [
        frames.ethernet(
            frames.ipv4(
                lab.frame(CLIENT, store(key, b"new").encode())[34:], frames.UDP, options=b"\1\1\1\1"
            )
        )
    ],
    "vlan": lambda lab, key: [
        frames.ethernet(lab.frame(CLIENT, store(key, b"new").encode())[14:], vlan=5)
    ],
    "long-frame": lambda lab, key: [lab.frame(CLIENT, store(key, bytes(3000)).encode())],
    "wrong-length": lambda lab, key: [
        lab.frame(CLIENT, store(key, b"new").encode() + b"set %s 0 0 3\r\nnew\r\n" % key)
    ],
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_unseen_mutation_makes_all_data_invalid(lab: Lab, kind: str) -> None:
    lab.fill(KEY, b"old")
    for frame in FOREIGN[kind](lab, KEY):
        assert lab.lake.pass_frame(CLIENT.lane, frame) == (HOST, frame), "passes unchanged"
    lab.hold(KEY, b"new")
    assert not lab.is_hit(KEY)
    lab.settle([KEY])
    assert lab.is_hit(KEY)


@pytest.mark.parametrize("kind", FOREIGN)
def test_old_reply_does_not_fill_after_an_unseen_mutation(lab: Lab, kind: str) -> None:
    lab.hold(KEY, b"old")
    for early in (True, False):
        reads = []
        if early:
            reads += lab.execute(lab.forwarded(get(KEY, opaque=1)))
        for frame in FOREIGN[kind](lab, KEY):
            assert lab.lake.pass_frame(CLIENT.lane, frame) == (HOST, frame)
        reads += lab.execute(lab.forwarded(get(KEY, opaque=2)))
        lab.hold(KEY, b"new%d" % early)
        for reply in reads:
            # It reached the client before the mutation was acknowledged, as far as clients know.
            lab.deliver(dataclasses.replace(reply, states=[]))
        assert not lab.is_hit(KEY)
        lab.settle([KEY])
        lab.lake.invalidate()


def test_get_behind_an_unseen_mutation_does_not_fill_after_its_lifetime(lab: Lab) -> None:
    """The GET overtakes the unseen mutation, and its reply comes when the quiet time is over."""
    lab.hold(KEY, b"old")
    unseen = lab.frame(CLIENT, b"set %s 0 0 3\r\nnew\r\n" % KEY)
    assert lab.lake.pass_frame(CLIENT.lane, unseen) == (HOST, unseen)
    lab.lake.design.step((LIFETIME - 4) * UNIT)
    replies = lab.execute(lab.forwarded(get(KEY, opaque=1)))
    lab.hold(KEY, b"new")
    lab.lake.design.step(8 * UNIT)
    assert lab.lake.read("state") & 4, "the quiet time is not over"
    for reply in replies:
        # It reached the client before the mutation was acknowledged, as far as clients know.
        lab.deliver(dataclasses.replace(reply, states=[]))
    assert not lab.is_hit(KEY)
    lab.settle([KEY])
    assert lab.is_hit(KEY), "later GETs fill"


@pytest.mark.parametrize(
    "frame",
    [
        frames.arp(),
        tcp(b""),
        frames.ethernet(frames.ipv4(frames.udp(b"x", destination_port=53), frames.UDP)),
        frames.ethernet(frames.ipv4(b"\x08\0\0\0ping", frames.ICMP)),
    ],
    ids=["arp", "tcp-without-payload", "dns", "ping"],
)
def test_harmless_frames_leave_the_data_valid(lab: Lab, frame: bytes) -> None:
    lab.fill(KEY, b"old")
    _, out = lab.lake.pass_frame(CLIENT.lane, frame)
    assert out == frame
    assert lab.is_hit(KEY)


def test_nothing_old_is_served_after_the_cache_was_off(lab: Lab) -> None:
    lab.fill(KEY, b"old")
    lab.lake.write("mode", 0)
    lab.lake.design.step(10)
    lab.ask(store(KEY, b"new"))
    lab.lake.write("mode", 1)
    lab.lake.design.step(10)
    assert not lab.is_hit(KEY)
    lab.settle([KEY])
    assert lab.is_hit(KEY)


# ---- replies that must not fill ----------------------------------------------------------------


def reply_to(lab: Lab, client: Client, operation: Operation, request_id: int = 1) -> Reply:
    """A datagram of the server that tells of no state."""
    frame = lab.frame(client, operation.encode(), response=True, request_id=request_id)
    return Reply(client, frame, [], lab.lake.design.cycle)


@pytest.mark.parametrize("status", [0x01, 0x81, 0x82, 0x85])
def test_reply_with_an_error_does_not_fill(lab: Lab, status: int) -> None:
    request = lab.forwarded(get(KEY, opaque=3))
    refusal = Operation(memcached.GET, opaque=3, status=status, magic=0x81, value=b"Not found")
    lab.deliver(reply_to(lab, request.client, refusal, request.request_id))
    assert not lab.is_hit(KEY)
    lab.settle([KEY])


def test_reply_in_several_datagrams_does_not_fill(lab: Lab) -> None:
    """The second datagram looks like a reply to another request."""
    lab.hold(KEY2, b"two")
    lab.forwarded(get(KEY2, opaque=8))
    looks_like = Operation(memcached.GET, b"", bytes(4), b"wrong", 8, 1, magic=0x81).encode()
    head = 24 + 4  # of the reply
    value = bytes(1400 - head) + looks_like
    lab.hold(KEY, value)
    replies = lab.execute(lab.forwarded(get(KEY, opaque=9)))
    assert len(replies) == 2
    for reply in replies:
        lab.deliver(reply)
    lab.settle([KEY, KEY2])


def test_empty_reply_does_not_fill(lab: Lab) -> None:
    request = lab.forwarded(get(KEY, opaque=3))
    for payload in (b"", bytes(10), Operation(memcached.GET, opaque=3, magic=0x81).encode()):
        frame = lab.frame(CLIENT, payload, response=True, request_id=request.request_id)
        lab.deliver(Reply(CLIENT, frame, [], 0))
        assert not lab.is_hit(KEY)
    lab.settle([KEY])


def test_value_that_is_too_long_is_not_cached(lab: Lab) -> None:
    for length in (476, 477, 1364, 3000):
        key = b"%s%d" % (KEY, length)
        lab.hold(key, bytes(length))
        lab.is_hit(key)
        assert lab.is_hit(key) == (len(key) + length <= 480)
        lab.settle([key])


# ---- hash table --------------------------------------------------------------------------------


def collision() -> tuple[bytes, bytes]:
    """Two keys of one length and one CRC32."""
    rng = random.Random(1)
    seen: dict[int, bytes] = {}
    while True:
        key = rng.randbytes(8)
        other = seen.setdefault(zlib.crc32(key), key)
        if other != key:
            return key, other


def test_keys_with_one_hash_are_told_apart(lab: Lab) -> None:
    first, second = collision()
    lab.fill(first, b"one")
    assert not lab.is_hit(second)
    lab.fill(second, b"two")
    lab.ask(Operation(memcached.DELETE, first))
    lab.settle([first, second])


def keys_of_a_bucket(count: int, bits: int = 12) -> list[bytes]:
    """Keys whose descriptors are in the same bucket."""
    found: dict[int, list[bytes]] = {}
    number = 0
    while True:
        key = b"bucket%d" % number
        same = found.setdefault(zlib.crc32(key) & ((1 << bits) - 1), [])
        same.append(key)
        if len(same) == count:
            return same
        number += 1


def test_nine_keys_of_a_bucket_share_eight_ways(lab: Lab) -> None:
    keys = keys_of_a_bucket(9)
    for round_number in range(20):
        for key in keys:
            lab.ask(store(key, b"%s in round %d" % (key, round_number)))
            assert lab.is_hit(key)
    assert sum(lab.is_hit(key) for key in keys) >= 1
    assert lab.lake.read("evicted") > 0
    assert lab.lake.chunks_in_use == 8
    for key in keys:
        lab.ask(Operation(memcached.DELETE, key))
    assert lab.lake.chunks_in_use == 0
    assert lab.lake.read("lost_chunks") == 0


def test_requests_of_a_bucket_at_once_keep_their_order(lab: Lab) -> None:
    """Several processing elements work on one bucket."""
    rng = random.Random(5)
    keys = keys_of_a_bucket(6)
    for number in range(200):
        asked: list[tuple[Client, tuple[Operation, ...]]] = []
        for index in range(rng.randrange(2, 9)):
            key = rng.choice(keys)
            operation = rng.choice(
                [
                    get(key, opaque=index),
                    store(key, b"value %d.%d" % (number, index), opaque=index),
                    Operation(memcached.DELETE, key, opaque=index),
                ]
            )
            asked.append((Client(index), (operation,)))
        replies = [
            reply for each in lab.burst(asked) if each is not None for reply in lab.execute(each)
        ]
        for reply in replies:
            lab.deliver(reply)
    lab.settle(keys)
    for key in keys:
        lab.ask(Operation(memcached.DELETE, key))
    assert lab.lake.chunks_in_use == 0
    assert lab.lake.read("lost_chunks") == 0
    assert lab.hits > 20
