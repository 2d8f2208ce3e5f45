"""Digest lists: when they leave and what an acknowledgement does. Times in nanoseconds."""

from __future__ import annotations

from finsy.proto import p4r

from netkv.p4rt.digests import DigestBatcher
from netkv.p4rt.schema import Digest, Field

DIGEST = Digest(7, "hot_t", "hot_t", (Field(1, "ip", 32), Field(2, "tag", 8)), "struct")


def batcher(timeout: int = 0, size: int = 0, ack: int = 0) -> DigestBatcher:
    config = p4r.DigestEntry.Config(max_timeout_ns=timeout, max_list_size=size, ack_timeout_ns=ack)
    return DigestBatcher(DIGEST, config)


def tags(lists: list[p4r.DigestList]) -> list[list[int]]:
    return [
        [int.from_bytes(data.struct.members[1].bitstring, "big") for data in each.data]
        for each in lists
    ]


def test_without_a_timeout_a_digest_leaves_at_once() -> None:
    under_test = batcher()
    assert list(under_test.add(5, [b"\0\0\0\x01", b"\x02"])) == []
    (only,) = under_test.poll(5)
    assert (only.digest_id, only.list_id) == (7, 1)
    assert [each.bitstring for each in only.data[0].struct.members] == [b"\x01", b"\x02"]


def test_digest_list_is_sent_when_full_or_old() -> None:
    under_test = batcher(timeout=100, size=2)
    assert list(under_test.add(0, [b"\1", b"\1"])) == []
    assert tags(list(under_test.add(1, [b"\1", b"\2"]))) == [[1, 2]]
    assert list(under_test.add(50, [b"\1", b"\3"])) == []
    assert under_test.deadline == 150
    assert list(under_test.poll(149)) == []
    assert tags(list(under_test.poll(150))) == [[3]]
    assert under_test.deadline is None


def test_a_digest_is_held_back_until_acknowledged() -> None:
    under_test = batcher(ack=1000)
    list(under_test.add(0, [b"\1", b"\1"]))
    (sent,) = under_test.poll(0)
    list(under_test.add(10, [b"\1", b"\1"]))
    list(under_test.add(10, [b"\1", b"\2"]))
    assert tags(list(under_test.poll(10))) == [[2]]
    under_test.acknowledge(sent.list_id)
    list(under_test.add(20, [b"\1", b"\1"]))
    assert tags(list(under_test.poll(20))) == [[1]]


def test_lost_acknowledgement_delays_digests_by_the_timeout() -> None:
    under_test = batcher(ack=1000)
    list(under_test.add(0, [b"\1", b"\1"]))
    list(under_test.poll(0))
    list(under_test.add(999, [b"\1", b"\1"]))
    assert list(under_test.poll(999)) == []
    list(under_test.add(1000, [b"\1", b"\1"]))
    assert tags(list(under_test.poll(1000))) == [[1]]


def test_without_an_ack_timeout_nothing_is_held_back() -> None:
    under_test = batcher(timeout=100)
    for now in range(0, 300, 100):
        list(under_test.add(now, [b"\1", b"\1"]))
        assert tags(list(under_test.poll(now + 100))) == [[1]]


def test_the_digests_of_a_list_differ() -> None:
    under_test = batcher(timeout=100, size=3)
    for tag in [1, 2, 1, 2, 1]:
        assert list(under_test.add(0, [b"\1", bytes([tag])])) == []
    assert tags(list(under_test.add(0, [b"\1", b"\3"]))) == [[1, 2, 3]]
