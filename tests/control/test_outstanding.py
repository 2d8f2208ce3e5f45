"""Retransmission of requests: neither too early nor too late, and within limits."""

from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from random import Random

import pytest

from netkv.control.base import MILLISECOND, SECOND, Nanoseconds
from netkv.control.message_numbers import MessageNumbers
from netkv.control.messages import Message, Op
from netkv.control.outstanding import WINDOW, Outstanding
from netkv.control.roundtrip import RoundTrip, Timeouts

KEY = bytes(16)
FAST: Nanoseconds = 100_000
BOUNDS = Timeouts(first=20 * MILLISECOND, shortest=MILLISECOND, longest=500 * MILLISECOND)


@dataclass
class Channel:
    """Keeps `width` messages outstanding; the n-th sending takes `delay(n)`."""

    delay: Callable[[int], Nanoseconds | None]
    width: int = 64
    bounds: Timeouts = BOUNDS
    now: Nanoseconds = 0
    sendings: int = 0
    given_up: int = 0
    took: list[Nanoseconds] = field(default_factory=list)

    def run(self, messages: int) -> Outstanding:
        """Runs until a number of messages is answered or given up. `took`: latency of each."""
        numbers = MessageNumbers(1_000_000)
        numbers.start(self.now)
        it = Outstanding(numbers, self.bounds)
        self._replies: list[tuple[Nanoseconds, int, Message]] = []
        first_sent: dict[int, Nanoseconds] = {}
        added = 0
        while len(self.took) + self.given_up < messages:
            while len(it) < self.width and added < messages:
                it.add(Op.ADMIT, KEY, None, 12, None)
                added += 1
            for message in it.ready(self.now):
                first_sent[message.request] = self.now
                self._send(message)
            reply_at = self._replies[0][0] if self._replies else None
            times = [time for time in (reply_at, it.deadline()) if time is not None]
            self.now = max(self.now, min(times))
            while self._replies and self._replies[0][0] <= self.now:
                _, _, reply = heappop(self._replies)
                if it.answered(self.now, reply):
                    self.took.append(self.now - first_sent[reply.request])
            for message, again in it.expired(self.now):
                if again:
                    self._send(message)
                else:
                    self.given_up += 1
        return it

    def _send(self, message: Message) -> None:
        self.sendings += 1
        delay = self.delay(self.sendings)
        if delay is not None:
            heappush(self._replies, (self.now + delay, self.sendings, message.reply()))


def test_slow_channel_is_repeated_to_only_until_it_is_known() -> None:
    channel = Channel(lambda _: 300 * MILLISECOND)
    retries = channel.run(3000).retries
    # The first 64 go out again and again; with the old fixed 20 ms all 3000 did, four times each.
    assert 64 <= retries <= 64 * 5
    assert channel.given_up == 0


def test_channel_slower_than_the_longest_wait_is_not_repeated_to_for_ever() -> None:
    channel = Channel(lambda _: 4 * BOUNDS.longest)
    retries = channel.run(2000).retries
    assert retries <= 64 * 12
    assert channel.given_up == 0


def test_dead_receiver_does_not_make_messages_wait_longer_than_the_longest_wait() -> None:
    channel = Channel(lambda sending: None if sending < 500 else FAST, width=4)
    channel.run(200)
    assert channel.given_up > 4
    assert max(channel.took) < 12 * BOUNDS.longest


def test_channel_that_becomes_slow_at_once_is_not_flooded() -> None:
    channel = Channel(lambda sending: FAST if sending < 2000 else 200 * MILLISECOND)
    retries = channel.run(4000).retries
    # From 1 ms to 200 ms the wait doubles eight times, and 64 wait.
    assert retries <= 64 * 10
    assert channel.given_up == 0


def test_queue_that_grows_with_every_message_is_followed_without_repeats() -> None:
    # Like a busy controller: each reply takes longer than the previous one.
    channel = Channel(lambda sending: 5 * MILLISECOND + sending * 20_000)
    assert channel.run(3000).retries <= 64


def test_lost_message_on_a_fast_channel_is_repeated_soon() -> None:
    random = Random(1)
    channel = Channel(lambda _: None if random.random() < 0.02 else FAST, width=1)
    channel.run(2000)
    lost = [took for took in channel.took[200:] if took > FAST]
    assert lost
    # The wait before anything was measured would have been 20 ms.
    assert sorted(lost)[len(lost) // 2] < BOUNDS.first / 4


def test_wait_has_a_floor_and_repetitions_have_a_cap() -> None:
    trip = RoundTrip(BOUNDS)
    for _ in range(100):
        trip.sample(1000)
    assert trip.timeout == BOUNDS.shortest
    assert trip.back_off(400 * MILLISECOND) == BOUNDS.longest
    assert trip.back_off(BOUNDS.longest) == BOUNDS.longest
    assert trip.timeout == BOUNDS.longest


def test_wait_covers_the_spread_of_round_trips() -> None:
    random = Random(0)
    trip = RoundTrip(BOUNDS)
    late = 0
    for number in range(5000):
        took = random.randrange(5 * MILLISECOND, 15 * MILLISECOND)
        late += number > 100 and took > trip.timeout
        trip.sample(took)
    assert late < 50


def test_repeated_message_gives_no_sample() -> None:
    it = Outstanding(MessageNumbers(1000), BOUNDS)
    it.add(Op.ADMIT, KEY, None, 12, None)
    (sent,) = it.ready(SECOND)
    (again,) = it.expired(SECOND + BOUNDS.first)
    assert again == (sent, True)
    assert it.answered(SECOND + BOUNDS.first + 1, sent.reply()) == sent
    # The reply came 1 ns after the repetition, or 20 ms after the first: nobody knows.
    it.add(Op.ADMIT, KEY, None, 12, None)
    (after,) = it.ready(2 * SECOND)
    assert it.deadline() == 2 * SECOND + 2 * BOUNDS.first
    assert it.answered(2 * SECOND + 5, after.reply()) == after


@pytest.mark.parametrize("scale", [1, 1000])
def test_bounds_scale_with_the_clock(scale: int) -> None:
    bounds = Timeouts(*(scale * each for each in (20_000_000, 1_000_000, 500_000_000)))
    channel = Channel(lambda sending: scale * (FAST if sending % 50 else 9 * FAST), 8, bounds)
    assert channel.run(500).retries == 0


def test_ops_that_take_different_times_are_measured_apart() -> None:
    it = Outstanding(MessageNumbers(1000), BOUNDS)
    now = SECOND
    for _ in range(50):
        for op, took in ((Op.STATS, FAST), (Op.INSTALL, 100 * MILLISECOND)):
            it.add(op, KEY, None, 12, None)
            (sent,) = it.ready(now)
            now += took
            list(it.expired(now))
            it.answered(now, sent.reply())
    # INSTALL backs off until it is known, and STATS does not spoil that.
    assert it.retries <= 5


def test_receiver_never_takes_a_repetition_for_a_late_copy() -> None:
    it = Outstanding(MessageNumbers(1_000_000), BOUNDS)
    messages = WINDOW + 100
    for _ in range(messages):
        it.add(Op.EVICTED, KEY, None, 12, 3)
    other = it.add(Op.EVICTED, KEY, None, 12, 4)
    sent = list(it.ready(SECOND))
    # Another server has a window of its own.
    assert [message.request for message in sent] == [*range(1, WINDOW + 1), other]
    # The oldest but one is answered: nothing follows before the oldest is.
    it.answered(SECOND, sent[1].reply())
    assert list(it.ready(SECOND)) == []
    it.answered(SECOND, sent[0].reply())
    more = list(it.ready(SECOND))
    assert [message.request for message in more] == [WINDOW + 1, WINDOW + 2]
    for message in (*sent[2:], *more):
        it.answered(SECOND, message.reply())
    rest = list(it.ready(SECOND))
    assert [message.request for message in rest] == [*range(WINDOW + 3, messages + 1)]


def test_reply_to_what_was_not_sent_yet_is_none() -> None:
    it = Outstanding(MessageNumbers(1000), BOUNDS)
    request = it.add(Op.ADMIT, KEY, None, 12, None)
    assert list(it.ready(0)) == []
    assert it.deadline() == MILLISECOND
    assert it.answered(0, Message(Op.ADMIT_REPLY, KEY, request)) is None
    assert len(list(it.ready(MILLISECOND))) == 1


def test_time_outs_in_the_wrong_order_are_refused() -> None:
    with pytest.raises(ValueError, match="in this order"):
        Timeouts(first=1, shortest=2, longest=3)
