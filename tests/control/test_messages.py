"""The codec of control planes, compared with bytes written by hand from
docs/internals/wire-format.md."""

import contextlib
from dataclasses import replace
from random import Random

import pytest

from netkv.model.messages import (
    Bit,
    CacheMetadata,
    Load,
    MalformedFrameError,
    Message,
    Op,
    Slot,
    Stamp,
    Status,
    decode,
    encode,
)
from tests.checksums import with_ipv4_checksum, with_udp_checksum

KEY = bytes(range(16))
ADMIT = bytes.fromhex(
    "02000a000064 02000a000001 0800"  # Ethernet: service, controller
    "45 00 0041 0000 0000 40 11 6648 0a000001 0a000064"  # IPv4: 65 bytes
    "1390 1390 002d 899f"  # UDP: 5008, 45 bytes, checksum
    "01 20 01 00 0000 ffff 00000007"  # kv: ADMIT, CACHE_METADATA, request 7
    "000102030405060708090a0b0c0d0e0f"
    "00000009 00000000 00"  # cache metadata: generation 9
)
REPLY = bytes.fromhex(
    "02000a000001 02000a020000 0800"
    "45 00 0048 0000 0000 40 11 66a3 0a020000 0a000001"
    "1390 1390 0034 c3b9"
    "01 01 02 00 0003 0001 00000102"  # GET_REPLY, CACHE_HIT, 3 bytes, client 1
    "000102030405060708090a0b0c0d0e0f"
    "61626300000000000000000000000000"  # padded to a chunk
)


def test_admit_is_encoded_as_documented() -> None:
    assert encode(Message(Op.ADMIT, KEY, 7, cache_metadata=CacheMetadata(9))) == ADMIT


def test_reply_with_a_value_is_encoded_as_documented() -> None:
    message = Message(Op.GET_REPLY, KEY, 258, 1, length=3, value=b"abc", cache_hit=True)
    assert encode(message, 0x0A020000, 0x0A000001) == REPLY


FILL = bytes.fromhex(
    "02000a000064 02000a000001 0800"
    "45 00 005b 0000 0000 40 11 662e 0a000001 0a000064"  # IPv4: 91 bytes
    "1390 1390 0047 1177"
    "01 40 04 00 0003 ffff 00000007"  # kv: FILL, STAMPED, 3 bytes, request 7
    "000102030405060708090a0b0c0d0e0f"
    "00000002 00000009 0000000a 10"  # stamp: incarnation 2, number 9, generation 10, DIRTY
    "0102 00000000"  # slot: entry 258
    "61626300000000000000000000000000"
)


def test_version_stamp_and_slot_are_encoded_as_documented() -> None:
    stamp, slot = Stamp(2, 9, 10, Bit.DIRTY), Slot(258)
    message = Message(Op.FILL, KEY, 7, length=3, value=b"abc", stamp=stamp, slot=slot)
    assert encode(message) == FILL
    assert decode(FILL).message == message


def test_entry_message_without_a_stamp_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a stamp and a slot"):
        encode(Message(Op.FILL, KEY, 7))
    bare = bytearray(FILL)
    bare[44] = 0
    with pytest.raises(MalformedFrameError, match="must have a version stamp"):
        decode(with_udp_checksum(bytes(bare)))


LOADED = bytes.fromhex(
    "02000a000001 02000a020000 0800"
    "45 00 004e 0000 0000 40 11 669d 0a020000 0a000001"  # IPv4: 78 bytes
    "1390 1390 003a a7a7"  # UDP: 58 bytes
    "01 01 1a 00 0003 0001 00000102"  # GET_REPLY; CACHE_HIT, UPPER, LOAD; 3 bytes; client 1
    "000102030405060708090a0b0c0d0e0f"
    "01 02 00000304"  # load: layer 1, switch 2, 772 reads
    "61626300000000000000000000000000"
)


def test_load_and_upper_flag_are_encoded_as_documented() -> None:
    message = Message(Op.GET_REPLY, KEY, 258, 1, length=3, value=b"abc", cache_hit=True)
    message = replace(message, upper=True, load=Load(1, 2, 0x304))
    assert encode(message, 0x0A020000, 0x0A000001) == LOADED
    assert decode(LOADED).message == message


@pytest.mark.parametrize("length", range(len(LOADED)))
def test_truncated_frame_with_a_load_is_refused(length: int) -> None:
    with pytest.raises(MalformedFrameError):
        decode(LOADED[:length])


def test_packet_that_ends_within_its_load_is_refused() -> None:
    frame = bytearray(LOADED[:75])  # One byte of the load is missing.
    frame[17], frame[39] = 61, 41
    with pytest.raises(MalformedFrameError, match="75 bytes, but its headers say 76"):
        decode(with_udp_checksum(with_ipv4_checksum(bytes(frame))))


@pytest.mark.parametrize("upper", [False, True])
def test_reply_is_about_the_same_copy_as_its_request(upper: bool) -> None:
    request = Message(Op.OUTGROWN, KEY, 7, upper=upper)
    assert request.reply().upper is upper
    assert decode(encode(request.reply())).message.upper is upper


def test_loads_have_all_values_of_their_fields() -> None:
    for load in (Load(0, 0, 0), Load(255, 255, 0xFFFFFFFF)):
        message = Message(Op.GET_REPLY, KEY, 7, load=load)
        assert decode(encode(message)).message.load == load
    with pytest.raises(OverflowError):
        encode(Message(Op.GET_REPLY, KEY, 7, load=Load(256, 0, 0)))


WITH_VALUE = {
    *(Op.GET_REPLY, Op.PUT, Op.UPDATE, Op.OFFER, Op.RESTORE, Op.FETCH_REPLY, Op.FILL),
    *(Op.EVICT_REPLY, Op.LOAD_REPLY, Op.ORIGINAL, Op.RELEASE, Op.COLLECT_REPLY),
}


@pytest.mark.parametrize("op", list(Op))
def test_every_message_is_decoded_as_encoded(op: Op) -> None:
    message = Message(op, KEY, 0xFFFFFFFF, 0x8001, Status.REJECTED, CacheMetadata(1, 2, 0x81), 20)
    message = replace(message, value=b"hello".ljust(32))
    if op >> 4 == 4:
        stamp = Stamp(1, 0xFFFFFFFF, 2, Bit.DIRTY | Bit.VALID)
        message = replace(message, stamp=stamp, slot=Slot(0xFFFF, 0xFFFFFFFE))
    message = replace(message, upper=True, load=Load(1, 2, 3))
    datagram = decode(encode(message, 1, 2))
    value = message.value[:20] if op in WITH_VALUE else b""
    assert (datagram.source, datagram.destination) == (1, 2)
    assert datagram.message == replace(message, value=value)


def test_bytes_behind_the_datagram_are_ignored() -> None:
    assert decode(ADMIT + bytes(20)) == decode(ADMIT)


def test_truncated_value_is_refused() -> None:
    frame = bytearray(REPLY)
    frame[47] = 17
    with pytest.raises(MalformedFrameError, match="86 bytes, but its headers say 87"):
        decode(with_udp_checksum(bytes(frame)))


@pytest.mark.parametrize("length", range(len(ADMIT)))
def test_truncated_frame_is_refused(length: int) -> None:
    with pytest.raises(MalformedFrameError):
        decode(ADMIT[:length])


@pytest.mark.parametrize(
    ("offset", "value", "error"),
    [
        (12, 0x86, "not UDP over plain IPv4"),
        (14, 0x46, "no options"),
        (23, 6, "not UDP"),
        (25, 0, "IPv4 header checksum is wrong"),
        (41, 0, "UDP checksum is wrong"),
        (60, 0xFF, "UDP checksum is wrong"),
        (37, 0, "UDP port 4864"),
        (39, 0, "lengths in the IPv4 and UDP"),
        (42, 2, "layout version 2"),
        (43, 0x7F, "no operation 0x7f"),
        (45, 99, "no status 99"),
    ],
)
def test_wrong_byte_is_named(offset: int, value: int, error: str) -> None:
    frame = bytearray(ADMIT)
    frame[offset] = value
    if "checksum" not in error:
        if 14 <= offset < 34:
            frame = bytearray(with_ipv4_checksum(bytes(frame)))
        frame = bytearray(with_udp_checksum(bytes(frame)))
    with pytest.raises(MalformedFrameError, match=error):
        decode(bytes(frame))


def test_random_frames_are_decoded_or_refused() -> None:
    random = Random(1)
    for _ in range(20_000):
        frame = bytearray(ADMIT if random.random() < 0.5 else random.randbytes(90))
        for _ in range(random.randrange(4)):
            frame[random.randrange(len(frame))] = random.randrange(256)
        frame[40:42] = bytes(2)  # none, so that the rest is read
        with contextlib.suppress(MalformedFrameError):
            decode(bytes(frame[: random.randrange(len(frame) + 1)]))


def test_key_of_another_length_is_an_error() -> None:
    with pytest.raises(ValueError, match="16 bytes, not 3"):
        encode(Message(Op.GET, b"abc"))
