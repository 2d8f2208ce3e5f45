"""DistReach's switches send right UDP checksums, and store nothing of a corrupted frame."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from netkv.model.messages import Message, Op, Slot, Stamp, encode
from netkv.model.topology import CPU_PORT, SERVICE_IP, client_ip, server_ip
from tests.checksums import with_udp_checksum
from tests.p4programs.checksummed import (
    Arrival,
    assert_equal_but_for_checksums,
    at_port,
    corrupted,
    state,
)
from tests.schemes.distreach.programs.chain import DOWN, SEQUENCED, STORED, UP, Chain, Switch
from tests.schemes.distreach.programs.chain_rules import ENTRY, KEY, cached, get, put


def with_records(name: str) -> Switch:
    """The upper switch or the tail of a chain with a record."""
    chain = Chain.of(2)
    cached(chain, bytes(range(100)))
    return chain.head if name == "upper" else chain.tail


def frames(name: str) -> list[Arrival]:
    """A frame of each kind that arrives at the switch."""
    requests = [get(9), put(bytes(20), 10), put(None, 11), put(bytes(200), 12)]
    if name == "tail":
        passed = Stamp(40, 50, 1, SEQUENCED | STORED)
        requests = [replace(each, stamp=passed) for each in requests]
    asked = [each for each in requests if each.op == Op.GET]
    replies = [each.reply(stamp=Stamp(40, 60, 1), value=bytes(33), length=33) for each in asked] + [
        each.reply(stamp=Stamp(40, 61)) for each in requests[1:]
    ]
    stamp, slot = Stamp(40, 5, 1), Slot(ENTRY, 0)
    messages = [
        Message(op, KEY, 9, 0xFFFF, stamp=stamp, slot=slot)
        for op in (Op.VALIDATE, Op.LOAD, Op.COUNT)
    ]
    fill = Stamp(40, 70, 2)
    messages.append(
        Message(Op.FILL, KEY, 9, 0xFFFF, stamp=fill, slot=slot, length=40, value=bytes(40))
    )
    pool = [(UP, encode(each, client_ip(each.sender), SERVICE_IP)) for each in requests]
    pool += [(DOWN, encode(each, server_ip(0), client_ip(each.sender))) for each in replies]
    pool += [(CPU_PORT, encode(each)) for each in messages]
    return [(port, with_udp_checksum(frame, 0)) for port, frame in pool]


@pytest.mark.parametrize("name", ["upper", "tail"])
def test_random_frames_leave_with_right_checksums(name: str) -> None:
    twins = (with_records(name).engine, with_records(name).engine)
    assert assert_equal_but_for_checksums(twins, frames(name), seed=3, frames=1500) > 500


@pytest.mark.parametrize("name", ["upper", "tail"])
def test_corrupted_frames_leave_no_trace(name: str) -> None:
    switch, random = with_records(name), Random(1)
    before = state(switch.engine, switch.bundle)
    for port, frame in frames(name) * 20:
        received = corrupted(with_udp_checksum(frame), random)
        assert switch.engine.process(port, at_port(port, received)) == []
    assert state(switch.engine, switch.bundle).registers == before.registers
