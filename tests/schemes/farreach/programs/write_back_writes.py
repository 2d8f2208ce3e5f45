"""FarReach's switch and writes: sequence numbers, deduplication, applied and forwarded writes."""

from dataclasses import replace

from netkv.model.messages import Bit, Message, Op, Stamp
from netkv.model.topology import CONTROLLER_IP
from tests.p4programs.stf import CLIENT_1, SERVERS, encode
from tests.schemes.farreach.programs.write_back import (
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

MAX_LATE = 1 << 28
"""A request older than its cell by this much or more is new: request numbers wrap around."""


def numbers(stf: WriteBackStf) -> None:
    """Every write is numbered, by the counter of its key."""
    one, two = owned_by(1, 0), owned_by(2, 0)
    stf.comment("each key has its counter: writes of every kind and client take 1, 2, …")
    for key in (one, two, one):
        stf.forwarded_write(write(key, b"small", stf.new_request(), stamp=Stamp(INCARNATION)))
        stf.forwarded_write(write(key, None, stf.new_request(), stamp=Stamp(INCARNATION)))
        stf.forwarded_write(write(key, b"L" * 129, stf.new_request(), stamp=Stamp(INCARNATION)))
        stf.forwarded_write(write(key, b"", stf.new_request(), stamp=Stamp(INCARNATION)))
        stf.forwarded_write(write(key, b"other", stf.new_request(), 65, stamp=Stamp(INCARNATION)))
    stf.comment("a read takes no number")
    stf.missed(one, Stamp(INCARNATION))
    stf.comment("keys that share a counter share its numbers")
    other = sharing_counter(one)
    for key in (other, one, other):
        stf.forwarded_write(write(key, FULL, stf.new_request(), stamp=Stamp(INCARNATION)))
    stf.comment("numbers wrap around to 1; 0 is skipped")
    stf.set_counter(two, 0xFFFFFFFD)
    for expected in (0xFFFFFFFE, 0xFFFFFFFF, 1, 2):
        message = write(two, b"round", stf.new_request(), stamp=Stamp(INCARNATION))
        assert stf.forwarded_write(message) == expected
    stf.comment("a request for any address goes to the owner of its key: none bypasses the cache")
    for address in (SERVERS[0], SERVERS[2], CONTROLLER_IP, 0x0A0A0A0A):
        message = write(one, b"direct", stf.new_request(), stamp=Stamp(INCARNATION))
        stf.packet(1, encode(message, CLIENT_1, address))
        stf.server_receives(message)
    stf.comment(
        "the switch overwrites a client's stamp; PAST unless 0, this or the last incarnation"
    )
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
        stf.forwarded_write(write(one, b"x", stf.new_request(), stamp=forged), Bit(bits))


def copies(stf: WriteBackStf) -> None:
    """Copies of forwarded writes, and late writes."""
    key = owned_by(0, 0)

    def put(request: int, client: int = 3) -> Message:
        return write(key, b"copy", request, client, Stamp(INCARNATION))

    def late(request: int, client: int = 3) -> None:
        stf.client_sends(put(request, client))
        stf.next_number(key)  # a late write takes a number, too

    stf.comment("a copy of a forwarded write is forwarded again, with a new number")
    stf.forwarded_write(put(5))
    stf.forwarded_write(put(5))
    stf.comment("also after another request of the same client")
    stf.forwarded_write(put(6))
    stf.forwarded_write(put(5))
    stf.comment("1024 requests later the older one is late and dropped; the newer one is not")
    stf.forwarded_write(put(5 + 1024))
    late(5)
    stf.forwarded_write(put(5 + 1024))
    late(5)
    stf.comment("the other 1023 requests of the window are not late")
    stf.forwarded_write(put(6))
    stf.comment("other clients have windows of their own; clients from 65 on, and 0, have none")
    for client in (1, 2, 4, 64):
        stf.forwarded_write(put(5 + 2048, client))
        late(5 + 1024, client)
    for client in (0, 65, 66, 128, 129, 0x7FFF, 0x8003, 0xFFFF):
        stf.forwarded_write(put(5 + 2048, client))
        stf.forwarded_write(put(5 + 1024, client))
    stf.comment("older by less than 2^28 is late, by 2^28 or more is new: request numbers wrap")
    newest = 7 + MAX_LATE
    stf.forwarded_write(put(newest, 5))
    late(7 + 1024, 5)
    late(newest - 1024, 5)
    stf.forwarded_write(put(7, 5))
    stf.forwarded_write(put(newest, 5))
    stf.comment("0 follows 2^32 - 1")
    stf.forwarded_write(put(0xFFFFFC08, 6))
    stf.forwarded_write(put(8, 6))
    late(0xFFFFFC08, 6)
    stf.comment("request 0 is new, although its cell is 0 before")
    stf.forwarded_write(put(0, 7))
    stf.forwarded_write(put(0, 7))


def applied_once(stf: WriteBackStf) -> None:
    """Copies of an applied write get the same answer and have no effect."""
    key = owned_by(0, 1)
    generation = stf.fill(key, 10)
    stf.comment("applied and answered with its sequence; later reads return it, dirty")
    first = write(key, b"first", 20, 8, Stamp(INCARNATION))
    stf.arrives_at(1, first)
    one = stf.next_number(key)
    stf.answered_at(1, applied(first, Stamp(INCARNATION, one)))
    stf.hit(key, b"first", Stamp(INCARNATION, one, 0, Bit.DIRTY))
    stf.comment("values of many lengths in turn: no chunk of a longer value is left in a read")
    for length in (0, 1, 15, 16, 17, 64, 127, 128, 3):
        number = stf.applied_write(key, FULL[:length])
        stf.hit(key, FULL[:length], Stamp(INCARNATION, number, 0, Bit.DIRTY))
    stf.comment("a delete is applied; reads get not found")
    number = stf.applied_write(key, None)
    stf.hit(key, None, Stamp(INCARNATION, number, 0, Bit.DIRTY))
    number = stf.applied_write(key, b"again")
    stf.comment("late copies of the first write at any port: the same answer, no effect")
    for port in (1, 2):
        stf.arrives_at(port, first)
        stf.next_number(key)
        stf.answered_at(port, applied(first, Stamp(INCARNATION, one)))
    stf.hit(key, b"again", Stamp(INCARNATION, number, 0, Bit.DIRTY))
    stf.comment("a delete that was applied, and its copy")
    gone = write(key, None, 21, 8, Stamp(INCARNATION))
    two = stf.next_number(key)
    for _ in range(2):
        stf.arrives_at(1, gone)
        stf.answered_at(1, applied(gone, Stamp(INCARNATION, two)))
    stf.next_number(key)
    stf.hit(key, None, Stamp(INCARNATION, two, 0, Bit.DIRTY))
    stf.comment("next incarnation: a copy is answered with the incarnation of its application")
    stf.begin_incarnation(INCARNATION + 1)
    for message, number in ((first, one), (gone, two)):
        stf.arrives_at(1, message)
        stf.next_number(key)
        stf.answered_at(1, applied(message, Stamp(INCARNATION, number)))
    stf.comment(
        "so is a read; a new write gets the new incarnation, even if its stamp has the last"
    )
    stf.hit(key, None, Stamp(INCARNATION, two, 0, Bit.DIRTY))
    message = write(key, b"era", stf.new_request(), 1, Stamp(INCARNATION))
    stf.client_sends(message)
    number = stf.next_number(key)
    stf.switch_answers(applied(message, Stamp(INCARNATION + 1, number)))
    stf.hit(key, b"era", Stamp(INCARNATION + 1, number, 0, Bit.DIRTY))
    stf.begin_incarnation(INCARNATION + 200)
    stf.hit(key, b"era", Stamp(INCARNATION + 1, number, 0, Bit.DIRTY))
    stf.begin_incarnation(INCARNATION)
    stf.comment("a copy after the entry was retired: the same answer")
    stf.control(Op.RETIRE, key, 10, generation)
    stf.arrives_at(1, first)
    stf.next_number(key)
    stf.answered_at(1, applied(first, Stamp(INCARNATION, one)))


def not_applied(stf: WriteBackStf) -> None:
    """Writes of a cached key that are forwarded, and their effect on the entry."""
    key = owned_by(0, 2)
    generation = stf.fill(key, 11)
    number = stf.applied_write(key, b"held")
    held = Stamp(INCARNATION, number, 0, Bit.DIRTY)

    stf.comment(
        "unknown or past incarnation, or client beyond 64: forwarded, the entry stays latest"
    )
    stf.forwarded_write(write(key, b"n", stf.new_request(), 1, Stamp(0)))
    stf.forwarded_write(write(key, b"n", stf.new_request(), 1, Stamp(INCARNATION - 2)), Bit.PAST)
    stf.forwarded_write(write(key, b"n", stf.new_request(), 65, Stamp(INCARNATION)))
    stf.forwarded_write(write(key, None, stf.new_request(), 65, Stamp(INCARNATION)))
    stf.hit(key, b"held", held)
    stf.comment("too large, from a client beyond 64: the entry stays latest until the reply")
    stf.forwarded_write(write(key, b"L" * 200, stf.new_request(), 65, Stamp(INCARNATION)))
    stf.hit(key, b"held", held)
    stf.comment("too large, new: outdated, and reads embed the record; a copy has no effect")
    large = write(key, b"L" * 129, stf.new_request(), 1, Stamp(INCARNATION))
    stf.forwarded_write(large)
    embedded = Stamp(INCARNATION, number, generation, Bit.EMBEDDED)
    stf.missed(key, embedded, b"held")
    again = stf.applied_write(key, b"fits")
    stf.forwarded_write(large)
    stf.hit(key, b"fits", Stamp(INCARNATION, again, 0, Bit.DIRTY))
    stf.comment("a deleted record is embedded, too")
    again = stf.applied_write(key, None)
    stf.forwarded_write(write(key, b"L" * 1024, stf.new_request(), 1, Stamp(INCARNATION)))
    bits = Bit.EMBEDDED | Bit.DELETED
    stf.missed(key, Stamp(INCARNATION, again, generation, bits))
    stf.comment("a value of 128 bytes fits")
    again = stf.applied_write(key, FULL)
    stf.hit(key, FULL, Stamp(INCARNATION, again, 0, Bit.DIRTY))
    stf.comment("an entry that is not valid yet: writes and reads are misses")
    new = owned_by(0, 3)
    generation = stf.fill(new, 12, valid=False)
    stf.forwarded_write(write(new, b"early", stf.new_request(), 1, Stamp(INCARNATION)))
    stf.missed(new, Stamp(INCARNATION))
    stf.control(Op.VALIDATE, new, 12, generation)
    stf.missed(new, Stamp(INCARNATION, 0, generation))
    stf.comment("to be evicted: every forwarded write outdates it, of any client")
    for message in (
        write(new, b"w", stf.new_request(), 1, Stamp(INCARNATION)),
        write(new, None, stf.new_request(), 65, Stamp(INCARNATION)),
        write(new, b"L" * 129, stf.new_request(), 1, Stamp(0)),
    ):
        evicting = owned_by(0, 20 + stf.requests % 100)
        generation = stf.fill(evicting, 13)
        number = stf.applied_write(evicting, b"kept")
        record = Stamp(INCARNATION, number, generation, Bit.LATEST | Bit.DIRTY | Bit.VALID)
        stf.controller_reads(Op.EVICT, evicting, 13, record, b"kept")
        stf.hit(evicting, b"kept", Stamp(INCARNATION, number, 0, Bit.DIRTY))
        stf.forwarded_write(replace(message, key=evicting))
        stf.missed(evicting, Stamp(INCARNATION, number, 0, Bit.EMBEDDED), b"kept")
        record = replace(record, bits=Bit.DIRTY | Bit.VALID)
        stf.controller_reads(Op.EVICT, evicting, 13, record, b"kept")
    stf.comment("to be evicted: a late write and a copy of an applied one have no effect")
    late = owned_by(0, 150)
    generation = stf.fill(late, 14)
    stf.forwarded_write(write(late, b"new", 4000, 20, Stamp(0)))
    first = write(late, b"kept", 1, 21, Stamp(INCARNATION))
    stf.arrives_at(1, first)
    stamp = Stamp(INCARNATION, stf.next_number(late))
    stf.answered_at(1, applied(first, stamp))
    record = replace(stamp, generation=generation, bits=Bit.LATEST | Bit.DIRTY | Bit.VALID)
    stf.controller_reads(Op.EVICT, late, 14, record, b"kept")
    stf.client_sends(write(late, b"late", 4000 - 1024, 20, Stamp(INCARNATION)))
    stf.next_number(late)
    stf.arrives_at(1, first)
    stf.next_number(late)
    stf.answered_at(1, applied(first, stamp))
    stf.hit(late, b"kept", replace(stamp, bits=Bit.DIRTY))


def wrapped_numbers(stf: WriteBackStf) -> None:
    """Sequence numbers wrap around while an entry is written."""
    stf.comment("numbers wrap around while the entry is written")
    key = owned_by(1, 5)
    stf.fill(key, 15)
    stf.set_counter(key, 0xFFFFFFFE)
    for expected in (0xFFFFFFFF, 1, 2):
        assert stf.applied_write(key, b"%d" % expected) == expected
        stf.hit(key, b"%d" % expected, Stamp(INCARNATION, expected, 0, Bit.DIRTY))
    stf.comment("the stamp of a read has no effect")
    forged = replace(read(key), stamp=Stamp(1, 2, 3, Bit(0xFF)))
    stf.client_sends(forged)
    stf.switch_answers(found(forged, b"2", Stamp(INCARNATION, 2, 0, Bit.DIRTY)))
