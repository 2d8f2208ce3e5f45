"""Switch programs verify the UDP checksums of netkv's frames, and send right ones.

The scenarios of the packet tests run again with checksums: all frames in, and all frames out.
Those of DistCache and DistReach are in the folders of these programs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from random import Random

import pytest

from netkv import _engine
from netkv.model.messages import Message, Op, encode
from netkv.model.topology import CPU_PORT, SERVICE_IP
from tests.checksums import udp_checksum, with_udp_checksum
from tests.p4programs.checksummed import (
    HEADER,
    MALFORMED,
    SCENARIOS,
    Arrival,
    after_scenario,
    arrivals,
    assert_equal_but_for_checksums,
    at_port,
    changed,
    corrupted,
    flipped,
    inner,
    is_found_wrong,
    port_of,
    program,
    state,
    with_frames,
)
from tests.p4programs.stf import CLIENT_1, CLIENT_2
from tests.p4programs.write import text_of

EXECUTORS = ("interpreter", "compiled")
ONE_SWITCH = ("forwarding", "netcache", "farreach", "netmc")

both = pytest.mark.parametrize("executor", EXECUTORS)
scenarios = pytest.mark.parametrize("name", SCENARIOS)


def mismatches(name: str, lines: Iterable[str], executor: str) -> list[str]:
    result = _engine.run_stf(program(name), "\n".join(lines), name, executor)
    assert result["expected"] > 40
    return result["mismatches"]


@both
@scenarios
def test_frames_with_checksums_leave_with_right_ones(name: str, executor: str) -> None:
    text = text_of(name)
    assert mismatches(name, with_frames(text, with_udp_checksum), executor) == []


@both
@scenarios
def test_frames_without_checksums_leave_without(name: str, executor: str) -> None:
    text = text_of(name)
    lines = with_frames(text, lambda frame: with_udp_checksum(frame, 0))
    assert mismatches(name, lines, executor) == []


@both
@scenarios
@pytest.mark.parametrize("seed", range(3))
def test_corrupted_copies_change_nothing(name: str, executor: str, seed: int) -> None:
    """Before each frame, two corrupted copies of it arrive."""
    random, copies = Random(seed), 0
    number = port_of(name).to_bytes(2)

    def lines() -> Iterator[str]:
        nonlocal copies
        for line in with_frames(text_of(name), with_udp_checksum):
            words = line.split()
            if words[:1] == ["packet"] and len(words) > 2:
                port, frame = int(words[1]), bytes.fromhex(words[2])
                content = inner(port, frame)
                through = port != CPU_PORT or frame[:2] == bytes(2)
                if through and content[36:38] == number and any(content[40:42]):
                    for _ in range(2):
                        copy = changed(port, frame, lambda whole: corrupted(whole, random))
                        copies += copy != frame
                        yield f"packet {port} {copy.hex()}"
            yield line

    assert mismatches(name, lines(), executor) == []
    assert copies > 50


def one_of_each_kind(name: str) -> list[Arrival]:
    """The longest frame of each operation at each kind of port."""
    longest: dict[tuple[bool, int], Arrival] = {}
    for port, frame in arrivals(name):
        kind = (port == CPU_PORT, frame[HEADER + (port_of(name) == 5008)])
        if kind not in longest or len(longest[kind][1]) < len(frame):
            longest[kind] = (port, frame)
    return list(longest.values())


@both
@pytest.mark.parametrize("name", ONE_SWITCH)
def test_no_flipped_bit_reaches_registers(name: str, executor: str) -> None:
    """Every bit of a frame of each kind: the frame is dropped as malformed and counted, or it is
    other traffic, which leaves as it came."""
    engine = after_scenario(name, executor)
    before = state(engine, program(name))
    counted = {**before.drops, MALFORMED: before.drops[MALFORMED]}
    kinds = one_of_each_kind(name)
    assert len(kinds) > 3
    for port, plain in kinds:
        frame = with_udp_checksum(plain)
        for at in range(12 * 8, 8 * len(frame)):
            received = flipped(frame, 1, at)
            out = engine.process(port, at_port(port, received))
            if is_found_wrong(frame, received):
                assert out == [], f"bit {at} of {frame.hex()}"
                counted[MALFORMED] += 1
            else:
                assert all(inner(*left) == received for left in out), f"bit {at} of {frame.hex()}"
    after = state(engine, program(name))
    assert after.registers == before.registers
    assert after.drops[MALFORMED] >= counted[MALFORMED]


def with_sum_of_zero(frame: bytes, at: int) -> bytes:
    """A frame whose UDP checksum is computed as 0, by two bytes at an even place."""
    zero = frame[:at] + b"\0\0" + frame[at + 2 :]
    return frame[:at] + udp_checksum(zero).to_bytes(2) + frame[at + 2 :]


@both
def test_checksum_of_zero_is_sent_as_ffff(executor: str) -> None:
    engine = after_scenario("forwarding", executor)
    request = with_sum_of_zero(encode(Message(Op.GET, bytes(16), 1, 1), CLIENT_1, CLIENT_2), 54)
    frame = with_udp_checksum(request)
    assert frame[40:42] == b"\xff\xff"
    assert engine.process(1, frame) == [(2, frame)]
    assert engine.process(1, with_udp_checksum(frame, 0)) == [(2, with_udp_checksum(frame, 0))]
    assert engine.process(1, with_udp_checksum(frame, 1)) == []
    # The switch changes the address, so the request must be one whose copy has the sum.
    asked = encode(Message(Op.GET, bytes(16), 1, 1), CLIENT_1, SERVICE_IP)
    ((_, plain),) = engine.process(1, asked)
    sent = asked[:50] + with_sum_of_zero(plain, 50)[50:52] + asked[52:]
    ((_, received),) = engine.process(1, with_udp_checksum(sent))
    assert received[40:42] == b"\xff\xff"
    assert received == with_udp_checksum(received)


@both
def test_bytes_behind_the_datagram_are_zero_or_dropped(executor: str) -> None:
    """v1model sums all that is not parsed. Frames without a checksum keep such bytes."""
    engine = after_scenario("forwarding", executor)
    summed = with_udp_checksum(encode(Message(Op.GET, bytes(16), 1, 1), CLIENT_1, CLIENT_2))
    frame = with_udp_checksum(summed, 0)
    assert engine.process(1, frame + b"\1\2") == [(2, frame + b"\1\2")]
    assert engine.process(1, summed + b"\0\0") == [(2, summed + b"\0\0")]
    assert engine.process(1, summed + b"\1\2") == []


@both
@scenarios
def test_random_frames_leave_with_right_checksums(name: str, executor: str) -> None:
    twins = (after_scenario(name, executor), after_scenario(name, executor))
    pool = [(port, with_udp_checksum(frame, 0)) for port, frame in arrivals(name)]
    assert assert_equal_but_for_checksums(twins, pool, seed=1, frames=3000) > 500
