"""Frames with UDP checksums for switch programs: of packet tests, corrupted, and random."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import TypeAlias

from netkv import _engine
from netkv.model.topology import CPU_PORT
from netkv.p4rt import p4info
from tests.checksums import with_ipv4_checksum, with_udp_checksum
from tests.p4programs.defects import PROGRAMS
from tests.p4programs.stf import packet_out
from tests.p4programs.write import text_of

SCENARIOS = ("forwarding", "netcache", "farreach", "netmc", "netmc_32")
MALFORMED = 1
"""The reason of a drop (p4/common/wire.p4)."""
UDP_PORT, HEADER = 36, 42
"""Offsets: of the destination port, and of the header after UDP."""

Change: TypeAlias = Callable[[bytes], bytes]
Arrival: TypeAlias = tuple[int, bytes]
"""A port, and a frame without the header of the controller."""


@cache
def program(name: str) -> bytes:
    """The program of a packet test, compiled."""
    folder, _, fields = name.partition("_")
    defines = {"NETMC_SERVERS": fields} if fields else {}
    return _engine.compile_p4(str(PROGRAMS / folder / f"{folder}.p4"), [str(PROGRAMS)], defines)


def port_of(name: str) -> int:
    """The UDP port whose frames a program processes."""
    return 5009 if name.startswith("netmc") else 5008


def is_netkv(frame: bytes) -> bool:
    """Whether an Ethernet frame is a whole one of netkv, without bytes behind its datagram."""
    return (
        frame[12:15] == b"\x08\0\x45"
        and not int.from_bytes(frame[20:22]) & 0x3FFF
        and frame[23] == 17
        and int.from_bytes(frame[UDP_PORT:38]) in (5008, 5009)
        and int.from_bytes(frame[16:18]) == len(frame) - 14
        and int.from_bytes(frame[38:40]) == len(frame) - 34
    )


def inner(port: int, frame: bytes) -> bytes:
    """A frame at a port of the switch, without the header of the controller."""
    return frame[2:] if port == CPU_PORT else frame


def at_port(port: int, frame: bytes) -> bytes:
    """The frame of a sender at a port, as the switch receives it."""
    return packet_out(0) + frame if port == CPU_PORT else frame


def changed(port: int, frame: bytes, change: Change) -> bytes:
    """A frame at a port of the switch, changed if it is one of netkv."""
    content = inner(port, frame)
    head = frame[: len(frame) - len(content)]
    return head + change(content) if len(content) > HEADER and is_netkv(content) else frame


def with_frames(text: str, change: Change) -> Iterator[str]:
    """The lines of a packet test whose frames are changed."""
    for line in text.splitlines():
        words = line.split()
        if words[:1] in (["packet"], ["expect"]) and len(words) > 2:
            frame = changed(int(words[1]), bytes.fromhex(words[2]), change)
            yield " ".join([words[0], words[1], frame.hex(), *words[3:]])
        else:
            yield line


def arrivals(name: str) -> list[Arrival]:
    """The frames that a packet test sends through the pipeline, if the program processes them."""
    found = []
    for port, frame in _engine.stf_frames(text_of(name), name):
        content = inner(port, frame)
        if (
            (port != CPU_PORT or frame[:2] == packet_out(0))
            and len(content) > HEADER
            and is_netkv(content)
            and int.from_bytes(content[UDP_PORT:38]) == port_of(name)
        ):
            found.append((port, content))
    return found


# ---------------------------------------------------------------------------- corruption


def flipped(frame: bytes, bits: int, at: int) -> bytes:
    """A frame with these bits, of which the lowest is the last one, flipped from bit `at` on."""
    value = int.from_bytes(frame) ^ bits << (8 * len(frame) - at - bits.bit_length())
    return value.to_bytes(len(frame))


def is_found_wrong(sent: bytes, received: bytes) -> bool:
    """Whether checksums reveal a change: the Ethernet addresses have none, other traffic is not
    verified, and a UDP checksum of 0 is none."""
    return (
        sent[12:] != received[12:]
        and received[12:14] == sent[12:14]
        and received[14] & 15 == 5
        and not int.from_bytes(received[20:22]) & 0x3FFF
        and received[23] == 17
        and received[UDP_PORT:38] == sent[UDP_PORT:38]
        and received[40:42] != b"\0\0"
    )


def corrupted(frame: bytes, random: Random) -> bytes:
    """A frame with a burst of 1 to 15 bits that checksums reveal."""
    while True:
        length = random.randint(1, 15)
        bits = random.getrandbits(length) | 1 | 1 << (length - 1)
        received = flipped(frame, bits, random.randrange(12 * 8, 8 * len(frame) - length + 1))
        if is_found_wrong(frame, received):
            return received


# ---------------------------------------------------------------------------- state


@dataclass
class State:
    """What a switch has in its registers, and how many frames it has dropped for each reason."""

    registers: dict[str, list[tuple[int, bytes]]]
    drops: dict[int, int]


def state(engine: _engine.Switch, bundle: bytes) -> State:
    schema = p4info.from_bundle(bundle)
    (counter,) = (
        each.preamble.id
        for each in schema.counters
        if each.preamble.name == "NetkvIngress.drop.reasons"
    )
    return State(
        {each.preamble.name: engine.read_register(each.preamble.id) for each in schema.registers},
        {at: packets for at, packets, _ in engine.read_counter(counter) if packets},
    )


def after_scenario(name: str, executor: str) -> _engine.Switch:
    """A switch after a packet test: its tables are full, and records are cached."""
    engine = _engine.Switch(program(name), 0, executor)
    engine.trace_stf(text_of(name), name, set())
    return engine


# ---------------------------------------------------------------------------- random frames

OPS = (*range(0x06), *range(0x10, 0x14), *range(0x20, 0x34), *range(0x40, 0x4E), 0x58)


def variant(random: Random, pool: list[Arrival]) -> Arrival:
    """A frame made from one of the pool: other fields, and a longer or shorter rest. Lengths and
    the IPv4 checksum are right, and the UDP checksum is 0."""
    port, chosen = random.choice(pool)
    frame = bytearray(chosen)
    kv = int.from_bytes(frame[UDP_PORT:38]) == 5008
    for change in random.sample(range(6), random.randint(0, 2)):
        if change == 0 and kv:
            frame[43] = random.choice(OPS)
        elif change == 1 and kv:
            frame[44] ^= random.getrandbits(5)
        elif change == 2 and kv:
            frame[46:48] = random.choice((0, 1, 16, 100, 128, 129, 1000)).to_bytes(2)
        elif change == 3:
            other = random.choice(pool)[1]
            frame[54:70] = other[54:70]
        elif change == 4:
            at = random.randrange(HEADER, len(frame))
            frame[at] = random.getrandbits(8)
        elif change == 5:
            kept = random.randint(HEADER, len(frame))
            frame[kept:] = random.randbytes(random.randint(0, 150))
    frame[16:18] = (len(frame) - 14).to_bytes(2)
    frame[38:40] = (len(frame) - 34).to_bytes(2)
    return port, with_udp_checksum(with_ipv4_checksum(bytes(frame)), 0)


def assert_equal_but_for_checksums(
    twins: tuple[_engine.Switch, _engine.Switch], pool: list[Arrival], seed: int, frames: int
) -> int:
    """Random frames, to one switch with a checksum and to the other without: the same leaves, with
    and without. Returns the number of frames of netkv that left."""
    random, left = Random(seed), 0
    for _ in range(frames):
        port, frame = variant(random, pool)
        behind = bytes(random.choice((0, 0, 0, 1, 7)))
        summed, plain = (
            engine.process(port, at_port(port, whole + behind))
            for engine, whole in zip(twins, (with_udp_checksum(frame), frame), strict=True)
        )
        assert [port for port, _ in summed] == [port for port, _ in plain], frame.hex()
        for (to, one), (_, other) in zip(summed, plain, strict=True):
            one, other = inner(to, one), inner(to, other)
            whole = one[: len(one) - len(behind)]
            assert is_netkv(whole), frame.hex()
            assert with_udp_checksum(one, 0) == other, frame.hex()
            assert with_udp_checksum(whole) == whole, frame.hex()
            assert with_ipv4_checksum(whole) == whole, frame.hex()
            left += 1
    return left
