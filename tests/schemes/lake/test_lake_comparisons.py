"""What LaKe compares before it serves, stores or acknowledges: tests of the RTL.

A test ends with reads of its keys, which `Lab` checks against the states of the server. The mutants
of test_lake_mutants.py drop one comparison each, and one of these tests fails.
"""

from __future__ import annotations

import zlib

import pytest

from tests.fpga.packets import Operation, frames, get, memcached, store
from tests.schemes.lake.lake import CLIENT, HOST, LIFETIME, OTHER, UNIT, Client, Lab
from tests.schemes.lake.test_lake_rules import KEY, KEY2, keys_of_a_bucket, reply_to

ONE_ELEMENT = 1
"""Value of `pe_mask`: one processing element does all the work, so that its numbers repeat."""
CHUNKS_512 = 256  # fpga/mutants/lake_mutants.sv
LARGE = 400
"""Bytes of a value in a chunk of 512 bytes."""
_POLYNOMIAL = (0xEDB88320 << 1 | 1).to_bytes(5, "little")


def twin(key: bytes, place: int) -> bytes:
    """A key of the same length and CRC32 that differs in five bytes from `place` on."""
    changed = bytes(a ^ b for a, b in zip(key[place : place + 5], _POLYNOMIAL, strict=True))
    found = key[:place] + changed + key[place + 5 :]
    assert zlib.crc32(found) == zlib.crc32(key)
    return found


def longer(key: bytes) -> bytes:
    """The key and four bytes more, with the CRC32 of the key."""
    base = zlib.crc32(key + bytes(4))
    effects = [zlib.crc32(key + (1 << bit).to_bytes(4, "little")) ^ base for bit in range(32)]
    rows = [(effect, 1 << bit) for bit, effect in enumerate(effects)]
    wanted, chosen = zlib.crc32(key) ^ base, 0
    for bit in range(32):
        pivot = next(row for row in rows if row[0] >> bit & 1)
        rows = [
            (row[0] ^ pivot[0], row[1] ^ pivot[1]) if row[0] >> bit & 1 else row
            for row in rows
            if row is not pivot
        ]
        if wanted >> bit & 1:
            wanted, chosen = wanted ^ pivot[0], chosen ^ pivot[1]
    return key + chosen.to_bytes(4, "little")


# ---- acknowledgements --------------------------------------------------------------------------


def test_acknowledgement_is_for_its_own_store_only(lab: Lab) -> None:
    """The chunk of an unanswered SET goes to a SET that never reaches the server."""
    lab.lake.write("pe_mask", ONE_ELEMENT)
    keys = keys_of_a_bucket(9)
    sets = [lab.forwarded(store(key, b"of " + key, opaque=at)) for at, key in enumerate(keys)]
    assert lab.lake.read("evicted") == 1, "the last SET has the chunk of the first one"
    for reply in lab.execute(sets[0]):
        lab.deliver(reply)
    assert not lab.is_hit(keys[8]), "a value that no server has acknowledged is served"
    lab.settle(keys)


def test_acknowledgement_finds_the_chunk_of_its_set(lab: Lab) -> None:
    """A fill before the SET has the number of the SET, and is in the same bucket."""
    lab.lake.write("pe_mask", ONE_ELEMENT)
    first, second = keys_of_a_bucket(2)
    lab.hold(first, b"filled")
    assert not lab.is_hit(first)
    lab.ask(store(second, b"value of a SET"))
    assert lab.is_hit(second)
    assert lab.is_hit(first)


def test_reply_to_a_delete_changes_no_other_item(lab: Lab) -> None:
    """The DELETE has the number, and its element the chunk, of the fill before it."""
    lab.lake.write("pe_mask", ONE_ELEMENT)
    first, second = keys_of_a_bucket(2)
    lab.hold(first, b"to be deleted")
    lab.ask(store(second, b"1"))
    lab.lake.invalidate()
    assert not lab.is_hit(second), "a fill"
    lab.ask(Operation(memcached.DELETE, first))
    asked = lab.frame(CLIENT, get(second).encode())
    port, answer = lab.lake.pass_frame(CLIENT.lane, asked)
    assert port == CLIENT.lane
    (found,) = lab.operations_of(answer)
    assert found.cas == lab.server.items[second][2]


# ---- keys --------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", [0, 33, 70, 100, 123])
def test_keys_that_differ_anywhere_are_told_apart(lab: Lab, place: int) -> None:
    """Keys of 128 bytes with one CRC32: in five windows, three lines of the chunk."""
    key = bytes(range(65, 193))
    other = twin(key, place)
    lab.fill(key, b"one")
    assert not lab.is_hit(other)
    lab.fill(other, b"two")
    lab.ask(Operation(memcached.DELETE, key))
    lab.settle([key, other])


def test_key_is_not_taken_for_the_beginning_of_another(lab: Lab) -> None:
    key = b"shorter key"
    other = longer(key)
    assert zlib.crc32(other) == zlib.crc32(key)
    lab.fill(other, b"value of the longer key")
    assert not lab.is_hit(key)
    lab.fill(key, b"value of the shorter key")
    assert not lab.is_hit(other)
    lab.settle([key, other])


# ---- chunks ------------------------------------------------------------------------------------


def test_chunk_of_another_size_is_not_reused_at_once(lab: Lab) -> None:
    lab.lake.write("pe_mask", ONE_ELEMENT)
    keys = keys_of_a_bucket(9)
    for key in keys[:8]:
        lab.ask(store(key, b"small"))
    lab.ask(store(keys[8], bytes(LARGE)))
    for key in keys[1:]:
        assert lab.is_hit(key), "another item was overwritten"
    lab.settle(keys)
    assert lab.lake.read("lost_chunks") == 0


def test_item_without_a_free_chunk_takes_none_of_another_size(lab: Lab) -> None:
    lab.lake.write("pe_mask", ONE_ELEMENT)
    small = keys_of_a_bucket(4)
    for key in small:
        lab.ask(store(key, b"small"))
    used = {zlib.crc32(key) & 0xFFF for key in small}
    number = 0
    while lab.lake.read("chunks_in_use.3") < CHUNKS_512:
        key = b"large%d" % number
        number += 1
        if zlib.crc32(key) & 0xFFF not in used:
            lab.ask(store(key, bytes(LARGE)))
    lab.ask(store(small[0], bytes(LARGE)))
    lab.settle(small)
    assert lab.lake.read("uncached") > 0


# ---- requests and replies ----------------------------------------------------------------------

ALIKE: dict[str, tuple[tuple[Client, int, int], tuple[Client, int, int]]] = {
    "opcode": ((CLIENT, memcached.GET, 7), (CLIENT, memcached.GETK, 7)),
    "opaque": ((CLIENT, memcached.GET, 7), (CLIENT, memcached.GET, 8)),
    "port": ((CLIENT, memcached.GET, 7), (Client(0, 40001), memcached.GET, 7)),
    "address": ((CLIENT, memcached.GET, 7), (OTHER, memcached.GET, 7)),
}
"""Two requests that differ in one field of their tags: client, opcode, opaque."""


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("field", ALIKE)
def test_requests_that_differ_in_one_field_are_both_filled(
    lab: Lab, field: str, backwards: bool
) -> None:
    for key in (KEY, KEY2):
        lab.hold(key, b"value of " + key)
    replies = [
        reply
        for key, (client, opcode, opaque) in zip((KEY, KEY2), ALIKE[field], strict=True)
        for reply in lab.execute(
            lab.forwarded(get(key, opcode=opcode, opaque=opaque), client=client)
        )
    ]
    for reply in reversed(replies) if backwards else replies:
        lab.deliver(reply)
    assert lab.is_hit(KEY)
    assert lab.is_hit(KEY2)


def test_mark_makes_the_live_request_before_it_ambiguous(lab: Lab) -> None:
    """The second request has no entry, and its reply looks as that to the first one."""
    for key in (KEY, KEY2):
        lab.hold(key, b"value of " + key)
    lab.forwarded(get(KEY, opaque=5))
    second = lab.forwarded(store(b"key3", b"", opcode=memcached.SETQ), get(KEY2, opaque=5))
    for reply in lab.execute(second):
        lab.deliver(reply)
    lab.settle([KEY, KEY2])


def test_mark_of_a_refused_get_makes_the_live_one_ambiguous(lab: Lab) -> None:
    """The second GET has no entry, since a mutation of its key is on its way."""
    for key in (KEY, KEY2):
        lab.hold(key, b"value of " + key)
    lab.forwarded(get(KEY, opaque=5))
    lab.forwarded(Operation(memcached.DELETE, KEY2, opaque=9), client=OTHER)
    for reply in lab.execute(lab.forwarded(get(KEY2, opaque=5))):
        lab.deliver(reply)
    lab.settle([KEY, KEY2])


def test_copied_reply_does_not_serve_the_younger_request(lab: Lab) -> None:
    for key in (KEY, KEY2):
        lab.hold(key, b"value of " + key)
    replies = lab.execute(lab.forwarded(get(KEY, opaque=5)))
    lab.forwarded(get(KEY2, opaque=5))
    for reply in replies * 2:
        lab.deliver(reply)
    lab.settle([KEY, KEY2])


@pytest.mark.parametrize("unanswered", ["marked", "lost"])
def test_tag_is_used_again_after_a_lifetime(lab: Lab, unanswered: str) -> None:
    lab.hold(KEY2, b"value")
    if unanswered == "marked":
        lab.forwarded(store(b"key3", b"", opcode=memcached.SETQ), get(KEY, opaque=5))
    else:
        lab.forwarded(get(KEY, opaque=5))
    lab.lake.pass_lifetime()
    lab.ask(get(KEY2, opaque=5))
    assert lab.is_hit(KEY2)


# ---- unseen mutations --------------------------------------------------------------------------


def test_set_behind_an_unseen_mutation_is_not_stored(lab: Lab) -> None:
    """The SET overtakes the unseen mutation, and its reply comes when the quiet time is over."""
    unseen = lab.frame(CLIENT, b"set %s 0 0 3\r\nnew\r\n" % KEY)
    assert lab.lake.pass_frame(CLIENT.lane, unseen) == (HOST, unseen)
    lab.lake.design.step((LIFETIME - 4) * UNIT)
    replies = lab.execute(lab.forwarded(store(KEY, b"first", opaque=1)))
    lab.hold(KEY, b"new")
    lab.lake.design.step(8 * UNIT)
    assert lab.lake.read("state") & 4, "the quiet time is not over"
    for reply in replies:
        lab.deliver(reply)
    assert not lab.is_hit(KEY)
    lab.settle([KEY])


# ---- addresses, ports and protocols ------------------------------------------------------------


def other_protocol(frame: bytes) -> bytes:
    """The frame with its bytes behind the IPv4 header as they are, but as TCP."""
    return frames.ethernet(
        frames.ipv4(frame[34:], frames.TCP), source=frame[6:12], destination=frame[:6]
    )


def to_port(lab: Lab, port: int) -> bytes:
    payload = lab.frame(CLIENT, get(KEY).encode())[42:]
    return frames.udp_frame(
        payload,
        client=(CLIENT.ip, CLIENT.udp_port),
        client_mac=CLIENT.mac,
        server=(frames.SERVER_IP, port),
    )


@pytest.mark.parametrize("kind", ["port", "protocol", "group-address"])
def test_frame_that_is_no_query_is_not_answered(lab: Lab, kind: str) -> None:
    lab.fill(KEY, b"value")
    query = lab.frame(CLIENT, get(KEY).encode())
    frame = {
        "port": to_port(lab, frames.MEMCACHED_PORT + 1),
        "protocol": other_protocol(query),
        "group-address": b"\x01\x00\x5e\x00\x00\x01" + query[6:],
    }[kind]
    assert lab.lake.pass_frame(CLIENT.lane, frame) == (HOST, frame)


@pytest.mark.parametrize("kind", ["port", "protocol", "magic", "client"])
def test_frame_that_is_no_reply_does_not_fill(lab: Lab, kind: str) -> None:
    request = lab.forwarded(get(KEY, opaque=3))
    magic = 0x80 if kind == "magic" else 0x81
    forged = Operation(memcached.GET, b"", bytes(4), b"forged", 3, 1, magic=magic)
    frame = reply_to(lab, request.client, forged, request.request_id).frame
    if kind == "port":
        frame = frames.udp_frame(
            frame[42:],
            client=(CLIENT.ip, CLIENT.udp_port),
            client_mac=CLIENT.mac,
            server=(frames.SERVER_IP, frames.MEMCACHED_PORT + 1),
            response=True,
        )
    elif kind == "protocol":
        frame = frames.ethernet(
            frames.ipv4(frame[34:], frames.TCP, source=frames.SERVER_IP, destination=CLIENT.ip),
            source=frame[6:12],
            destination=frame[:6],
        )
    _, out = lab.lake.pass_frame(OTHER.lane if kind == "client" else HOST, frame)
    assert out == frame
    assert not lab.is_hit(KEY)
    lab.settle([KEY])
