"""FarReach's switch while snapshots are taken: originals, and writes sent through pipeline 0."""

from dataclasses import replace

from netkv.control.messages import Bit, Message, Op, Slot, Stamp
from tests.p4programs.farreach.write_back import (
    FULL,
    INCARNATION,
    REDIRECTED,
    TAKING_7,
    TAKING_8,
    TAKING_9,
    TOPOLOGY,
    WriteBackStf,
    applied,
    owned_by,
    read,
    write,
)
from tests.p4programs.farreach.write_back_replies import reply

CLEAN = Bit.LATEST | Bit.VALID
DIRTY = Bit.LATEST | Bit.DIRTY | Bit.VALID


def first_write(
    stf: WriteBackStf,
    message: Message,
    port: int,
    original: tuple[int, int, Stamp, bytes],
) -> Stamp:
    """A write, and the original that it sends to the controller: entry, snapshot and record."""
    stf.came(port, message)
    stamp = Stamp(INCARNATION, stf.numbered(message.key))
    entry, snapshot, record, value = original
    slot = Slot(entry, snapshot)
    about = replace(message, op=Op.ORIGINAL, stamp=record, slot=slot)
    stf.original(port, replace(about, value=value, length=len(value)))
    stf.answer(port, applied(message, stamp))
    return stamp


def beside(port: int, ports: tuple[int, int]) -> int:
    """That of the two ports which is in the same pipeline as `port`."""
    return next(other for other in ports if other % 4 == port % 4)


def originals(stf: WriteBackStf) -> None:
    """The record before its first write after the snapshot point goes to the controller."""
    key, entry = owned_by(0, 500), 600
    generation = stf.fill(key, entry, b"offered", Stamp(INCARNATION, 3))
    port = TAKING_7[0]

    def put(value: bytes | None) -> Message:
        return write(key, value, stf.fresh(), 1, Stamp(INCARNATION))

    def record(stamp: Stamp, bits: Bit) -> Stamp:
        return replace(stamp, generation=generation, bits=bits)

    stf.say("no snapshot: no original. Not loaded as overwritten, whatever snapshot it is about")
    stamp = Stamp(INCARNATION, stf.written(key, b"one"))
    stf.tells(Op.LOAD, key, entry, record(stamp, DIRTY), b"one")
    stf.tells(Op.LOAD, key, entry, record(stamp, DIRTY), b"one", 7)
    stf.say("snapshot 7: the first write reports what was there; the others do not")
    held = (entry, 7, record(stamp, DIRTY), b"one")
    stamp = first_write(stf, put(b"two"), port, held)
    stf.hit(key, b"two", replace(stamp, bits=Bit.DIRTY))
    for value in (b"three", None, b"four"):
        stamp = Stamp(INCARNATION, stf.written(key, value, port=port))
    stf.say("it is told as overwritten in 7, in no other, and by LOAD and EVICT alike")
    overwritten = DIRTY | Bit.OVERWRITTEN
    stf.tells(Op.LOAD, key, entry, record(stamp, overwritten), b"four", 7)
    for other in (0, 6, 8):
        stf.tells(Op.LOAD, key, entry, record(stamp, DIRTY), b"four", other)
    stf.say("snapshot 8: again the first write only; values longer and shorter than the one before")
    value = b"four"
    for number, (snapshot, port) in enumerate(((8, TAKING_8[0]), (7, TAKING_7[0])) * 3):
        held = (entry, snapshot, record(stamp, DIRTY), value)
        value = FULL[: (128, 0, 17, 16, 1, 33)[number]]
        stamp = first_write(stf, put(value), port, held)
        stf.hit(key, value, replace(stamp, bits=Bit.DIRTY))
        stamp = Stamp(INCARNATION, stf.written(key, value, port=port))
    stf.say("a delete as the first write; a deleted record as the original")
    held = (entry, 8, record(stamp, DIRTY), value)
    stamp = first_write(stf, put(None), TAKING_8[0], held)
    stf.hit(key, None, replace(stamp, bits=Bit.DIRTY))
    held = (entry, 7, record(stamp, DIRTY | Bit.DELETED), b"")
    stamp = first_write(stf, put(FULL), port, held)
    stf.hit(key, FULL, replace(stamp, bits=Bit.DIRTY))
    stf.say("a write that is not applied, and a copy, report nothing")
    large = write(key, b"L" * 129, stf.fresh(), 1, Stamp(INCARNATION))
    for _ in range(2):
        stf.came(TAKING_8[0], large)
        stf.reaches(replace(large, stamp=Stamp(INCARNATION, stf.numbered(key))))
    message = put(b"after")
    held = (entry, 8, record(stamp, Bit.DIRTY | Bit.VALID), FULL)
    stamp = first_write(stf, message, TAKING_8[0], held)
    stf.came(TAKING_7[0], message)
    stf.numbered(key)
    stf.answer(TAKING_7[0], applied(message, stamp))
    stf.tells(Op.EVICT, key, entry, record(stamp, DIRTY | Bit.OVERWRITTEN), b"after", 8)
    stf.tells(Op.EVICT, key, entry, record(stamp, DIRTY), b"after", 7)


def clean_originals(stf: WriteBackStf) -> None:
    """Originals that the server has, too; and read replies after the snapshot point."""
    key, entry = owned_by(1, 501), 601
    port = beside(TOPOLOGY.owner(key).port, TAKING_7)
    generation = stf.fill(key, entry, b"offered", Stamp(INCARNATION, 3))

    def record(number: int, bits: Bit) -> Stamp:
        return Stamp(INCARNATION, number, generation, bits)

    stf.say("a read reply after the point is not stored before a write has reported the original")
    stf.replied(reply(key, b"later", Stamp(INCARNATION, 3, generation)), port)
    stf.missed(key, Stamp(INCARNATION, 0, generation))
    stf.tells(Op.LOAD, key, entry, record(3, Bit.VALID), b"offered", 7)
    stf.say("it outdates an entry, as a write that is not applied does")
    stf.replied(reply(key, b"later", Stamp(INCARNATION, 3, generation)))
    stf.hit(key, b"later", Stamp(INCARNATION, 3))
    stf.replied(reply(key, b"newer", Stamp(INCARNATION, 9, generation)), port)
    stf.missed(key, Stamp(INCARNATION, 0, generation))
    stf.tells(Op.LOAD, key, entry, record(3, Bit.VALID), b"later", 7)
    stf.say("before the point it is stored, and is then the original; a clean one is told as such")
    stf.replied(reply(key, b"before", Stamp(INCARNATION, 9, generation)))
    stf.count_from(key, 20)
    message = write(key, b"first", stf.fresh(), 1, Stamp(INCARNATION))
    stamp = first_write(stf, message, 11, (entry, 7, record(9, CLEAN), b"before"))
    stf.say("after the first write replies are stored again")
    number = stamp.number + 5
    stf.replied(reply(key, b"reply", Stamp(INCARNATION, number, generation)), port)
    stf.hit(key, b"reply", Stamp(INCARNATION, number))
    stf.tells(Op.LOAD, key, entry, record(number, CLEAN | Bit.OVERWRITTEN), b"reply", 7)
    stf.say("a record from before this incarnation as the original: its sequence is not known")
    past = owned_by(1, 502)
    generation = stf.fill(past, 602, b"past", Stamp(1, 8))
    message = write(past, b"first", stf.fresh(), 1, Stamp(INCARNATION))
    original = (602, 7, Stamp(0, 0, generation, Bit.VALID), b"past")
    first_write(stf, message, 11, original)
    stf.say("a new filling has reported nothing yet")
    new = owned_by(1, 503)
    generation = stf.fill(new, 602, b"new", Stamp(INCARNATION, 9))
    stf.tells(Op.LOAD, new, 602, Stamp(INCARNATION, 9, generation, Bit.VALID), b"new", 7)
    message = write(new, b"first", stf.fresh(), 1, Stamp(INCARNATION))
    original = (602, 7, Stamp(INCARNATION, 9, generation, Bit.VALID), b"new")
    first_write(stf, message, 12, original)


def redirected(stf: WriteBackStf) -> None:
    """Writes and replies of other pipelines go through pipeline 0 while its point is set."""
    key, entry = owned_by(0, 510), 610
    generation = stf.fill(key, entry, b"offered", Stamp(INCARNATION, 3))
    port = beside(TOPOLOGY.owner(key).port, REDIRECTED)
    stf.say("a read is not sent round; replies and writes are: pipeline 0 takes snapshot 9")
    stf.came(port, read(key, 1, 1, Stamp(INCARNATION)))
    stf.reaches(read(key, 1, 1, Stamp(INCARNATION, 0, generation)))
    stf.replied(reply(key, b"later", Stamp(INCARNATION, 3, generation)), port)
    stf.missed(key, Stamp(INCARNATION, 0, generation))
    stf.say("the original names the port by which the write came in; so does the answer go there")
    message = write(key, FULL, stf.fresh(), 1, Stamp(INCARNATION))
    original = (entry, 9, Stamp(INCARNATION, 3, generation, Bit.VALID), b"offered")
    first_write(stf, message, port, original)
    for other in (*REDIRECTED, *TAKING_9):
        number = stf.written(key, FULL[:other], port=other)
    stf.hit(key, FULL[:42], Stamp(INCARNATION, number, 0, Bit.DIRTY))
    stf.say("what came by a port of pipeline 0 is of that snapshot, without a way round")
    stf.tells(
        Op.LOAD,
        key,
        entry,
        Stamp(INCARNATION, number, generation, DIRTY | Bit.OVERWRITTEN),
        FULL[:42],
        9,
    )
    stf.say("writes that the server gets, and replies that are not of a cached key")
    uncached = owned_by(0, 511)
    for value in (b"v", None, b"L" * 1000):
        message = write(uncached, value, stf.fresh(), 1, Stamp(INCARNATION))
        stf.came(port, message)
        stf.reaches(replace(message, stamp=Stamp(INCARNATION, stf.numbered(uncached))))
    stf.replied(reply(uncached, b"r", Stamp(INCARNATION, 4, generation)), port)
    stf.replied(replace(reply(key, b"r", Stamp()), stamp=None), port)
