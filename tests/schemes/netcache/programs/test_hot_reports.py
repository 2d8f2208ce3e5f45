"""NetCache's switch reports an uncached key once in an epoch, for reads of that epoch."""

from __future__ import annotations

import pytest

from netkv import _engine
from netkv.control.cache_parameters import CacheParameters
from netkv.kits.write_through.digests import decode_hot_key
from netkv.model.messages import CacheMetadata, Message, Op, encode
from netkv.model.topology import CPU_PORT, SERVICE_IP
from netkv.schemes.netcache.control_plane import NetCache
from netkv.schemes.netcache.options import NetCacheOptions
from netkv.sim.tables import Tables
from tests.p4programs.defects import compiled
from tests.p4programs.stf import CLIENT_1, EDGES, TOPOLOGY, packet_out

KEY = bytes.fromhex(EDGES[0][1])
THRESHOLD = 4


class Reads:
    """A switch without cached keys, whose reads are all sampled."""

    def __init__(self, executor: str) -> None:
        bundle = compiled("netcache/netcache.p4", None)
        self._switch = _engine.Switch(bundle, 0, executor)
        self._tables = Tables(self._switch, bundle)
        options = NetCacheOptions(sample_rate=1.0, hot_threshold=THRESHOLD)
        for write in NetCache(TOPOLOGY, options, CacheParameters()).tables():
            assert not self._tables.carry_out(write, 0)

    def epoch(self, number: int) -> None:
        message = Message(Op.EPOCH, bytes(16), 60, cache_metadata=CacheMetadata(0, number))
        self._switch.process(CPU_PORT, packet_out(0) + encode(message))

    def read(self, count: int) -> int:
        """The number of reports of the key for so many reads of it."""
        for request in range(count):
            self._switch.process(1, encode(Message(Op.GET, KEY, request, 1), CLIENT_1, SERVICE_IP))
        digests = map(self._tables.digest, self._switch.take_digests())
        reported = [decode_hot_key(digest).key for digest in digests]
        assert set(reported) <= {KEY}
        return len(reported)


@pytest.fixture(params=["interpreter", "compiled"])
def reads(request: pytest.FixtureRequest) -> Reads:
    return Reads(request.param)


def test_hot_key_is_reported_once_in_an_epoch(reads: Reads) -> None:
    reads.epoch(1)
    assert reads.read(THRESHOLD - 1) == 0
    assert reads.read(5 * THRESHOLD) == 1
    reads.epoch(2)
    assert reads.read(5 * THRESHOLD) == 1


def test_reads_of_an_earlier_epoch_make_no_key_hot(reads: Reads) -> None:
    for epoch in (1, 2, 3):
        reads.epoch(epoch)
        assert reads.read(THRESHOLD - 1) == 0


def test_late_copy_of_an_epoch_has_no_effect(reads: Reads) -> None:
    reads.epoch(2)
    assert reads.read(THRESHOLD) == 1
    reads.epoch(1)
    assert reads.read(THRESHOLD) == 0, "the key was reported in this epoch"
