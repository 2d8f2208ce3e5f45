"""DistCache's switches send right UDP checksums, and count nothing of a corrupted frame."""

from __future__ import annotations

from random import Random

import pytest

from netkv.model.messages import CacheMetadata, Load, Message, Op, encode
from netkv.model.topology import CPU_PORT, SERVICE_IP
from tests.checksums import with_udp_checksum
from tests.p4programs.checksummed import (
    Arrival,
    assert_equal_but_for_checksums,
    at_port,
    corrupted,
    state,
)
from tests.schemes.distcache.programs.layers import (
    CLIENT,
    EDGE,
    EXECUTORS,
    KEY,
    LEAF,
    SPINE,
    Switch,
    fill,
    get,
    invalidate,
    key,
    owner,
    put,
    reply,
    update,
)

SERVER_AT = {EDGE: SPINE, SPINE: LEAF, LEAF: "server"}


def neighbour(switch: Switch, name: str) -> str:
    """The neighbour from which the frames of a server come."""
    if name != LEAF:
        return SERVER_AT[name]
    return {port: peer for peer, port in switch.ports.items()}[switch.topology.owner(KEY).port]


def with_state(name: str, executor: str) -> tuple[Switch, CacheMetadata]:
    """A switch with a valid entry, if it has entries."""
    switch = Switch(name, executor, None)
    metadata = CacheMetadata(7, 1, 0b1111)
    if name != EDGE:
        switch.cache()
        switch.epoch(1)
        metadata = fill(switch, neighbour(switch, name), upper=name == SPINE)
    return switch, metadata


def frames(switch: Switch, name: str, metadata: CacheMetadata) -> list[Arrival]:
    """A frame of each kind that arrives at the switch."""
    upper = name == SPINE
    above = "client-1" if name == EDGE else EDGE if name == SPINE else SPINE
    from_client = [get(), get(upper=True), get(key(0, 1)), put(), put(op=Op.DELETE)]
    from_server = [
        reply(Load(1, 0, 9)),
        reply(Load(0, 0, 9), upper=True, cache_hit=True),
        reply(),
        invalidate(upper=upper),
        update(metadata, upper=upper),
        update(CacheMetadata(7, metadata.version, 0b11), upper=upper),
    ]
    from_controller = [
        Message(Op.STATS, KEY, 5, 0xFFFF),
        Message(Op.EPOCH, bytes(16), 6, 0xFFFF, cache_metadata=CacheMetadata(0, 1, 0)),
    ]
    below, destination = switch.ports[neighbour(switch, name)], owner(KEY)
    pool = [(switch.ports[above], encode(each, CLIENT, destination)) for each in from_client]
    pool += [(switch.ports[above], encode(each, CLIENT, SERVICE_IP)) for each in from_client]
    pool += [(below, encode(each, destination, CLIENT)) for each in from_server[:3]]
    pool += [(below, encode(each, destination, SERVICE_IP)) for each in from_server[3:]]
    pool += [(CPU_PORT, encode(each)) for each in from_controller]
    return [(port, with_udp_checksum(frame, 0)) for port, frame in pool]


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("name", [EDGE, SPINE, LEAF])
def test_random_frames_leave_with_right_checksums(name: str, executor: str) -> None:
    (one, metadata), (other, _) = with_state(name, executor), with_state(name, executor)
    pool = frames(one, name, metadata)
    twins = (one.engine, other.engine)
    assert assert_equal_but_for_checksums(twins, pool, seed=2, frames=1500) > 500


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("name", [EDGE, SPINE, LEAF])
def test_corrupted_frames_leave_no_trace(name: str, executor: str) -> None:
    switch, metadata = with_state(name, executor)
    random, before = Random(1), state(switch.engine, switch.bundle)
    for port, frame in frames(switch, name, metadata) * 20:
        received = corrupted(with_udp_checksum(frame), random)
        assert switch.engine.process(port, at_port(port, received)) == []
    assert state(switch.engine, switch.bundle).registers == before.registers
