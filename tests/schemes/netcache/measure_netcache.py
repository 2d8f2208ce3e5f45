"""The CPU time of NetCache's control plane in microseconds, without I/O and without a rack.

`python -m tests.schemes.netcache.measure_netcache` prints a preload of 10,000 keys and a burst of
hot keys for a full cache, with equal values and with values of all sizes. The answers of switch
and servers are prepared outside of the measured time.
"""

from collections import deque
from collections.abc import Iterator
from random import Random
from time import thread_time

from netkv.control.base import (
    DeleteEntry,
    Event,
    InsertEntry,
    PacketIn,
    Preload,
    SendFrame,
    SetDefault,
    Started,
    TableWritten,
)
from netkv.control.cache_parameters import CacheParameters
from netkv.kits.write_through.digests import HotKey
from netkv.model.messages import CHUNK_BYTES, CacheMetadata, Op, Status, decode, encode
from netkv.model.topology import CONTROLLER_IP, SERVICE_IP, Topology
from netkv.schemes.netcache.control_plane import NetCache
from netkv.schemes.netcache.options import NetCacheOptions
from tests.schemes.netcache.netcache_rack import encode_hot_key
from tests.schemes.scripted_rack import LOOKUP, key_of

KEYS = 10_000
BURST = 3_000
STEP = 100_000  # of the clock, in nanoseconds, for each event


class Script:
    """Answers every message and table write at once; counts the time spent in the control plane."""

    def __init__(self, entries: int, lengths: Iterator[int], rows: int) -> None:
        """`lengths`: the lengths of values in the order of admission."""
        options = NetCacheOptions(cache_entries=entries, cache_rows=rows)
        self.control = NetCache(Topology.of_ports([1], [2] * 128), options, CacheParameters())
        self.now = 0
        self.seconds = 0.0
        self.generations: dict[bytes, int] = {}
        self.epoch = 0
        self.keys = 0  # number of keys so far
        self._lengths = lengths
        self.handle(Started())

    def new_key(self) -> bytes:
        """A new key."""
        self.keys += 1
        return key_of(self.keys)

    def handle(self, event: Event) -> None:
        """Handle an event and all events that follow from it."""
        events = deque([event])
        while events:
            self.now += STEP
            began = thread_time()
            actions = self.control.handle(self.now, events.popleft())
            self.seconds += thread_time() - began
            events.extend(answer for action in actions for answer in self._answer(action))

    def _answer(self, action: object) -> Iterator[Event]:
        match action:
            case InsertEntry(write, table, match, _, params):
                if table == LOOKUP:
                    key = match["key"]
                    assert isinstance(key, int)
                    self.generations[key.to_bytes(16)] = params["generation"]
                yield TableWritten(write, True)
            case DeleteEntry(write) | SetDefault(write):
                yield TableWritten(write, True)
            case SendFrame(frame):
                message = decode(frame).message
                reply = message.reply()
                if message.op is Op.ADMIT:
                    reply = message.reply(length=next(self._lengths))
                elif message.op is Op.EPOCH:
                    assert message.cache_metadata is not None
                    self.epoch = message.cache_metadata.version
                elif message.op is Op.STATS:
                    generation = self.generations.get(message.key)
                    reply = message.reply(status=Status.NOT_CACHED)
                    if generation is not None:
                        reply = message.reply(cache_metadata=CacheMetadata(generation, 10))
                yield PacketIn(1, encode(reply, SERVICE_IP, CONTROLLER_IP))


def fill(script: Script) -> float:
    """Preload as many keys as there are entries; microseconds for each."""
    keys = tuple(script.new_key() for _ in range(script.control.options.cache_entries))
    script.seconds = 0.0
    script.handle(Preload(keys))
    return script.seconds / len(keys) * 1e6


def burst(script: Script, keys: int) -> float:
    """Report keys hotter than all in a full cache; microseconds for each."""
    script.seconds = 0.0
    for _ in range(keys):
        script.handle(encode_hot_key(HotKey(script.new_key(), 100, script.epoch)))
    return script.seconds / keys * 1e6


def main() -> None:
    """Measure and print."""
    for description, rows, lengths in (
        ("values of 128 bytes", KEYS, iter(lambda: 128, None)),
        ("values of 1 to 128 bytes", KEYS // 2, _mixed()),
    ):
        script = Script(KEYS, lengths, rows)
        micros = fill(script)
        cached = script.control.statistics()["cached"]
        print(f"{description}: preload {micros:.1f} us a key ({cached} cached)")
        print(f"{description}: burst {burst(script, BURST):.1f} us a hot key")


def _mixed() -> Iterator[int]:
    random = Random(1)
    while True:
        yield random.randrange(1, 8 * CHUNK_BYTES + 1)


if __name__ == "__main__":
    main()
