"""FarReach's switch and the replies of servers: when they refresh an entry, and outdate it."""

from dataclasses import replace

from netkv.control.messages import Bit, Message, Op, Stamp, Status
from tests.p4programs.farreach.write_back import FULL, INCARNATION, WriteBackStf, owned_by, write

HALF = 1 << 31


def reply(
    key: bytes, value: bytes | None, stamp: Stamp, op: Op = Op.GET_REPLY, client: int = 1
) -> Message:
    """A server's reply; None: not found."""
    status = Status.NOT_FOUND if value is None else Status.OK
    value = value or b""
    return Message(op, key, 3, client, status, length=len(value), value=value, stamp=stamp)


def refreshing(stf: WriteBackStf) -> None:
    """Replies to reads that passed a valid entry bring it up to date."""
    key = owned_by(0, 100)
    generation = stf.fill(key, 200, b"as offered", Stamp(INCARNATION, 5))
    stf.say("filled is outdated: a read passes with the generation, its reply is stored")
    stf.missed(key, Stamp(INCARNATION, 0, generation))
    stf.replied(reply(key, b"as served", Stamp(INCARNATION, 5, generation)))
    stf.hit(key, b"as served", Stamp(INCARNATION, 5))
    stf.say(
        "an older reply changes nothing, a newer one does; every length; former incarnation, too"
    )
    stf.replied(reply(key, b"older", Stamp(INCARNATION, 4, generation)))
    stf.hit(key, b"as served", Stamp(INCARNATION, 5))
    for number, length in enumerate((128, 0, 1, 16, 17, 127, 100), start=6):
        stf.replied(reply(key, FULL[:length], Stamp(INCARNATION - 1, number, generation)))
        stf.hit(key, FULL[:length], Stamp(INCARNATION - 1, number))
    stf.say("not found: the entry knows that the key is deleted; and that it is there again")
    stf.replied(reply(key, None, Stamp(INCARNATION, 20, generation)))
    stf.hit(key, None, Stamp(INCARNATION, 20))
    stf.replied(reply(key, b"back", Stamp(INCARNATION, 21, generation)))
    stf.hit(key, b"back", Stamp(INCARNATION, 21))
    stf.say("another client's reply goes to that client")
    message = replace(reply(key, b"theirs", Stamp(INCARNATION, 22, generation)), sender=2)
    stf.replied(message, client=2)
    stf.hit(key, b"theirs", Stamp(INCARNATION, 22))
    stf.say("a reply over what the switch applied: it is the server's then, and not dirty")
    number = stf.written(key, b"mine")
    stf.replied(reply(key, b"newer", Stamp(INCARNATION, number + 1, generation)))
    stf.hit(key, b"newer", Stamp(INCARNATION, number + 1))
    stf.say("a key that is not cached: its replies are routed as they are, whatever is in them")
    for op in (Op.GET_REPLY, Op.PUT_REPLY, Op.DELETE_REPLY):
        stf.replied(reply(owned_by(0, 101), b"", Stamp(INCARNATION, 1, generation), op))
        stf.replied(replace(reply(key, b"v", Stamp(), op), stamp=None))


def not_refreshing(stf: WriteBackStf) -> None:
    """Replies that must not be stored, and those that outdate the entry."""
    key = owned_by(0, 102)
    generation = stf.fill(key, 201, b"filled", Stamp(INCARNATION, 100))
    known = 100

    def refresh() -> None:
        """The entry is latest again, by the newest that is known."""
        stf.replied(reply(key, b"%d" % known, Stamp(INCARNATION, known, generation)))
        stf.hit(key, b"%d" % known, Stamp(INCARNATION, known))

    refresh()
    stf.say("not the generation of the entry, embedded, too large, not a record, of a write:")
    stf.say("not stored, but what is newer outdates the entry, and nothing older is taken then")
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
            stf.replied(replace(message, stamp=replace(message.stamp, number=number)))
            stf.hit(key, b"%d" % known, Stamp(INCARNATION, known))
        newer = replace(message.stamp, number=known + 2)
        stf.replied(replace(message, stamp=newer))
        stf.missed(key, Stamp(INCARNATION, 0, generation))
        stf.replied(reply(key, b"older", Stamp(INCARNATION, known + 1, generation)))
        stf.missed(key, Stamp(INCARNATION, 0, generation))
        known += 2
        refresh()
    stf.say("the same of other incarnations counts as 0: never newer, and never the latest")
    for message in (good, *bad):
        assert message.stamp
        for incarnation in (0, 1, INCARNATION - 2, INCARNATION + 1):
            stamp = replace(message.stamp, incarnation=incarnation, number=known + 1000)
            stf.replied(replace(message, stamp=stamp))
        stf.hit(key, b"%d" % known, Stamp(INCARNATION, known))
    stf.say("outdated by a reply: the server has something newer, so the record is not embedded")
    stf.count_from(key, 5000)
    number = stf.written(key, b"dirty")
    stf.replied(reply(key, b"", Stamp(INCARNATION, number + 9), Op.PUT_REPLY))
    stf.missed(key, Stamp(INCARNATION, 0, generation))


def floors(stf: WriteBackStf) -> None:
    """What is older than the floor, at the ends of the numbers."""
    stf.say("numbers go round: newer is what is ahead by less than half of the range")
    for at, (floor, number, newer) in enumerate(
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
        generation = stf.fill(key, 210 + at, b"f", Stamp(INCARNATION, floor))
        stf.replied(reply(key, b"r", Stamp(INCARNATION, number, generation)))
        if newer:
            stf.hit(key, b"r", Stamp(INCARNATION, number))
        else:
            stf.missed(key, Stamp(INCARNATION, 0, generation))
    stf.say(
        "filled with a record from before this incarnation: the server's is taken, if it is as old"
    )
    for at, incarnation in enumerate((0, INCARNATION - 2, INCARNATION + 1)):
        key = owned_by(0, 120 + at)
        generation = stf.fill(key, 220 + at, b"f", Stamp(incarnation, 7))
        stf.missed(key, Stamp(INCARNATION, 0, generation))
        stf.replied(reply(key, b"old", Stamp(incarnation, 7, generation)))
        stf.hit(key, b"old", Stamp())
        stf.say("what is of this incarnation is newer")
        stf.replied(reply(key, b"new", Stamp(INCARNATION, HALF + 9, generation)))
        stf.hit(key, b"new", Stamp(INCARNATION, HALF + 9))
        stf.replied(reply(key, b"old", Stamp(incarnation, 7, generation)))
        stf.hit(key, b"new", Stamp(INCARNATION, HALF + 9))


def by_validity(stf: WriteBackStf) -> None:
    """Only valid entries are refreshed; those to be evicted are outdated; others are left alone."""
    stf.say("not valid yet: nothing; its floor is as it was filled")
    key = owned_by(0, 130)
    generation = stf.fill(key, 230, b"f", Stamp(INCARNATION, 5), valid=False)
    stf.replied(reply(key, b"r", Stamp(INCARNATION, 9, generation)))
    stf.missed(key, Stamp(INCARNATION))
    stf.control(Op.VALIDATE, key, 230, generation)
    stf.missed(key, Stamp(INCARNATION, 0, generation))
    stf.replied(reply(key, b"6", Stamp(INCARNATION, 6, generation)))
    stf.hit(key, b"6", Stamp(INCARNATION, 6))
    stf.say("to be evicted: not refreshed, and outdated by what is newer")
    record = Stamp(INCARNATION, 6, generation, Bit.LATEST | Bit.VALID)
    stf.tells(Op.EVICT, key, 230, record, b"6")
    stf.replied(reply(key, b"5", Stamp(INCARNATION, 5, generation)))
    stf.replied(reply(key, b"other", Stamp(INCARNATION, 6, generation)))
    stf.hit(key, b"6", Stamp(INCARNATION, 6))
    stf.replied(reply(key, b"7", Stamp(INCARNATION, 7, generation)))
    stf.missed(key, Stamp(INCARNATION))
    stf.tells(Op.LOAD, key, 230, replace(record, bits=Bit.VALID), b"6")
    stf.say("a write after that: still not stored, and no reply older than it is")
    number = stf.forwarded(write(key, b"w", stf.fresh(), 1, Stamp(INCARNATION)))
    stf.replied(reply(key, b"w", Stamp(INCARNATION, number, generation)))
    stf.missed(key, Stamp(INCARNATION))
    stf.say("retired: nothing")
    stf.control(Op.RETIRE, key, 230, generation)
    stf.replied(reply(key, b"8", Stamp(INCARNATION, 8, generation)))
    stf.missed(key, Stamp(INCARNATION))
    stf.tells(Op.LOAD, key, 230, replace(record, bits=Bit(0)), b"6")
    stf.say("a read that passed the entry before it was outdated by a write too large for it")
    key = owned_by(0, 131)
    generation = stf.fill(key, 231, b"f")
    stf.count_from(key, 50)
    number = stf.forwarded(write(key, FULL + b"!", stf.fresh(), 1, Stamp(INCARNATION)))
    stf.replied(reply(key, b"stale", Stamp(INCARNATION, number - 1, generation)))
    stf.missed(key, Stamp(INCARNATION, 0, generation))
    stf.replied(reply(key, b"fits", Stamp(INCARNATION, number + 1, generation)))
    stf.hit(key, b"fits", Stamp(INCARNATION, number + 1))
