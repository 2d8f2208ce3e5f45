"""The saved state of FarReach's controller: it is read back, or refused with a reason."""

from itertools import pairwise
from random import Random

import pytest

from netkv.control.base import Note, Save, Saved
from netkv.control.saves import RETRY_DELAY
from netkv.kits.write_back.record import MalformedRecordsError, Record, is_later, pack, unpack
from netkv.model.messages import Bit
from netkv.schemes.farreach.checkpoint import Checkpoint
from netkv.schemes.farreach.checkpoint_format import Client, SavedError, State, from_bytes, to_bytes

RECORDS = (
    Record(b"k" * 16, 2, 0xFFFFFFFF, int(Bit.DIRTY | Bit.LATEST), b"value"),
    Record(b"l" * 16, 0, 0, 0, b""),
    Record(b"m" * 16, 3, 1, int(Bit.DIRTY | Bit.DELETED), b""),
    Record(b"n" * 16, 3, 9, 0, bytes(range(128))),
)
STATE = State(
    incarnation=0xFFFFFFFE,
    recovered=7,
    snapshot=12,
    clients=(Client(0x0A010001), Client(0x0A010002, present=False)),
    records=RECORDS,
)


def test_saved_state_is_read_back() -> None:
    assert from_bytes(to_bytes(STATE)) == STATE
    assert from_bytes(to_bytes(State(2))) == State(2)


def test_record_is_saved_in_the_format_of_clients() -> None:
    assert pack(RECORDS[:1]) == (b"k" * 16 + bytes.fromhex("00000002 ffffffff 18 0005") + b"value")


@pytest.mark.parametrize("length", range(0, len(to_bytes(STATE)), 7))
def test_truncated_state_is_refused(length: int) -> None:
    with pytest.raises(SavedError):
        from_bytes(to_bytes(STATE)[:length])


def test_damaged_state_is_refused() -> None:
    data = to_bytes(STATE)
    for at in range(len(data)):
        with pytest.raises(SavedError, match=r"\.$"):
            from_bytes(data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :])


def test_error_has_the_reason() -> None:
    data = to_bytes(STATE)
    for wrong, why in (
        (b"{}", "not saved by"),
        (data[:16] + b"\0\x63" + data[18:], "layout 99"),
        (data + b"\0", "Wrong length"),
        (data[:-1] + b"?", "checksum"),
    ):
        with pytest.raises(SavedError, match=why):
            from_bytes(wrong)


def test_malformed_records_are_refused() -> None:
    data = pack(RECORDS)
    for length in range(len(data)):
        try:
            unpack(data[:length])
        except MalformedRecordsError:
            continue
        assert data[:length] == pack(unpack(data[:length]))
    with pytest.raises(MalformedRecordsError, match="up to 128"):
        unpack(pack([Record(b"k" * 16, 1, 1, 0, bytes(129))]))


def test_records_are_ordered_by_incarnation_and_number() -> None:
    def at(incarnation: int, number: int) -> Record:
        return Record(bytes(16), incarnation, number, 0, b"")

    order = [at(0, 0), at(2, 0xFFFFFFF0), at(2, 5), at(3, 1), at(0x7FFFFFFF, 9)]
    for older, newer in pairwise(order):
        assert is_later(newer, older)
        assert not is_later(older, newer)
    assert not any(is_later(each, each) for each in order)


def next_save(checkpoint: Checkpoint, now: int = 0) -> Save | None:
    actions = list(checkpoint.pump(now))
    assert len(actions) <= 1
    return actions[0] if actions else None  # type: ignore[return-value]


def test_saves_run_one_by_one_each_with_its_continuation() -> None:
    checkpoint = Checkpoint()
    done: list[str] = []
    checkpoint.incarnation = 2
    checkpoint.save(lambda _now: done.append("incarnation") or ())  # type: ignore[func-returns-value]
    first = next_save(checkpoint)
    assert first
    checkpoint.snapshot = 5
    checkpoint.save(lambda _now: done.append("snapshot") or ())  # type: ignore[func-returns-value]
    assert next_save(checkpoint) is None
    list(checkpoint.on_saved(1, Saved(first.save, True)))
    assert done == ["incarnation"]
    second = next_save(checkpoint)
    assert second
    assert (from_bytes(first.data).snapshot, from_bytes(second.data).snapshot) == (0, 5)
    list(checkpoint.on_saved(2, Saved(first.save, True)))  # a copy has no effect
    assert done == ["incarnation"]
    list(checkpoint.on_saved(2, Saved(second.save, True)))
    assert done == ["incarnation", "snapshot"]
    assert next_save(checkpoint) is None


def test_failed_save_is_repeated_after_a_delay_and_noted_once() -> None:
    checkpoint = Checkpoint()
    done: list[int] = []
    checkpoint.save(lambda _now: done.append(now) or ())  # type: ignore[func-returns-value]
    notes: list[object] = []
    now = 0
    for _ in range(3):
        save = next_save(checkpoint, now)
        assert save
        notes += checkpoint.on_saved(now, Saved(save.save, False, "full"))
        assert next_save(checkpoint, now) is None
        assert checkpoint.deadline() == now + RETRY_DELAY
        now += RETRY_DELAY
    assert notes == [Note("nothing can be saved", {"error": "full"})]
    save = next_save(checkpoint, now)
    assert save
    list(checkpoint.on_saved(now, Saved(save.save, True)))
    assert done == [now]
    assert not checkpoint.busy


def test_random_bytes_are_refused() -> None:
    random = Random(1)
    head = to_bytes(STATE)[:26]
    for _ in range(3000):
        data = (head if random.random() < 0.5 else b"") + random.randbytes(random.randrange(300))
        with pytest.raises(SavedError):
            from_bytes(data)
