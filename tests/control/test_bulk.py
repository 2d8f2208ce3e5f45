"""Many messages of one kind to a switch."""

from __future__ import annotations

from netkv.control.base import SECOND
from netkv.control.bulk import Bulk
from netkv.control.roundtrip import Timeouts

COUNT = 3


def test_reply_counts_once_and_only_to_a_message_that_was_sent() -> None:
    bulk = Bulk(Timeouts(), window=2)
    bulk.begin(COUNT, lambda index: bytes([index]))
    assert [sent.frame for sent in bulk.send(SECOND)] == [b"\0", b"\1"]
    assert bulk.answered(SECOND + 1, 0)
    assert not bulk.answered(SECOND + 2, 0), "a copy of the reply"
    assert not bulk.answered(SECOND + 3, 2), "a reply to an earlier message with this index"
    assert bulk.left == COUNT - 1
    assert [sent.frame for sent in bulk.send(SECOND + 4)] == [b"\2"]
