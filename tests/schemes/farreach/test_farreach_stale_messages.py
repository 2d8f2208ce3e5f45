"""Answers that belong to another recovery, process or snapshot are not taken."""

from collections import Counter
from types import SimpleNamespace
from typing import Any
from unittest.mock import create_autospec

from netkv.control.pending_requests import PendingRequests
from netkv.kits.write_back.record import Record, pack
from netkv.model.messages import Message, Op, Stamp
from netkv.schemes.farreach.client_collection import ClientCollection
from netkv.schemes.farreach.gc_watermark import GcWatermark
from netkv.schemes.farreach.release import Releases
from netkv.schemes.farreach.snapshot import Taken

CLIENT = 0x0A010001
RECORD = Record(bytes(16), 4, 1, 0, b"v")


def answer(pending: Any, now: int, reply: Message | None = None) -> None:
    """Answer the last request."""
    list(pending.send.call_args.args[2](now, reply))


def piece(incarnation: int, total: int) -> Message:
    value = pack([RECORD])
    stamp = Stamp(incarnation, total)
    return Message(Op.COLLECT_REPLY, bytes(16), stamp=stamp, value=value, length=len(value))


def taken(number: int, point: int) -> Taken:
    return Taken(number, point, (), (), frozenset())


def test_piece_of_another_recovery_is_not_taken() -> None:
    pending = create_autospec(PendingRequests, instance=True)
    collection = ClientCollection(pending, CLIENT, 6, lambda _: ())
    answer(pending, 1, piece(incarnation=4, total=1))
    assert collection.lost
    assert collection.records == []


def test_piece_of_another_process_is_not_taken() -> None:
    pending = create_autospec(PendingRequests, instance=True)
    collection = ClientCollection(pending, CLIENT, 6, lambda _: ())
    answer(pending, 1, piece(incarnation=6, total=2))
    answer(pending, 2, piece(incarnation=6, total=3))
    assert collection.lost
    assert collection.records == [RECORD]


def test_watermark_needs_a_snapshot_taken_since_the_last() -> None:
    context: Any = SimpleNamespace(
        counts=Counter(), topology=SimpleNamespace(servers=()), pending=None
    )
    watermark = GcWatermark(context, list, lambda _: None)
    for number, point, now, sent in ((1, 1, 2, 0), (2, 3, 10, 1), (3, 5, 11, 1), (4, 12, 13, 2)):
        watermark.taken(taken(number, point))
        list(watermark.send_if_due(now))
        assert context.counts["watermarks"] == sent


def test_late_client_gets_no_release_of_an_earlier_point() -> None:
    pending = create_autospec(PendingRequests, instance=True)
    releases = Releases(pending, lambda *_: ())
    for number, point, sent in ((1, 10, 1), (2, 20, 1), (3, 40, 2)):
        releases.begin(taken(number, point), [CLIENT])
        assert pending.send.call_count == sent
        if number == 1:
            answer(pending, 30)
