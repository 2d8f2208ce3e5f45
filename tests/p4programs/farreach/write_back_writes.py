"""FarReach's switch and writes: their numbers, copies of them, and which of them it applies."""

from dataclasses import replace

from netkv.control.messages import Bit, Message, Op, Stamp, encode
from netkv.control.topology import CONTROLLER_IP
from tests.p4programs.farreach.write_back import (
    FULL,
    INCARNATION,
    WriteBackStf,
    applied,
    found,
    owned_by,
    read,
    sharing_counter,
    write,
)
from tests.p4programs.stf import CLIENT_1, SERVERS

WINDOW = 1 << 28
"""An older request than one by this much is taken for a new one: the numbers went round."""


def numbers(stf: WriteBackStf) -> None:
    """Every write is numbered, by the counter of its key."""
    one, two = owned_by(1, 0), owned_by(2, 0)
    stf.say(
        "each key has its counter: writes get 1, 2, …, whatever they are and whoever sends them"
    )
    for key in (one, two, one):
        stf.forwarded(write(key, b"small", stf.fresh(), stamp=Stamp(INCARNATION)))
        stf.forwarded(write(key, None, stf.fresh(), stamp=Stamp(INCARNATION)))
        stf.forwarded(write(key, b"L" * 129, stf.fresh(), stamp=Stamp(INCARNATION)))
        stf.forwarded(write(key, b"", stf.fresh(), stamp=Stamp(INCARNATION)))
        stf.forwarded(write(key, b"other", stf.fresh(), 65, stamp=Stamp(INCARNATION)))
    stf.say("a read takes none")
    stf.missed(one, Stamp(INCARNATION))
    stf.say("keys that share a counter take turns")
    other = sharing_counter(one)
    for key in (other, one, other):
        stf.forwarded(write(key, FULL, stf.fresh(), stamp=Stamp(INCARNATION)))
    stf.say("after the last number comes 1: 0 is none")
    stf.count_from(two, 0xFFFFFFFD)
    for expected in (0xFFFFFFFE, 0xFFFFFFFF, 1, 2):
        message = write(two, b"round", stf.fresh(), stamp=Stamp(INCARNATION))
        assert stf.forwarded(message) == expected
    stf.say(
        "whatever address a request names, it goes to the owner: there is no way past the cache"
    )
    for address in (SERVERS[0], SERVERS[2], CONTROLLER_IP, 0x0A0A0A0A):
        message = write(one, b"direct", stf.fresh(), stamp=Stamp(INCARNATION))
        stf.packet(1, encode(message, CLIENT_1, address))
        stf.reaches(message)
    stf.say("what a client writes into the stamp is put right; an incarnation that is past is told")
    for incarnation, bits in (
        (0, 0),
        (INCARNATION, 0),
        (INCARNATION - 1, 0),
        (INCARNATION - 2, Bit.PAST),
        (INCARNATION + 1, Bit.PAST),
        (1, Bit.PAST),
        (0xFFFFFFFF, Bit.PAST),
    ):
        forged = Stamp(incarnation, 77, 99, Bit(0x7F))
        stf.forwarded(write(one, b"x", stf.fresh(), stamp=forged), Bit(bits))


def copies(stf: WriteBackStf) -> None:
    """A write that was forwarded: its copies, and what comes late."""
    key = owned_by(0, 0)

    def put(request: int, client: int = 3) -> Message:
        return write(key, b"copy", request, client, Stamp(INCARNATION))

    def late(request: int, client: int = 3) -> None:
        stf.ask(put(request, client))
        stf.numbered(key)  # the number is gone

    stf.say("a copy of what was forwarded is forwarded again, with a number of its own")
    stf.forwarded(put(5))
    stf.forwarded(put(5))
    stf.say("so is it after other requests of the client, and as another request for the same key")
    stf.forwarded(put(6))
    stf.forwarded(put(5))
    stf.say("1024 requests on, the older one is late: dropped; the newer one is not")
    stf.forwarded(put(5 + 1024))
    late(5)
    stf.forwarded(put(5 + 1024))
    late(5)
    stf.say("the other 1023 of the window are known still")
    stf.forwarded(put(6))
    stf.say("other clients have windows of their own; clients from 65 on, and 0, have none")
    for client in (1, 2, 4, 64):
        stf.forwarded(put(5 + 2048, client))
        late(5 + 1024, client)
    for client in (0, 65, 66, 128, 129, 0x7FFF, 0x8003, 0xFFFF):
        stf.forwarded(put(5 + 2048, client))
        stf.forwarded(put(5 + 1024, client))
    stf.say("older by less than 2^28 is late, by more is new: the numbers go round")
    newest = 7 + WINDOW
    stf.forwarded(put(newest, 5))
    late(7 + 1024, 5)
    late(newest - 1024, 5)
    stf.forwarded(put(7, 5))
    stf.forwarded(put(newest, 5))
    stf.say("0 comes after 2^32 - 1")
    stf.forwarded(put(0xFFFFFC08, 6))
    stf.forwarded(put(8, 6))
    late(0xFFFFFC08, 6)
    stf.say("the first request of all is new, although its cell reads 0")
    stf.forwarded(put(0, 7))
    stf.forwarded(put(0, 7))


def applied_once(stf: WriteBackStf) -> None:
    """A write that the switch applied: its copies get its answer and change nothing."""
    key = owned_by(0, 1)
    generation = stf.fill(key, 10)
    stf.say("applied and answered with its sequence; the reads after it see it, dirty")
    first = write(key, b"first", 20, 8, Stamp(INCARNATION))
    stf.came(1, first)
    one = stf.numbered(key)
    stf.answer(1, applied(first, Stamp(INCARNATION, one)))
    stf.hit(key, b"first", Stamp(INCARNATION, one, 0, Bit.DIRTY))
    stf.say("values of every length, one after the other: chunks of a longer one are left behind")
    for length in (0, 1, 15, 16, 17, 64, 127, 128, 3):
        number = stf.written(key, FULL[:length])
        stf.hit(key, FULL[:length], Stamp(INCARNATION, number, 0, Bit.DIRTY))
    stf.say("a delete is applied like a write of nothing, and read as not found")
    number = stf.written(key, None)
    stf.hit(key, None, Stamp(INCARNATION, number, 0, Bit.DIRTY))
    number = stf.written(key, b"again")
    stf.say("late copies of the first write, from anywhere: its answer, and nothing changes")
    for port in (1, 2):
        stf.came(port, first)
        stf.numbered(key)
        stf.answer(port, applied(first, Stamp(INCARNATION, one)))
    stf.hit(key, b"again", Stamp(INCARNATION, number, 0, Bit.DIRTY))
    stf.say("a delete that was applied, and its copy")
    gone = write(key, None, 21, 8, Stamp(INCARNATION))
    two = stf.numbered(key)
    for _ in range(2):
        stf.came(1, gone)
        stf.answer(1, applied(gone, Stamp(INCARNATION, two)))
    stf.numbered(key)
    stf.hit(key, None, Stamp(INCARNATION, two, 0, Bit.DIRTY))
    stf.say("an era later a copy is answered with the incarnation in which the write was applied")
    stf.begin_incarnation(INCARNATION + 1)
    for message, number in ((first, one), (gone, two)):
        stf.came(1, message)
        stf.numbered(key)
        stf.answer(1, applied(message, Stamp(INCARNATION, number)))
    stf.say(
        "so is a read, of whatever era; a write is of the new one, also with the former incarnation"
    )
    stf.hit(key, None, Stamp(INCARNATION, two, 0, Bit.DIRTY))
    message = write(key, b"era", stf.fresh(), 1, Stamp(INCARNATION))
    stf.ask(message)
    number = stf.numbered(key)
    stf.answered(applied(message, Stamp(INCARNATION + 1, number)))
    stf.hit(key, b"era", Stamp(INCARNATION + 1, number, 0, Bit.DIRTY))
    stf.begin_incarnation(INCARNATION + 200)
    stf.hit(key, b"era", Stamp(INCARNATION + 1, number, 0, Bit.DIRTY))
    stf.begin_incarnation(INCARNATION)
    stf.say("and a copy that comes when the entry is gone")
    stf.control(Op.RETIRE, key, 10, generation)
    stf.came(1, first)
    stf.numbered(key)
    stf.answer(1, applied(first, Stamp(INCARNATION, one)))


def not_applied(stf: WriteBackStf) -> None:
    """Writes of a cached key that go to the server, and what becomes of the entry."""
    key = owned_by(0, 2)
    generation = stf.fill(key, 11)
    number = stf.written(key, b"held")
    held = Stamp(INCARNATION, number, 0, Bit.DIRTY)

    stf.say("unknown or past incarnation, or a client beyond 64: on to the server, the entry stays")
    stf.forwarded(write(key, b"n", stf.fresh(), 1, Stamp(0)))
    stf.forwarded(write(key, b"n", stf.fresh(), 1, Stamp(INCARNATION - 2)), Bit.PAST)
    stf.forwarded(write(key, b"n", stf.fresh(), 65, Stamp(INCARNATION)))
    stf.forwarded(write(key, None, stf.fresh(), 65, Stamp(INCARNATION)))
    stf.hit(key, b"held", held)
    stf.say("too large, from a client beyond 64 or a copy: the entry stays, its reply will tell")
    stf.forwarded(write(key, b"L" * 200, stf.fresh(), 65, Stamp(INCARNATION)))
    stf.hit(key, b"held", held)
    stf.say(
        "too large, new: outdated; a copy of it changes nothing; the record is embedded in reads"
    )
    large = write(key, b"L" * 129, stf.fresh(), 1, Stamp(INCARNATION))
    stf.forwarded(large)
    embedded = Stamp(INCARNATION, number, generation, Bit.EMBEDDED)
    stf.missed(key, embedded, b"held")
    again = stf.written(key, b"fits")
    stf.forwarded(large)
    stf.hit(key, b"fits", Stamp(INCARNATION, again, 0, Bit.DIRTY))
    stf.say("a deleted record is embedded, too")
    again = stf.written(key, None)
    stf.forwarded(write(key, b"L" * 1024, stf.fresh(), 1, Stamp(INCARNATION)))
    bits = Bit.EMBEDDED | Bit.DELETED
    stf.missed(key, Stamp(INCARNATION, again, generation, bits))
    stf.say("of 128 bytes it fits")
    again = stf.written(key, FULL)
    stf.hit(key, FULL, Stamp(INCARNATION, again, 0, Bit.DIRTY))
    stf.say("an entry that is not valid yet: writes and reads pass, unmarked")
    new = owned_by(0, 3)
    generation = stf.fill(new, 12, valid=False)
    stf.forwarded(write(new, b"early", stf.fresh(), 1, Stamp(INCARNATION)))
    stf.missed(new, Stamp(INCARNATION))
    stf.control(Op.VALIDATE, new, 12, generation)
    stf.missed(new, Stamp(INCARNATION, 0, generation))
    stf.say("to be evicted: every write makes it outdated, also copies and those of others")
    for message in (
        write(new, b"w", stf.fresh(), 1, Stamp(INCARNATION)),
        write(new, None, stf.fresh(), 65, Stamp(INCARNATION)),
        write(new, b"L" * 129, stf.fresh(), 1, Stamp(0)),
    ):
        evicting = owned_by(0, 20 + stf.requests % 100)
        generation = stf.fill(evicting, 13)
        number = stf.written(evicting, b"kept")
        record = Stamp(INCARNATION, number, generation, Bit.LATEST | Bit.DIRTY | Bit.VALID)
        stf.tells(Op.EVICT, evicting, 13, record, b"kept")
        stf.hit(evicting, b"kept", Stamp(INCARNATION, number, 0, Bit.DIRTY))
        stf.forwarded(replace(message, key=evicting))
        stf.missed(evicting, Stamp(INCARNATION, number, 0, Bit.EMBEDDED), b"kept")
        record = replace(record, bits=Bit.DIRTY | Bit.VALID)
        stf.tells(Op.EVICT, evicting, 13, record, b"kept")
    stf.say("to be evicted: a late copy of a write does nothing, and one that was applied neither")
    late = owned_by(0, 150)
    generation = stf.fill(late, 14)
    stf.forwarded(write(late, b"new", 4000, 20, Stamp(0)))
    first = write(late, b"kept", 1, 21, Stamp(INCARNATION))
    stf.came(1, first)
    stamp = Stamp(INCARNATION, stf.numbered(late))
    stf.answer(1, applied(first, stamp))
    record = replace(stamp, generation=generation, bits=Bit.LATEST | Bit.DIRTY | Bit.VALID)
    stf.tells(Op.EVICT, late, 14, record, b"kept")
    stf.ask(write(late, b"late", 4000 - 1024, 20, Stamp(INCARNATION)))
    stf.numbered(late)
    stf.came(1, first)
    stf.numbered(late)
    stf.answer(1, applied(first, stamp))
    stf.hit(late, b"kept", replace(stamp, bits=Bit.DIRTY))


def round_the_numbers(stf: WriteBackStf) -> None:
    """An entry goes on over the end of the numbers."""
    stf.say("numbers go round while the entry is written")
    key = owned_by(1, 5)
    stf.fill(key, 15)
    stf.count_from(key, 0xFFFFFFFE)
    for expected in (0xFFFFFFFF, 1, 2):
        assert stf.written(key, b"%d" % expected) == expected
        stf.hit(key, b"%d" % expected, Stamp(INCARNATION, expected, 0, Bit.DIRTY))
    stf.say("what a client writes into the stamp of a read has no effect")
    forged = replace(read(key), stamp=Stamp(1, 2, 3, Bit(0xFF)))
    stf.ask(forged)
    stf.answered(found(forged, b"2", Stamp(INCARNATION, 2, 0, Bit.DIRTY)))
