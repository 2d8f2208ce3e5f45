"""FarReach's switch and its controller: messages about entries, statistics, dropped frames."""

from dataclasses import replace

from netkv.model.messages import Bit, CacheMetadata, Message, Op, Slot, Stamp, Status
from netkv.model.topology import CPU_PORT, SERVICE_IP
from tests.checksums import with_udp_checksum
from tests.p4programs.forwarding.common_scenarios import changed
from tests.p4programs.stf import CLIENT_1, SERVER_PORTS, SERVERS, encode, packet_out
from tests.schemes.farreach.programs.write_back import (
    FULL,
    INCARNATION,
    WriteBackStf,
    about,
    found,
    owned_by,
    read,
    write,
)
from tests.schemes.farreach.programs.write_back_replies import reply

HALF = 1 << 31


def fills(stf: WriteBackStf) -> None:
    """FILL needs a newer generation than the entry has."""
    key = owned_by(1, 200)
    entry = 300

    def fill(generation: int, status: Status, value: bytes = b"v") -> None:
        message = about(Op.FILL, key, entry, Stamp(INCARNATION, 3, generation), value)
        stf.controller_asks(
            message, message.reply(stamp=message.stamp, slot=message.slot, status=status)
        )

    def holds(generation: int, value: bytes) -> None:
        stf.controller_reads(Op.LOAD, key, entry, Stamp(INCARNATION, 3, generation), value)

    stf.comment("generation 0 is stale in every message, even for an empty entry")
    fill(0, Status.STALE)
    for op in (Op.VALIDATE, Op.EVICT, Op.LOAD, Op.RETIRE, Op.COUNT):
        stf.control(op, key, entry, 0, Status.STALE)
    stf.comment("first fill: any generation; the same again: ok, no effect; an older one: stale")
    fill(HALF + 7, Status.OK, b"first")
    fill(HALF + 7, Status.OK, b"twice")
    holds(HALF + 7, b"first")
    for old in (HALF + 6, 8, 7):
        fill(old, Status.STALE, b"old")
    holds(HALF + 7, b"first")
    stf.comment("generations wrap around")
    for generation in (HALF + 8, 0xFFFFFFFF, 1, HALF):
        fill(generation, Status.OK, b"%d" % generation)
        holds(generation, b"%d" % generation)
    fill(HALF - 1, Status.STALE, b"late")
    fill(1, Status.STALE, b"late")
    holds(HALF, b"%d" % HALF)
    stf.comment("records of every length; deleted ones; the last entry")
    entry = 32767
    generation = 5
    for length in (0, 1, 16, 17, 112, 113, 128):
        generation += 1
        fill(generation, Status.OK, FULL[:length])
        holds(generation, FULL[:length])
    deleted = about(Op.FILL, key, entry, Stamp(INCARNATION, 8, 20, Bit.DELETED))
    stf.controller_asks(deleted, deleted.reply(stamp=deleted.stamp, slot=Slot(entry)))
    stf.controller_reads(Op.LOAD, key, entry, Stamp(INCARNATION, 8, 20, Bit.DELETED))
    stf.comment("a record of neither this nor the last incarnation: its sequence counts as 0")
    for incarnation in (0, INCARNATION - 2, INCARNATION + 1):
        generation = 30 + incarnation
        message = about(Op.FILL, key, entry, Stamp(incarnation, 9, generation), b"past")
        stf.controller_asks(message, message.reply(stamp=message.stamp, slot=Slot(entry)))
        stf.controller_reads(Op.LOAD, key, entry, Stamp(0, 0, generation), b"past")
    generation = 30 + INCARNATION + 2
    message = about(Op.FILL, key, entry, Stamp(INCARNATION - 1, 9, generation), b"before")
    stf.controller_asks(message, message.reply(stamp=message.stamp, slot=Slot(entry)))
    stf.controller_reads(Op.LOAD, key, entry, Stamp(INCARNATION - 1, 9, generation), b"before")


def states(stf: WriteBackStf) -> None:
    """VALIDATE, EVICT and RETIRE: an entry never returns to a state; copies have no effect."""
    key, entry = owned_by(1, 201), 301
    old = stf.fill(key, entry, b"0", Stamp(INCARNATION, 4), valid=False)

    def reads(op: Op, bits: Bit, value: bytes = b"0", number: int = 4) -> None:
        stf.controller_reads(op, key, entry, Stamp(INCARNATION, number, old, bits), value)

    stf.comment("filled: neither valid nor latest")
    reads(Op.LOAD, Bit(0))
    stf.comment("valid, twice: reads and writes are served")
    stf.control(Op.VALIDATE, key, entry, old)
    stf.control(Op.VALIDATE, key, entry, old)
    reads(Op.LOAD, Bit.VALID)
    number = stf.applied_write(key, b"1")
    stf.control(Op.VALIDATE, key, entry, old)
    reads(Op.LOAD, Bit.VALID | Bit.LATEST | Bit.DIRTY, b"1", number)
    stf.comment("a deleted record")
    number = stf.applied_write(key, None)
    reads(Op.LOAD, Bit.VALID | Bit.LATEST | Bit.DIRTY | Bit.DELETED, b"", number)
    number = stf.applied_write(key, b"1")
    stf.comment("to be evicted, twice; a late copy of VALIDATE has no effect")
    for _ in range(2):
        reads(Op.EVICT, Bit.VALID | Bit.LATEST | Bit.DIRTY, b"1", number)
    stf.control(Op.VALIDATE, key, entry, old)
    stf.hit(key, b"1", Stamp(INCARNATION, number, 0, Bit.DIRTY))
    stf.forwarded_write(write(key, b"2", stf.new_request(), 1, Stamp(INCARNATION)))
    reads(Op.EVICT, Bit.VALID | Bit.DIRTY, b"1", number)
    stf.comment("retired, twice: a miss; late copies of VALIDATE and EVICT have no effect")
    for _ in range(2):
        stf.control(Op.RETIRE, key, entry, old)
        stf.control(Op.VALIDATE, key, entry, old)
        reads(Op.EVICT, Bit.DIRTY, b"1", number)
        reads(Op.LOAD, Bit.DIRTY, b"1", number)
        stf.missed(key, Stamp(INCARNATION))
        stf.forwarded_write(write(key, b"3", stf.new_request(), 1, Stamp(INCARNATION)))
    stf.comment("a copy of the first FILL, the same generation: ok, without effect")
    message = about(Op.FILL, key, entry, Stamp(INCARNATION, 4, old), b"0")
    stf.controller_asks(message, message.reply(stamp=message.stamp, slot=Slot(entry)))
    reads(Op.LOAD, Bit.DIRTY, b"1", number)
    stf.comment("the entry now belongs to another key: late copies of all messages are stale")
    other = owned_by(1, 202)
    new = stf.fill(other, entry, b"new", Stamp(INCARNATION, 6))
    stf.missed(key, Stamp(INCARNATION))
    assert stf.forwarded_write(write(key, b"4", stf.new_request(), 1, Stamp(INCARNATION)))
    for op in (Op.FILL, Op.VALIDATE, Op.EVICT, Op.LOAD, Op.RETIRE, Op.COUNT):
        value = b"late" if op is Op.FILL else b""
        for generation in (old, new + 1):
            if op is Op.FILL and generation > new:
                continue
            late = about(op, key, entry, Stamp(INCARNATION, 4, generation), value)
            stale = late.reply(stamp=late.stamp, slot=late.slot, status=Status.STALE)
            stf.controller_asks(late, stale)
    stf.server_replies(reply(other, b"served", Stamp(INCARNATION, 6, new)))
    stf.hit(other, b"served", Stamp(INCARNATION, 6))
    stf.comment("EVICT of an entry that was never valid; RETIRE of a valid entry")
    third = owned_by(1, 203)
    generation = stf.fill(third, 302, b"3", Stamp(INCARNATION, 4), valid=False)
    stf.controller_reads(Op.EVICT, third, 302, Stamp(INCARNATION, 4, generation), b"3")
    stf.controller_reads(Op.EVICT, third, 302, Stamp(INCARNATION, 4, generation, Bit.VALID), b"3")
    stf.control(Op.RETIRE, other, entry, new)
    stf.missed(other, Stamp(INCARNATION))


def counts(stf: WriteBackStf, key: bytes, entry: int, generation: int, count: int) -> None:
    message = about(Op.COUNT, key, entry, Stamp(generation=generation))
    stf.controller_asks(message, message.reply(stamp=message.stamp, slot=Slot(entry, count)))


def statistics(stf: WriteBackStf) -> None:
    """Sampled requests count for their entry or in the sketch, by epoch."""
    key, entry = owned_by(2, 300), 400
    generation = stf.fill(key, entry, b"x")
    stf.epoch = 0xFFFE
    stf.settings(below=65_536)
    stf.comment(
        "reads and writes of a valid entry count, hit or miss; those of other entries do not"
    )
    counts(stf, key, entry, generation, 0)
    stf.missed(key, Stamp(INCARNATION, 0, generation))
    number = stf.applied_write(key, b"y")
    for request in range(5):
        stf.hit(key, b"y", Stamp(INCARNATION, number, 0, Bit.DIRTY), request)
    counts(stf, key, entry, generation, 7)
    stf.comment("COUNT does not change the count; a new epoch and a new fill clear it")
    counts(stf, key, entry, generation, 7)
    for epoch in (0xFFFF, 0, 1):
        stf.epoch = epoch
        stf.settings(below=65_536)
        counts(stf, key, entry, generation, 0)
        stf.hit(key, b"y", Stamp(INCARNATION, number, 0, Bit.DIRTY))
        counts(stf, key, entry, generation, 1)
    record = Stamp(INCARNATION, number, generation, Bit.LATEST | Bit.DIRTY | Bit.VALID)
    stf.controller_reads(Op.EVICT, key, entry, record, b"y")
    stf.hit(key, b"y", Stamp(INCARNATION, number, 0, Bit.DIRTY))
    counts(stf, key, entry, generation, 2)
    stf.control(Op.RETIRE, key, entry, generation)
    other = owned_by(2, 301)
    new = stf.fill(other, entry)
    counts(stf, other, entry, new, 0)
    stf.comment(
        "requests for other keys count in the sketch: HOT from the fourth, reads and writes"
    )
    for cold in (owned_by(2, 302), owned_by(2, 303)):
        for request in range(3):
            stf.missed(cold, Stamp(INCARNATION), request=request)
        stf.missed(cold, Stamp(INCARNATION, 0, 0, Bit.HOT))
        stf.forwarded_write(write(cold, b"h", stf.new_request(), 1, Stamp(INCARNATION)), Bit.HOT)
        stf.forwarded_write(write(cold, None, stf.new_request(), 1, Stamp(1)), Bit.HOT | Bit.PAST)
        stf.forwarded_write(write(cold, b"L" * 300, stf.new_request(), 65, Stamp(0)), Bit.HOT)
        stf.missed(cold, Stamp(INCARNATION, 0, 0, Bit.HOT))
    stf.comment("so do those for an invalid entry; a new epoch begins at 0")
    stf.epoch = 2
    stf.settings(below=65_536)
    unready = owned_by(2, 304)
    stf.fill(unready, 401, valid=False)
    stf.forwarded_write(write(unready, b"h", stf.new_request(), 1, Stamp(INCARNATION)))
    stf.missed(unready, Stamp(INCARNATION))
    stf.missed(unready, Stamp(INCARNATION))
    stf.missed(unready, Stamp(INCARNATION, 0, 0, Bit.HOT))
    cold = owned_by(2, 302)
    stf.missed(cold, Stamp(INCARNATION))
    stf.comment("sampling depends on the request alone: a third of them, the same each time")
    stf.epoch = 3
    stf.settings(below=21_845)
    chosen = 0
    for request in range(40):
        chosen += sampler_hash(2, request, cold) < 21_845
        bits = Bit.HOT if chosen >= 4 and sampler_hash(2, request, cold) < 21_845 else Bit(0)
        message = read(cold, request, 2, Stamp(INCARNATION))
        stf.client_sends(message)
        stf.server_receives(replace(message, stamp=Stamp(INCARNATION, 0, 0, bits)))
    assert 5 < chosen < 25
    stf.settings()


def sampler_hash(sender: int, request: int, key: bytes) -> int:
    """CRC-16 of a request, as docs/internals/wire-format.md says."""
    crc = 0
    for byte in sender.to_bytes(2) + request.to_bytes(4) + key:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ 0xA001 if crc & 1 else crc >> 1
    return crc


def closed(stf: WriteBackStf) -> None:
    """While the mode is closed, only clients' requests are dropped."""
    key, other = owned_by(0, 400), owned_by(0, 401)
    generation = stf.fill(key, 500)
    number = stf.applied_write(key, b"closed")
    stf.settings(opened=0)
    stf.comment("closed: requests of clients are dropped, cached or not, and take no number")
    for about_key in (key, other):
        stf.client_sends(read(about_key, 1, 1, Stamp(INCARNATION)))
        stf.client_sends(write(about_key, b"v", stf.new_request(), 1, Stamp(INCARNATION)))
        stf.client_sends(write(about_key, None, stf.new_request(), 1, Stamp(INCARNATION)))
        stf.arrives_at(31, write(about_key, b"v", stf.new_request(), 1, Stamp(INCARNATION)))
    stf.comment("closed: replies, messages about entries and messages to servers are forwarded")
    stf.server_replies(reply(other, b"r", Stamp(INCARNATION, 1)))
    record = Stamp(INCARNATION, number, generation, Bit.LATEST | Bit.DIRTY | Bit.VALID)
    stf.controller_reads(Op.LOAD, key, 500, record, b"closed")
    filled = owned_by(0, 402)
    new = stf.fill(filled, 501, b"f", Stamp(INCARNATION, 5))
    stf.server_replies(reply(filled, b"r", Stamp(INCARNATION, 5, new)))
    restore = Message(Op.RESTORE, key, 5, stamp=Stamp(INCARNATION, 1), length=300, value=b"R" * 300)
    stf.controller_sends(restore)
    stf.expect(SERVER_PORTS[0], encode(restore, 0x0A000001, SERVERS[0]))
    stf.settings()
    stf.comment("open again")
    stf.hit(key, b"closed", Stamp(INCARNATION, number, 0, Bit.DIRTY))
    stf.hit(filled, b"r", Stamp(INCARNATION, 5))


def refused(stf: WriteBackStf) -> None:
    """Frames that are dropped in addition to those that every program drops."""
    key = owned_by(0, 410)
    generation = stf.fill(key, 510, b"safe", Stamp(INCARNATION, 3))
    stamp = Stamp(INCARNATION, 9, generation)

    stf.comment("messages about entries are dropped unless they arrive at the controller's port")
    for op in range(0x40, 0x50):
        fill = Message(Op.FILL, key, 1, stamp=stamp, slot=Slot(510))
        frame = bytearray(encode(fill, CLIENT_1, SERVICE_IP))
        frame[43] = op
        for port in (1, 3, 31):
            stf.packet(port, bytes(frame))
        stf.packet(1, bytes(frame[:30]) + bytes([10, 0, 0, 1]) + bytes(frame[34:]))
    stf.comment("at the controller's port: unknown ops")
    for op in (*range(0x41, 0x50, 2), 0x4C, 0x4E):
        frame = bytearray(encode(Message(Op.FILL, key, 1, stamp=stamp, slot=Slot(510))))
        frame[43] = op
        stf.packet(CPU_PORT, packet_out(0) + bytes(frame))
    stf.comment("no such entry; a record too large for an entry")
    for op in (Op.FILL, Op.EVICT, Op.LOAD):
        for entry in (32768, 33278, 65535):
            stf.controller_sends(about(op, key, entry, stamp))
    stf.controller_sends(about(Op.FILL, key, 510, replace(stamp, generation=9999), b"L" * 129))
    stf.comment(
        "requests and messages about entries without a stamp, with cache metadata, or truncated"
    )
    fill = about(Op.FILL, key, 510, replace(stamp, generation=9999), FULL)
    put = write(key, FULL, 1, 1, Stamp(INCARNATION))
    frames = [(CPU_PORT, packet_out(0) + encode(fill))]
    stamp = Stamp(INCARNATION)
    for message in (read(key, 1, 1, stamp), put, write(key, None, 1, 1, stamp)):
        frames.append((1, encode(message, CLIENT_1, SERVICE_IP)))
        stf.client_sends(replace(message, stamp=None))
        stf.client_sends(replace(message, cache_metadata=CacheMetadata(1)))
        stf.client_sends(replace(message, stamp=None, cache_metadata=CacheMetadata(1)))
    served = reply(key, FULL, Stamp(INCARNATION, 9, generation))
    frames.append((SERVER_PORTS[0], encode(served, SERVERS[0], CLIENT_1)))
    for port, whole in frames:
        for length in range(70, len(whole), 5):
            stf.packet(port, whole[:length])
        stf.packet(port, whole[:-1])
    stf.comment("UDP lengths that end within the stamp or value; the frame is longer")
    for port, whole in frames:
        head = 2 if port == CPU_PORT else 0
        udp = int.from_bytes(whole[head + 38 : head + 40])
        for shorter in (udp - 1, udp - 16, 36 + 12, 36):
            ends = changed(whole[head:], 39, shorter, False)
            ends = changed(ends, 17, shorter + 20, True)
            stf.packet(port, whole[:head] + ends)
    stf.comment("none of these frames had an effect")
    stf.controller_reads(Op.LOAD, key, 510, Stamp(INCARNATION, 3, generation, Bit.VALID), b"safe")
    stf.comment("an answer has a UDP checksum if the request has one")
    request = read(key, 1, 1, Stamp(INCARNATION))
    number = stf.applied_write(key, b"sum")
    stf.packet(1, with_udp_checksum(encode(request, CLIENT_1, SERVICE_IP)))
    answer = found(request, b"sum", Stamp(INCARNATION, number, 0, Bit.DIRTY))
    stf.expect(1, with_udp_checksum(encode(answer, SERVICE_IP, CLIENT_1)))
    stf.comment("bytes behind the value stay in the answer; the receiver cuts them")
    longer = replace(put, request=stf.new_request(), value=FULL[:16] + b"p" * 16, length=10)
    stf.client_sends(longer)
    number = stf.next_number(key)
    answer = longer.reply(stamp=Stamp(INCARNATION, number), cache_hit=True)
    stf.expect(1, encode(replace(answer, value=b"p" * 16), SERVICE_IP, CLIENT_1))
    stf.client_sends(request)
    hit = found(request, FULL[:16], Stamp(INCARNATION, number, 0, Bit.DIRTY))
    stf.switch_answers(replace(hit, length=10))
