"""Scenarios of NetCache's packet test: cached and uncached keys, statistics, dropped frames."""

from dataclasses import replace

from netkv.control.base import InsertEntry
from netkv.model.messages import CacheMetadata, Message, Op, Status
from netkv.model.topology import CONTROLLER_IP, SERVICE_IP
from netkv.schemes.netcache.control_plane import LOOKUP
from tests.p4programs.stf import CLIENT_1, EDGES, SERVER_PORTS, SERVERS, Stf, encode

KEY = bytes.fromhex(EDGES[0][0])
OTHER = bytes.fromhex(EDGES[0][1])
FULL = bytes(range(128))
SERVER = 0x8000


def cached(key: bytes, entry: int, row: int, bitmap: int, generation: int) -> InsertEntry:
    """A lookup entry."""
    params = {"entry": entry, "index": row, "bitmap": bitmap, "generation": generation}
    match = {"key": int.from_bytes(key)}
    return InsertEntry(0, LOOKUP, match, "NetkvIngress.lookup.cached", params)


def get(key: bytes, request: int = 1, client: int = 1) -> Message:
    return Message(Op.GET, key, request, client)


def update(key: bytes, metadata: CacheMetadata, value: bytes, request: int = 1) -> Message:
    padded = value.ljust(16 * metadata.bitmap.bit_count(), b"\0")
    return Message(
        Op.UPDATE, key, request, SERVER, cache_metadata=metadata, length=len(value), value=padded
    )


def refresh(
    stf: Stf, key: bytes, metadata: CacheMetadata, value: bytes, status: Status = Status.OK
) -> None:
    """An UPDATE, and the answer of the switch."""
    message = update(key, metadata, value)
    stf.server_sends(message)
    stf.switch_answers_server(message.reply(status=status, cache_metadata=metadata))


def hit(stf: Stf, key: bytes, room: int, value: bytes, request: int = 1) -> None:
    """A read that the switch answers with all chunks of the entry and the length of the value."""
    message = get(key, request)
    stf.client_sends(message)
    padded = value.ljust(16 * room, b"\0")
    stf.switch_answers(message.reply(length=len(value), value=padded, cache_hit=True))


def missed(stf: Stf, key: bytes, metadata: CacheMetadata | None) -> None:
    """A read that the switch forwards to the server."""
    stf.client_sends(get(key))
    stf.server_receives(replace(get(key), cache_metadata=metadata))


def written(
    stf: Stf, key: bytes, metadata: CacheMetadata | None, op: Op = Op.PUT, value: bytes = b"v"
) -> None:
    """A write that the switch forwards to the server."""
    value = b"" if op is Op.DELETE else value
    message = Message(op, key, 7, 1, length=len(value), value=value)
    stf.client_sends(message)
    stf.server_receives(replace(message, cache_metadata=metadata))


def updates_and_hits(stf: Stf) -> None:
    """A new entry, updates, hits, writes that invalidate it, and stale updates."""
    stf.comment("a new entry is invalid: the read is forwarded with cache metadata")
    missed(stf, KEY, CacheMetadata(7, 0, 0xFF))
    stf.comment("INVALIDATE acts as a write; the answer has the version for the next UPDATE")
    invalidate = Message(Op.INVALIDATE, KEY, 2, SERVER)
    stf.server_sends(invalidate)
    stf.switch_answers_server(invalidate.reply(cache_metadata=CacheMetadata(7, 1, 0xFF)))
    stf.comment("UPDATE with that version makes it valid: hits, for two clients")
    refresh(stf, KEY, CacheMetadata(7, 1, 0xFF), FULL)
    hit(stf, KEY, 8, FULL)
    stf.client_sends(get(KEY, 3, 2), client=2)
    stf.switch_answers(get(KEY, 3, 2).reply(length=128, value=FULL, cache_hit=True), client=2)
    stf.comment("a copy of the UPDATE has no effect")
    refresh(stf, KEY, CacheMetadata(7, 1, 0xFF), FULL)
    hit(stf, KEY, 8, FULL)
    for version, op in ((2, Op.PUT), (4, Op.DELETE)):
        stf.comment(f"{op.name} is forwarded with cache metadata and invalidates the entry")
        written(stf, KEY, CacheMetadata(7, version, 0xFF), op)
        missed(stf, KEY, CacheMetadata(7, version, 0xFF))
        stf.comment("a second write before the UPDATE of the first, which is then stale")
        written(stf, KEY, CacheMetadata(7, version + 1, 0xFF), op)
        refresh(stf, KEY, CacheMetadata(7, version, 0xFF), b"old", Status.STALE)
        missed(stf, KEY, CacheMetadata(7, version + 1, 0xFF))
        refresh(stf, KEY, CacheMetadata(7, version + 1, 0xFF), b"new")
        hit(stf, KEY, 8, b"new")
        stf.comment("a late copy of the stale UPDATE has no effect")
        refresh(stf, KEY, CacheMetadata(7, version, 0xFF), b"old", Status.STALE)
        hit(stf, KEY, 8, b"new")
    stf.comment("UPDATE of another insertion, or with another bitmap: not cached")
    refresh(stf, KEY, CacheMetadata(6, 5, 0xFF), FULL, Status.NOT_CACHED)
    refresh(stf, KEY, CacheMetadata(7, 5, 0x7F), FULL[:112], Status.NOT_CACHED)
    refresh(stf, KEY, CacheMetadata(7, 5, 0x00), b"", Status.NOT_CACHED)
    hit(stf, KEY, 8, b"new")
    stf.comment("a write of more than 128 bytes is forwarded and invalidates the entry")
    written(stf, KEY, CacheMetadata(7, 6, 0xFF), value=b"L" * 1024)
    missed(stf, KEY, CacheMetadata(7, 6, 0xFF))
    stf.comment("an empty value is cached")
    refresh(stf, KEY, CacheMetadata(7, 6, 0xFF), b"")
    hit(stf, KEY, 8, b"")


def not_cached(stf: Stf) -> None:
    """Keys without an entry."""
    stf.comment(
        "uncached: requests pass without cache metadata; servers' messages get 'not cached'"
    )
    missed(stf, OTHER, None)
    written(stf, OTHER, None)
    written(stf, OTHER, None, Op.DELETE)
    refresh(stf, OTHER, CacheMetadata(7, 1, 0x0F), FULL[:64], Status.NOT_CACHED)
    invalidate = Message(Op.INVALIDATE, OTHER, 2, SERVER)
    stf.server_sends(invalidate)
    stf.switch_answers_server(invalidate.reply(status=Status.NOT_CACHED))
    stf.comment("cache metadata that a client sent is removed or replaced")
    forged = CacheMetadata(99, 99, 0xAA)
    for message in (get(OTHER), Message(Op.PUT, OTHER, 4, 1, length=3, value=b"abc")):
        stf.client_sends(replace(message, cache_metadata=forged))
        stf.server_receives(message)
    stf.client_sends(replace(Message(Op.DELETE, KEY, 4, 1), cache_metadata=forged))
    stf.server_receives(
        replace(Message(Op.DELETE, KEY, 4, 1), cache_metadata=CacheMetadata(7, 7, 0xFF))
    )


def shared_rows(stf: Stf) -> None:
    """Values of all lengths; two entries in one row use different cells."""
    stf.comment("values of 1 to 8 chunks, with gaps in the bitmap; two keys to each row")
    for number in range(1, 8):
        bitmap = sum(1 << (i * 3 + number) % 8 for i in range(number))
        rest = 0xFF & ~bitmap
        one, two = (bytes.fromhex(f"{half}{number:030x}") for half in ("a1", "b2"))
        first, second = CacheMetadata(100 + number, 0, bitmap), CacheMetadata(200 + number, 0, rest)
        stf.write([cached(one, 1000 + number, number, bitmap, first.generation)])
        stf.write([cached(two, 2000 + number, number, rest, second.generation)])
        value = bytes([number] * (16 * number - 3))
        other = bytes([0x80 + number] * (16 * (8 - number)))
        refresh(stf, one, first, value)
        refresh(stf, two, second, other)
        hit(stf, one, number, value)
        hit(stf, two, 8 - number, other)
        stf.comment("a shorter value: the chunks behind it are cleared")
        refresh(stf, one, first, b"s")
        hit(stf, one, number, b"s")
        hit(stf, two, 8 - number, other)


def reused_entry(stf: Stf) -> None:
    """An entry number that is assigned to another key, with another generation."""
    stf.comment("two keys with entry number 77 in turn: the second is invalid until its UPDATE")
    one, two = bytes([1] * 16), bytes([2] * 16)
    stf.write([cached(one, 77, 77, 1, 300)])
    refresh(stf, one, CacheMetadata(300, 0, 1), b"one")
    hit(stf, one, 1, b"one")
    stf.write([cached(two, 77, 77, 1, 301)])  # a controller deletes the first before
    stf.client_sends(get(two))
    stf.server_receives(replace(get(two), cache_metadata=CacheMetadata(301, 0, 1)))
    refresh(stf, two, CacheMetadata(300, 0, 1), b"late", Status.NOT_CACHED)
    refresh(stf, two, CacheMetadata(301, 0, 1), b"two")
    hit(stf, two, 1, b"two")


def statistics(stf: Stf) -> None:
    """Hit counters and epochs; every read is sampled."""
    key = bytes([3] * 16)
    stf.write([cached(key, 500, 500, 1, 400)])
    refresh(stf, key, CacheMetadata(400, 0, 1), b"x")

    def counted(count: int) -> None:
        stats = Message(Op.STATS, key, 50)
        stf.controller_sends(stats)
        stf.controller_receives(stats.reply(cache_metadata=CacheMetadata(400, count, 0)))

    def epoch(number: int) -> None:
        message = Message(Op.EPOCH, bytes(16), 60, cache_metadata=CacheMetadata(0, number))
        stf.controller_sends(message)
        stf.controller_receives(message.reply(cache_metadata=message.cache_metadata))

    stf.comment("reads are counted, writes are not")
    epoch(0xFFFE)
    counted(0)
    for request in range(5):
        hit(stf, key, 1, b"x", request)
    counted(5)
    stf.comment("reads of an invalid entry are counted too")
    invalidate = Message(Op.INVALIDATE, key, 2, SERVER)
    stf.server_sends(invalidate)
    stf.switch_answers_server(invalidate.reply(cache_metadata=CacheMetadata(400, 1, 1)))
    stf.client_sends(get(key))
    stf.server_receives(replace(get(key), cache_metadata=CacheMetadata(400, 1, 1)))
    counted(6)
    stf.comment("a new epoch clears the counts, also when epochs wrap; an older one has no effect")
    refresh(stf, key, CacheMetadata(400, 1, 1), b"y")
    epoch(0xFFFF)
    counted(0)
    hit(stf, key, 1, b"y")
    counted(1)
    epoch(0xFFFE)
    epoch(0xFFFF)
    counted(1)
    epoch(1)
    counted(0)
    stf.comment("STATS of a key that is not cached")
    stats = Message(Op.STATS, OTHER, 51)
    stf.controller_sends(stats)
    stf.controller_receives(stats.reply(status=Status.NOT_CACHED))
    stf.comment("uncached reads are forwarded, below the threshold of the sketch and above")
    for request in range(12):
        stf.client_sends(get(OTHER, request))
        stf.server_receives(get(OTHER, request))


def malformed(stf: Stf) -> None:
    """Messages about the cache that are dropped."""
    stf.comment("UPDATE truncated in cache metadata or chunks; EPOCH and UPDATE without it")
    frame = encode(update(KEY, CacheMetadata(7, 6, 0x15), b"z" * 48), SERVERS[0], SERVICE_IP)
    for length in range(70, len(frame)):
        stf.packet(3, frame[:length])
    stf.server_sends(Message(Op.UPDATE, KEY, 1, SERVER, length=16, value=FULL[:16]))
    stf.controller_sends(Message(Op.EPOCH, KEY, 1))
    stf.comment("flag of cache metadata, but no cache metadata")
    bare = bytearray(encode(get(KEY), CLIENT_1, SERVICE_IP))
    bare[44] |= 1
    stf.packet(1, bytes(bare))


def servers_and_controller(stf: Stf) -> None:
    """Messages between controller and servers are forwarded unchanged."""
    stf.comment(
        "ADMIT, INSTALL, EVICTED of a cached key go to its owner, replies to the controller"
    )
    for op in (Op.ADMIT, Op.INSTALL, Op.EVICTED):
        message = Message(op, KEY, 80, cache_metadata=CacheMetadata(7, 0, 0xFF))
        stf.controller_sends(message)
        stf.expect(SERVER_PORTS[0], encode(message, CONTROLLER_IP, SERVERS[0]))
        reply = message.reply(cache_metadata=CacheMetadata(7, 0, 0xFF))
        stf.packet(SERVER_PORTS[0], encode(reply, SERVERS[0], CONTROLLER_IP))
        stf.controller_receives(reply, SERVERS[0], SERVER_PORTS[0])
