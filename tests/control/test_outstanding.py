"""Retransmission of requests: timeouts, back-off, and the window of message numbers."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from random import Random
from typing import Any

import pytest

from netkv._engine import WINDOW, Outstanding
from netkv.control.base import MILLISECOND, SECOND, Nanoseconds
from netkv.control.message_numbers import MessageNumbers
from netkv.control.roundtrip import RoundTrip, Timeouts
from netkv.model.messages import Message, Op, decode
from netkv.model.topology import SERVICE_IP

KEY = bytes(range(16))
FAST: Nanoseconds = 100_000
BOUNDS = Timeouts(first=20 * MILLISECOND, shortest=MILLISECOND, longest=500 * MILLISECOND)


@dataclass
class Channel:
    """Keeps `width` requests outstanding; the reply to the n-th sending takes `delay(n)`."""

    delay: Callable[[int], Nanoseconds | None]
    width: int = 64
    bounds: Timeouts = BOUNDS
    now: Nanoseconds = 0
    sendings: int = 0
    given_up: int = 0
    took: list[Nanoseconds] = field(default_factory=list)

    def run(self, messages: int) -> Outstanding:
        """Run until `messages` are answered (with their latency in `took`) or given up."""
        numbers = MessageNumbers(1_000_000)
        numbers.start(self.now)
        outstanding = Outstanding(numbers, self.bounds)
        self._replies: list[tuple[Nanoseconds, int, Message]] = []
        first_sent: dict[int, Nanoseconds] = {}
        added = 0
        while len(self.took) + self.given_up < messages:
            while len(outstanding) < self.width and added < messages:
                add(outstanding)
                added += 1
            for request, frame in ready(outstanding, self.now):
                first_sent[request] = self.now
                self._send(frame)
            reply_at = self._replies[0][0] if self._replies else None
            times = [time for time in (reply_at, outstanding.deadline()) if time is not None]
            self.now = max(self.now, min(times))
            while self._replies and self._replies[0][0] <= self.now:
                _, _, reply = heappop(self._replies)
                if outstanding.answered(self.now, reply):
                    self.took.append(self.now - first_sent[reply.request])
            for _, again in expired(outstanding, self.now):
                if again is None:
                    self.given_up += 1
                else:
                    self._send(again)
        return outstanding

    def _send(self, frame: bytes) -> None:
        self.sendings += 1
        delay = self.delay(self.sendings)
        if delay is not None:
            heappush(self._replies, (self.now + delay, self.sendings, reply_to(frame)))


def add(outstanding: Outstanding, op: Op = Op.ADMIT, lane: int | None = None) -> int:
    """Adds a request with 12 tries."""
    return outstanding.add(op, KEY, 12, lane, SERVICE_IP, False, None, None, None, b"", "")


def ready(outstanding: Outstanding, now: Nanoseconds) -> list[tuple[int, bytes]]:
    """The requests to be sent now, with their frames."""
    frames = [action.frame for action in outstanding.ready(now)]
    return [(decode(frame).message.request, frame) for frame in frames]


def reply_to(frame: bytes) -> Message:
    """The reply to a request."""
    return decode(frame).message.reply()


def expired(outstanding: Outstanding, now: Nanoseconds) -> Iterator[tuple[int, bytes | None]]:
    """All requests whose timeout has passed."""
    while (found := outstanding.next_expired(now)) is not None:
        yield found


def test_retransmissions_stop_when_a_slow_channel_is_measured() -> None:
    channel = Channel(lambda _: 300 * MILLISECOND)
    retries = channel.run(3000).retries
    # Only the first 64 are repeated. With a fixed timeout of 20 ms all 3000 were, four times each.
    assert 64 <= retries <= 64 * 5
    assert channel.given_up == 0


def test_retransmissions_to_a_very_slow_channel_are_limited() -> None:
    channel = Channel(lambda _: 4 * BOUNDS.longest)
    retries = channel.run(2000).retries
    assert retries <= 64 * 12
    assert channel.given_up == 0


def test_timeouts_to_a_dead_receiver_have_a_maximum() -> None:
    channel = Channel(lambda sending: None if sending < 500 else FAST, width=4)
    channel.run(200)
    assert channel.given_up > 4
    assert max(channel.took) < 12 * BOUNDS.longest


def test_channel_that_becomes_slow_is_not_flooded() -> None:
    channel = Channel(lambda sending: FAST if sending < 2000 else 200 * MILLISECOND)
    retries = channel.run(4000).retries
    # The timeout doubles eight times from 1 ms to 200 ms; 64 requests are outstanding.
    assert retries <= 64 * 10
    assert channel.given_up == 0


def test_slowly_growing_delays_cause_no_retransmissions() -> None:
    # Like a busy controller: each reply takes longer than the previous one.
    channel = Channel(lambda sending: 5 * MILLISECOND + sending * 20_000)
    assert channel.run(3000).retries <= 64


def test_lost_message_on_a_fast_channel_is_repeated_soon() -> None:
    random = Random(1)
    channel = Channel(lambda _: None if random.random() < 0.02 else FAST, width=1)
    channel.run(2000)
    lost = [took for took in channel.took[200:] if took > FAST]
    assert lost
    # The timeout before the first sample would be 20 ms.
    assert sorted(lost)[len(lost) // 2] < BOUNDS.first / 4


def test_timeout_has_a_minimum_and_a_maximum() -> None:
    trip = RoundTrip(BOUNDS)
    for _ in range(100):
        trip.sample(1000)
    assert trip.timeout == BOUNDS.shortest
    assert trip.back_off(400 * MILLISECOND) == BOUNDS.longest
    assert trip.back_off(BOUNDS.longest) == BOUNDS.longest
    assert trip.timeout == BOUNDS.longest


def test_timeout_covers_the_spread_of_round_trips() -> None:
    random = Random(0)
    trip = RoundTrip(BOUNDS)
    late = 0
    for number in range(5000):
        took = random.randrange(5 * MILLISECOND, 15 * MILLISECOND)
        late += number > 100 and took > trip.timeout
        trip.sample(took)
    assert late < 50


def test_repeated_request_gives_no_sample() -> None:
    outstanding = Outstanding(MessageNumbers(1000), BOUNDS)
    add(outstanding)
    (sent,) = ready(outstanding, SECOND)
    (again,) = expired(outstanding, SECOND + BOUNDS.first)
    assert again == sent
    assert outstanding.answered(SECOND + BOUNDS.first + 1, reply_to(sent[1]))
    # The reply may belong to either sending, so there is no round-trip time.
    add(outstanding)
    ((_, after),) = ready(outstanding, 2 * SECOND)
    assert outstanding.deadline() == 2 * SECOND + 2 * BOUNDS.first
    assert outstanding.answered(2 * SECOND + 5, reply_to(after))
    assert not outstanding.answered(2 * SECOND + 6, reply_to(after)), "a copy"


@pytest.mark.parametrize("scale", [1, 1000])
def test_bounds_scale_with_the_clock(scale: int) -> None:
    bounds = Timeouts(*(scale * each for each in (20_000_000, 1_000_000, 500_000_000)))
    channel = Channel(lambda sending: scale * (FAST if sending % 50 else 9 * FAST), 8, bounds)
    assert channel.run(500).retries == 0


def test_round_trips_are_measured_for_each_op() -> None:
    outstanding = Outstanding(MessageNumbers(1000), BOUNDS)
    now = SECOND
    for _ in range(50):
        for op, took in ((Op.STATS, FAST), (Op.INSTALL, 100 * MILLISECOND)):
            add(outstanding, op)
            ((_, sent),) = ready(outstanding, now)
            now += took
            list(expired(outstanding, now))
            outstanding.answered(now, reply_to(sent))
    # INSTALL backs off until it is measured; STATS has no effect on that.
    assert outstanding.retries <= 5


def test_requests_stay_within_the_window_of_the_receiver() -> None:
    outstanding = Outstanding(MessageNumbers(1_000_000), BOUNDS)
    messages = WINDOW + 100
    for _ in range(messages):
        add(outstanding, Op.EVICTED, 3)
    other = add(outstanding, Op.EVICTED, 4)
    sent = ready(outstanding, SECOND)
    # Another server has another window.
    assert [request for request, _ in sent] == [*range(1, WINDOW + 1), other]
    # The window does not move before the oldest request is answered.
    outstanding.answered(SECOND, reply_to(sent[1][1]))
    assert ready(outstanding, SECOND) == []
    outstanding.answered(SECOND, reply_to(sent[0][1]))
    more = ready(outstanding, SECOND)
    assert [request for request, _ in more] == [WINDOW + 1, WINDOW + 2]
    for _, frame in (*sent[2:], *more):
        outstanding.answered(SECOND, reply_to(frame))
    rest = ready(outstanding, SECOND)
    assert [request for request, _ in rest] == [*range(WINDOW + 3, messages + 1)]


def test_reply_to_an_unsent_request_is_ignored() -> None:
    outstanding = Outstanding(MessageNumbers(1000), BOUNDS)
    request = add(outstanding)
    assert ready(outstanding, 0) == []
    assert outstanding.deadline() == MILLISECOND
    assert not outstanding.answered(0, Message(Op.ADMIT_REPLY, KEY, request))
    assert len(ready(outstanding, MILLISECOND)) == 1


@pytest.mark.parametrize("changes", [{"op": Op.INSTALL_REPLY}, {"key": bytes(16)}, {"request": 2}])
def test_reply_to_another_request_is_ignored(changes: dict[str, Any]) -> None:
    outstanding = Outstanding(MessageNumbers(1000), BOUNDS)
    add(outstanding)
    ((_, sent),) = ready(outstanding, SECOND)
    reply = reply_to(sent)
    assert not outstanding.answered(SECOND, replace(reply, **changes))
    assert len(outstanding) == 1
    assert outstanding.answered(SECOND, reply)


def test_cancelled_requests_are_neither_sent_nor_repeated() -> None:
    outstanding = Outstanding(MessageNumbers(1_000_000), BOUNDS)
    waiting, sent = add(outstanding, lane=1), add(outstanding, lane=1)
    outstanding.cancel(waiting)
    assert [request for request, _ in ready(outstanding, SECOND)] == [sent]
    outstanding.cancel(sent)
    outstanding.cancel(sent)
    assert outstanding.next_expired(2 * SECOND) is None
    assert (len(outstanding), outstanding.deadline()) == (0, None)


def test_timeouts_in_the_wrong_order_are_refused() -> None:
    with pytest.raises(ValueError, match="in this order"):
        Timeouts(first=1, shortest=2, longest=3)
