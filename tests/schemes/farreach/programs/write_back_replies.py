"""FarReach's switch and the replies of servers, which refresh or outdate entries."""

from dataclasses import replace

from netkv.model.messages import Bit, Message, Op, Stamp, Status
from tests.schemes.farreach.programs.write_back import (
    FULL,
    INCARNATION,
    WriteBackStf,
    owned_by,
    write,
)

HALF = 1 << 31


def reply(
    key: bytes, value: bytes | None, stamp: Stamp, op: Op = Op.GET_REPLY, client: int = 1
) -> Message:
    """A server's reply; None: not found."""
    status = Status.NOT_FOUND if value is None else Status.OK
    value = value or b""
    return Message(op, key, 3, client, status, length=len(value), value=value, stamp=stamp)


def refreshing(stf: WriteBackStf) -> None:
    """Replies to reads that passed a valid entry refresh it."""
    key, former = owned_by(0, 100), INCARNATION - 1
    generation = stf.fill(key, 200, b"as offered", Stamp(former, 5))
    stf.comment("a filled entry is outdated: the read has the generation, and its reply is stored")
    stf.missed(key, Stamp(INCARNATION, 0, generation))
    stf.server_replies(reply(key, b"as served", Stamp(former, 5, generation)))
    stf.hit(key, b"as served", Stamp(former, 5))
    stf.comment(
        "an older reply changes nothing, a newer one does; every length; former incarnation, too"
    )
    stf.server_replies(reply(key, b"older", Stamp(former, 4, generation)))
    stf.hit(key, b"as served", Stamp(former, 5))
    for number, length in enumerate((128, 0, 1, 16, 17, 127, 100), start=6):
        stf.server_replies(reply(key, FULL[:length], Stamp(former, number, generation)))
        stf.hit(key, FULL[:length], Stamp(former, number))
    stf.comment("not found: the entry is a deleted record; the next reply has a value again")
    stf.server_replies(reply(key, None, Stamp(INCARNATION, 20, generation)))
    stf.hit(key, None, Stamp(INCARNATION, 20))
    stf.server_replies(reply(key, b"back", Stamp(INCARNATION, 21, generation)))
    stf.hit(key, b"back", Stamp(INCARNATION, 21))
    stf.comment("another client's reply goes to that client")
    message = replace(reply(key, b"theirs", Stamp(INCARNATION, 22, generation)), sender=2)
    stf.server_replies(message, client=2)
    stf.hit(key, b"theirs", Stamp(INCARNATION, 22))
    stf.comment("a newer reply replaces an applied write: the record is no longer dirty")
    number = stf.applied_write(key, b"mine")
    stf.server_replies(reply(key, b"newer", Stamp(INCARNATION, number + 1, generation)))
    stf.hit(key, b"newer", Stamp(INCARNATION, number + 1))
    stf.comment("replies of an uncached key, and replies without a stamp, are routed unchanged")
    for op in (Op.GET_REPLY, Op.PUT_REPLY, Op.DELETE_REPLY):
        stf.server_replies(reply(owned_by(0, 101), b"", Stamp(INCARNATION, 1, generation), op))
        stf.server_replies(replace(reply(key, b"v", Stamp(), op), stamp=None))


def not_refreshing(stf: WriteBackStf) -> None:
    """Replies that are not stored; the newer ones among them outdate the entry."""
    key = owned_by(0, 102)
    generation = stf.fill(key, 201, b"filled", Stamp(INCARNATION, 100))
    known = 100

    def refresh() -> None:
        """Make the entry latest again, with the newest number."""
        stf.server_replies(reply(key, b"%d" % known, Stamp(INCARNATION, known, generation)))
        stf.hit(key, b"%d" % known, Stamp(INCARNATION, known))

    refresh()
    stf.comment("another generation, embedded, too large, no record, reply to a write: not stored;")
    stf.comment("a newer one outdates the entry, and older replies are not stored after it")
    good = reply(key, b"bad", Stamp(INCARNATION, 0, generation))
    bad = [
        replace(good, stamp=Stamp(INCARNATION, 0, 0)),
        replace(good, stamp=Stamp(INCARNATION, 0, generation - 1)),
        replace(good, stamp=Stamp(INCARNATION, 0, generation, Bit.EMBEDDED)),
        replace(good, value=b"L" * 129, length=129),
        replace(good, value=b"L" * 1024, length=1024),
        *(replace(good, status=Status(status)) for status in range(2, 8)),
        replace(good, op=Op.PUT_REPLY, value=b"", length=0),
        replace(good, op=Op.DELETE_REPLY, value=b"", length=0),
        replace(good, op=Op.DELETE_REPLY, value=b"", length=0, status=Status.NOT_FOUND),
    ]
    for message in bad:
        assert message.stamp
        for number in (known - 1, known):
            stf.server_replies(replace(message, stamp=replace(message.stamp, number=number)))
            stf.hit(key, b"%d" % known, Stamp(INCARNATION, known))
        newer = replace(message.stamp, number=known + 2)
        stf.server_replies(replace(message, stamp=newer))
        stf.missed(key, Stamp(INCARNATION, 0, generation))
        stf.server_replies(reply(key, b"older", Stamp(INCARNATION, known + 1, generation)))
        stf.missed(key, Stamp(INCARNATION, 0, generation))
        known += 2
        refresh()
    stf.comment("sequences of earlier incarnations are older, whatever their number")
    for message in (good, *bad):
        assert message.stamp
        for incarnation in (0, 1, INCARNATION - 2, INCARNATION - 1):
            stamp = replace(message.stamp, incarnation=incarnation, number=known + 1000)
            stf.server_replies(replace(message, stamp=stamp))
        stf.hit(key, b"%d" % known, Stamp(INCARNATION, known))
    stf.comment("outdated by a reply: the server has a newer record, so none is embedded")
    stf.set_counter(key, 5000)
    number = stf.applied_write(key, b"dirty")
    stf.server_replies(reply(key, b"", Stamp(INCARNATION, number + 9), Op.PUT_REPLY))
    stf.missed(key, Stamp(INCARNATION, 0, generation))


def max_sequences(stf: WriteBackStf) -> None:
    """Which replies are older than max_sequence, also when numbers wrap around."""
    stf.comment("serial numbers: newer is ahead by less than half of the range")
    for at, (max_sequence, number, newer) in enumerate(
        (
            (0xFFFFFFFF, 1, True),
            (1, 0xFFFFFFFF, False),
            (5, 5 + HALF - 1, True),
            (5, 5 + HALF, False),
            (HALF + 5, 5, False),
            (HALF + 6, 5, True),
            (0, 0xFFFFFFFF, True),
            (0, 1, True),
        )
    ):
        key = owned_by(0, 110 + at)
        generation = stf.fill(key, 210 + at, b"f", Stamp(INCARNATION, max_sequence))
        stf.server_replies(reply(key, b"r", Stamp(INCARNATION, number, generation)))
        if newer:
            stf.hit(key, b"r", Stamp(INCARNATION, number))
        else:
            stf.missed(key, Stamp(INCARNATION, 0, generation))
    stf.comment("filled with a record of an earlier incarnation: a reply as old as that is stored")
    for at, incarnation in enumerate((0, INCARNATION - 2)):
        key = owned_by(0, 120 + at)
        generation = stf.fill(key, 220 + at, b"f", Stamp(incarnation, 7))
        stf.missed(key, Stamp(INCARNATION, 0, generation))
        stf.server_replies(reply(key, b"old", Stamp(incarnation, 7, generation)))
        stf.hit(key, b"old", Stamp())
        stf.comment("a reply of this incarnation is newer")
        stf.server_replies(reply(key, b"new", Stamp(INCARNATION, HALF + 9, generation)))
        stf.hit(key, b"new", Stamp(INCARNATION, HALF + 9))
        stf.server_replies(reply(key, b"old", Stamp(incarnation, 7, generation)))
        stf.hit(key, b"new", Stamp(INCARNATION, HALF + 9))
    stf.comment(
        "a write of an earlier incarnation, later than the record: older replies do nothing"
    )
    key = owned_by(0, 122)
    generation = stf.fill(key, 222, b"f", Stamp(INCARNATION - 4, 7))
    stf.server_replies(reply(key, b"f", Stamp(INCARNATION - 4, 7, generation)))
    stf.hit(key, b"f", Stamp())
    stf.server_replies(reply(key, b"", Stamp(INCARNATION - 2, 1), Op.PUT_REPLY))
    stf.missed(key, Stamp(INCARNATION, 0, generation))
    for stamp in (Stamp(INCARNATION - 4, 7), Stamp(INCARNATION - 3, 9), Stamp(INCARNATION - 2, 0)):
        stf.server_replies(reply(key, b"old", replace(stamp, generation=generation)))
        stf.missed(key, Stamp(INCARNATION, 0, generation))
    stf.server_replies(reply(key, b"late", Stamp(INCARNATION - 2, 1, generation)))
    stf.hit(key, b"late", Stamp())
    stf.comment("a reply without a sequence does nothing")
    for incarnation in (INCARNATION, INCARNATION + 1):
        stf.server_replies(reply(key, b"", Stamp(incarnation), Op.PUT_REPLY))
        stf.hit(key, b"late", Stamp())


def by_validity(stf: WriteBackStf) -> None:
    """Valid entries are refreshed, entries to be evicted only outdated, others unchanged."""
    stf.comment("not valid yet: no effect; max_sequence is that of the fill")
    key = owned_by(0, 130)
    generation = stf.fill(key, 230, b"f", Stamp(INCARNATION, 5), valid=False)
    stf.server_replies(reply(key, b"r", Stamp(INCARNATION, 9, generation)))
    stf.missed(key, Stamp(INCARNATION))
    stf.control(Op.VALIDATE, key, 230, generation)
    stf.missed(key, Stamp(INCARNATION, 0, generation))
    stf.server_replies(reply(key, b"6", Stamp(INCARNATION, 6, generation)))
    stf.hit(key, b"6", Stamp(INCARNATION, 6))
    stf.comment("to be evicted: not refreshed; a newer reply outdates it")
    record = Stamp(INCARNATION, 6, generation, Bit.LATEST | Bit.VALID)
    stf.controller_reads(Op.EVICT, key, 230, record, b"6")
    stf.server_replies(reply(key, b"5", Stamp(INCARNATION, 5, generation)))
    stf.server_replies(reply(key, b"other", Stamp(INCARNATION, 6, generation)))
    stf.hit(key, b"6", Stamp(INCARNATION, 6))
    stf.server_replies(reply(key, b"7", Stamp(INCARNATION, 7, generation)))
    stf.missed(key, Stamp(INCARNATION))
    stf.controller_reads(Op.LOAD, key, 230, replace(record, bits=Bit.VALID), b"6")
    stf.comment("a write after that: neither its reply nor an older one is stored")
    number = stf.forwarded_write(write(key, b"w", stf.new_request(), 1, Stamp(INCARNATION)))
    stf.server_replies(reply(key, b"w", Stamp(INCARNATION, number, generation)))
    stf.missed(key, Stamp(INCARNATION))
    stf.comment("retired: no effect")
    stf.control(Op.RETIRE, key, 230, generation)
    stf.server_replies(reply(key, b"8", Stamp(INCARNATION, 8, generation)))
    stf.missed(key, Stamp(INCARNATION))
    stf.controller_reads(Op.LOAD, key, 230, replace(record, bits=Bit(0)), b"6")
    stf.comment("the reply to a read from before the entry was outdated by a too large write")
    key = owned_by(0, 131)
    generation = stf.fill(key, 231, b"f")
    stf.set_counter(key, 50)
    number = stf.forwarded_write(write(key, FULL + b"!", stf.new_request(), 1, Stamp(INCARNATION)))
    stf.server_replies(reply(key, b"stale", Stamp(INCARNATION, number - 1, generation)))
    stf.missed(key, Stamp(INCARNATION, 0, generation))
    stf.server_replies(reply(key, b"fits", Stamp(INCARNATION, number + 1, generation)))
    stf.hit(key, b"fits", Stamp(INCARNATION, number + 1))
