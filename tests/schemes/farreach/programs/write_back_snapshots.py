"""FarReach's switch while snapshots are taken: originals, and redirection to pipeline 0."""

from dataclasses import replace

from netkv.model.messages import Bit, Message, Op, Slot, Stamp
from tests.schemes.farreach.programs.write_back import (
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
from tests.schemes.farreach.programs.write_back_replies import reply

CLEAN = Bit.LATEST | Bit.VALID
DIRTY = Bit.LATEST | Bit.DIRTY | Bit.VALID


def first_write(
    stf: WriteBackStf,
    message: Message,
    port: int,
    original: tuple[int, int, Stamp, bytes],
) -> Stamp:
    """A write for which the switch sends an original (entry, snapshot, record, value)."""
    stf.arrives_at(port, message)
    stamp = Stamp(INCARNATION, stf.next_number(message.key))
    entry, snapshot, record, value = original
    slot = Slot(entry, snapshot)
    about = replace(message, op=Op.ORIGINAL, stamp=record, slot=slot)
    stf.controller_receives_original(port, replace(about, value=value, length=len(value)))
    stf.answered_at(port, applied(message, stamp))
    return stamp


def beside(port: int, ports: tuple[int, int]) -> int:
    """The one of the two ports that is in the same pipeline as `port`."""
    return next(other for other in ports if other % 4 == port % 4)


def originals(stf: WriteBackStf) -> None:
    """The first write of a key after the snapshot point sends the old record to the controller."""
    key, entry = owned_by(0, 500), 600
    generation = stf.fill(key, entry, b"offered", Stamp(INCARNATION, 3))
    port = TAKING_7[0]

    def put(value: bytes | None) -> Message:
        return write(key, value, stf.new_request(), 1, Stamp(INCARNATION))

    def record(stamp: Stamp, bits: Bit) -> Stamp:
        return replace(stamp, generation=generation, bits=bits)

    stf.comment("no snapshot: no original. LOAD of any snapshot is without OVERWRITTEN")
    stamp = Stamp(INCARNATION, stf.applied_write(key, b"one"))
    stf.controller_reads(Op.LOAD, key, entry, record(stamp, DIRTY), b"one")
    stf.controller_reads(Op.LOAD, key, entry, record(stamp, DIRTY), b"one", 7)
    stf.comment("snapshot 7: the first write reports the old record; the others do not")
    held = (entry, 7, record(stamp, DIRTY), b"one")
    stamp = first_write(stf, put(b"two"), port, held)
    stf.hit(key, b"two", replace(stamp, bits=Bit.DIRTY))
    for value in (b"three", None, b"four"):
        stamp = Stamp(INCARNATION, stf.applied_write(key, value, port=port))
    stf.comment("LOAD and EVICT have OVERWRITTEN for snapshot 7, not for others")
    overwritten = DIRTY | Bit.OVERWRITTEN
    stf.controller_reads(Op.LOAD, key, entry, record(stamp, overwritten), b"four", 7)
    for other in (0, 6, 8):
        stf.controller_reads(Op.LOAD, key, entry, record(stamp, DIRTY), b"four", other)
    stf.comment(
        "snapshot 8: again the first write only; values longer and shorter than the one before"
    )
    value = b"four"
    for number, (snapshot, port) in enumerate(((8, TAKING_8[0]), (7, TAKING_7[0])) * 3):
        held = (entry, snapshot, record(stamp, DIRTY), value)
        value = FULL[: (128, 0, 17, 16, 1, 33)[number]]
        stamp = first_write(stf, put(value), port, held)
        stf.hit(key, value, replace(stamp, bits=Bit.DIRTY))
        stamp = Stamp(INCARNATION, stf.applied_write(key, value, port=port))
    stf.comment("a delete as the first write; a deleted record as the original")
    held = (entry, 8, record(stamp, DIRTY), value)
    stamp = first_write(stf, put(None), TAKING_8[0], held)
    stf.hit(key, None, replace(stamp, bits=Bit.DIRTY))
    held = (entry, 7, record(stamp, DIRTY | Bit.DELETED), b"")
    stamp = first_write(stf, put(FULL), port, held)
    stf.hit(key, FULL, replace(stamp, bits=Bit.DIRTY))
    stf.comment("a write that is not applied, and a copy, send no original")
    large = write(key, b"L" * 129, stf.new_request(), 1, Stamp(INCARNATION))
    for _ in range(2):
        stf.arrives_at(TAKING_8[0], large)
        stf.server_receives(replace(large, stamp=Stamp(INCARNATION, stf.next_number(key))))
    message = put(b"after")
    held = (entry, 8, record(stamp, Bit.DIRTY | Bit.VALID), FULL)
    stamp = first_write(stf, message, TAKING_8[0], held)
    stf.arrives_at(TAKING_7[0], message)
    stf.next_number(key)
    stf.answered_at(TAKING_7[0], applied(message, stamp))
    stf.controller_reads(Op.EVICT, key, entry, record(stamp, DIRTY | Bit.OVERWRITTEN), b"after", 8)
    stf.controller_reads(Op.EVICT, key, entry, record(stamp, DIRTY), b"after", 7)


def clean_originals(stf: WriteBackStf) -> None:
    """Originals that are not dirty; and read replies after the snapshot point."""
    key, entry = owned_by(1, 501), 601
    port = beside(TOPOLOGY.owner(key).port, TAKING_7)
    generation = stf.fill(key, entry, b"offered", Stamp(INCARNATION, 3))

    def record(number: int, bits: Bit) -> Stamp:
        return Stamp(INCARNATION, number, generation, bits)

    stf.comment("a read reply after the point is not stored before a write has sent the original")
    stf.server_replies(reply(key, b"later", Stamp(INCARNATION, 3, generation)), port)
    stf.missed(key, Stamp(INCARNATION, 0, generation))
    stf.controller_reads(Op.LOAD, key, entry, record(3, Bit.VALID), b"offered", 7)
    stf.comment("a newer read reply outdates the entry")
    stf.server_replies(reply(key, b"later", Stamp(INCARNATION, 3, generation)))
    stf.hit(key, b"later", Stamp(INCARNATION, 3))
    stf.server_replies(reply(key, b"newer", Stamp(INCARNATION, 9, generation)), port)
    stf.missed(key, Stamp(INCARNATION, 0, generation))
    stf.controller_reads(Op.LOAD, key, entry, record(3, Bit.VALID), b"later", 7)
    stf.comment("before the point it is stored; the original is then this record, not dirty")
    stf.server_replies(reply(key, b"before", Stamp(INCARNATION, 9, generation)))
    stf.set_counter(key, 20)
    message = write(key, b"first", stf.new_request(), 1, Stamp(INCARNATION))
    stamp = first_write(stf, message, 11, (entry, 7, record(9, CLEAN), b"before"))
    stf.comment("after the first write replies are stored again")
    number = stamp.number + 5
    stf.server_replies(reply(key, b"reply", Stamp(INCARNATION, number, generation)), port)
    stf.hit(key, b"reply", Stamp(INCARNATION, number))
    stf.controller_reads(Op.LOAD, key, entry, record(number, CLEAN | Bit.OVERWRITTEN), b"reply", 7)
    stf.comment("a record of an earlier incarnation as the original: its sequence is 0")
    past = owned_by(1, 502)
    generation = stf.fill(past, 602, b"past", Stamp(1, 8))
    message = write(past, b"first", stf.new_request(), 1, Stamp(INCARNATION))
    original = (602, 7, Stamp(0, 0, generation, Bit.VALID), b"past")
    first_write(stf, message, 11, original)
    stf.comment("after a new fill, the first write sends an original again")
    new = owned_by(1, 503)
    generation = stf.fill(new, 602, b"new", Stamp(INCARNATION, 9))
    stf.controller_reads(Op.LOAD, new, 602, Stamp(INCARNATION, 9, generation, Bit.VALID), b"new", 7)
    message = write(new, b"first", stf.new_request(), 1, Stamp(INCARNATION))
    original = (602, 7, Stamp(INCARNATION, 9, generation, Bit.VALID), b"new")
    first_write(stf, message, 12, original)


def redirected(stf: WriteBackStf) -> None:
    """Writes and replies of a redirecting pipeline are recirculated through pipeline 0."""
    key, entry = owned_by(0, 510), 610
    generation = stf.fill(key, entry, b"offered", Stamp(INCARNATION, 3))
    port = beside(TOPOLOGY.owner(key).port, REDIRECTED)
    stf.comment("reads are not redirected; replies and writes are: pipeline 0 takes snapshot 9")
    stf.arrives_at(port, read(key, 1, 1, Stamp(INCARNATION)))
    stf.server_receives(read(key, 1, 1, Stamp(INCARNATION, 0, generation)))
    stf.server_replies(reply(key, b"later", Stamp(INCARNATION, 3, generation)), port)
    stf.missed(key, Stamp(INCARNATION, 0, generation))
    stf.comment("the original has the ingress port of the write; the answer leaves at this port")
    message = write(key, FULL, stf.new_request(), 1, Stamp(INCARNATION))
    original = (entry, 9, Stamp(INCARNATION, 3, generation, Bit.VALID), b"offered")
    first_write(stf, message, port, original)
    for other in (*REDIRECTED, *TAKING_9):
        number = stf.applied_write(key, FULL[:other], port=other)
    stf.hit(key, FULL[:42], Stamp(INCARNATION, number, 0, Bit.DIRTY))
    stf.comment("writes at a port of pipeline 0 belong to snapshot 9 without redirection")
    stf.controller_reads(
        Op.LOAD,
        key,
        entry,
        Stamp(INCARNATION, number, generation, DIRTY | Bit.OVERWRITTEN),
        FULL[:42],
        9,
    )
    stf.comment(
        "redirected writes that are forwarded, replies of uncached keys and without a stamp"
    )
    uncached = owned_by(0, 511)
    for value in (b"v", None, b"L" * 1000):
        message = write(uncached, value, stf.new_request(), 1, Stamp(INCARNATION))
        stf.arrives_at(port, message)
        stf.server_receives(replace(message, stamp=Stamp(INCARNATION, stf.next_number(uncached))))
    stf.server_replies(reply(uncached, b"r", Stamp(INCARNATION, 4, generation)), port)
    stf.server_replies(replace(reply(key, b"r", Stamp()), stamp=None), port)
