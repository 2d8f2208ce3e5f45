"""Message numbers and epochs of a new controller are above those of earlier ones."""

from random import Random

import pytest

from netkv.control.base import MILLISECOND, SECOND
from netkv.control.epochs import Epochs
from netkv.control.message_numbers import MessageNumbers, is_newer, wire

DAY = 24 * 3600 * SECOND


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("begin", [0, 1, 7 * DAY, (1 << 32) * SECOND // 1000 - 50 * MILLISECOND])
def test_no_number_is_used_twice_by_successive_controllers(begin: int, seed: int) -> None:
    random = Random(seed)
    now = begin
    newest = None
    for _ in range(200):
        numbers = MessageNumbers(1000)
        numbers.start(now)
        for _ in range(random.randrange(20)):
            number = numbers.take()
            if random.random() < 0.3:
                continue  # taken, but the controller crashes before the number is usable
            now = max(now, numbers.usable(number))
            assert wire(number) != 0
            assert newest is None or is_newer(wire(number), newest)
            newest = wire(number)
        now += random.choice((0, 1, 100_000, MILLISECOND))


def test_numbers_accumulate_in_idle_time() -> None:
    numbers = MessageNumbers(1000)
    numbers.start(0)
    assert numbers.usable([numbers.take() for _ in range(500)][-1]) == SECOND // 2


def test_go_above_exceeds_a_number_of_another_clock() -> None:
    numbers = MessageNumbers(1000)
    numbers.start(5 * SECOND)
    numbers.go_above(2_000_000_000)
    number = numbers.take()
    assert wire(number) == 2_000_000_001
    assert numbers.usable(number) == 5 * SECOND + MILLISECOND
    numbers.go_above(1_999_999_000)  # not newer: no effect
    assert wire(numbers.take()) == 2_000_000_002


def test_rate_must_be_above_zero() -> None:
    with pytest.raises(ValueError, match="numbers_per_second 0"):
        MessageNumbers(0)


def accepts(current: int, new: int) -> bool:
    """The comparison in p4/write_through/statistics.p4."""
    ahead = (new - current) % 0x1_0000
    return current == 0 or 0 < ahead < 0x8000


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("begin", [0, 0xFFF0 * SECOND])
def test_epochs_of_a_new_controller_are_never_older(begin: int, seed: int) -> None:
    random = Random(seed)
    now = begin
    switch = 0
    for _ in range(100):
        epochs = Epochs(SECOND)
        for begun in range(1 + random.randrange(4)):
            new = epochs.begin(now)
            assert new != 0
            assert accepts(switch, new) or (begun == 0 and new == switch)
            switch = new
            assert epochs.ends == now + SECOND
            now = epochs.ends + random.randrange(50 * MILLISECOND)
        now -= random.randrange(SECOND)  # the controller crashes within the epoch
