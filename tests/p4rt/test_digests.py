"""Digest lists: when they are sent, and acknowledgements. Times are in nanoseconds."""

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


def test_without_a_timeout_a_digest_is_sent_at_once() -> None:
    digests = batcher()
    assert list(digests.add(5, [b"\0\0\0\x01", b"\x02"])) == []
    (only,) = digests.poll(5)
    assert (only.digest_id, only.list_id) == (7, 1)
    assert [each.bitstring for each in only.data[0].struct.members] == [b"\x01", b"\x02"]


def test_digest_list_is_sent_when_full_or_old() -> None:
    digests = batcher(timeout=100, size=2)
    assert list(digests.add(0, [b"\1", b"\1"])) == []
    assert tags(list(digests.add(1, [b"\1", b"\2"]))) == [[1, 2]]
    assert list(digests.add(50, [b"\1", b"\3"])) == []
    assert digests.deadline == 150
    assert list(digests.poll(149)) == []
    assert tags(list(digests.poll(150))) == [[3]]
    assert digests.deadline is None


def test_a_digest_is_held_back_until_acknowledged() -> None:
    digests = batcher(ack=1000)
    list(digests.add(0, [b"\1", b"\1"]))
    (sent,) = digests.poll(0)
    list(digests.add(10, [b"\1", b"\1"]))
    list(digests.add(10, [b"\1", b"\2"]))
    assert tags(list(digests.poll(10))) == [[2]]
    digests.acknowledge(sent.list_id)
    list(digests.add(20, [b"\1", b"\1"]))
    assert tags(list(digests.poll(20))) == [[1]]


def test_lost_acknowledgement_delays_digests_by_the_timeout() -> None:
    digests = batcher(ack=1000)
    list(digests.add(0, [b"\1", b"\1"]))
    list(digests.poll(0))
    list(digests.add(999, [b"\1", b"\1"]))
    assert list(digests.poll(999)) == []
    list(digests.add(1000, [b"\1", b"\1"]))
    assert tags(list(digests.poll(1000))) == [[1]]


def test_without_an_ack_timeout_digests_are_not_held_back() -> None:
    digests = batcher(timeout=100)
    for now in range(0, 300, 100):
        list(digests.add(now, [b"\1", b"\1"]))
        assert tags(list(digests.poll(now + 100))) == [[1]]


def test_a_list_has_no_duplicate_digests() -> None:
    digests = batcher(timeout=100, size=3)
    for tag in [1, 2, 1, 2, 1]:
        assert list(digests.add(0, [b"\1", bytes([tag])])) == []
    assert tags(list(digests.add(0, [b"\1", b"\3"]))) == [[1, 2, 3]]
