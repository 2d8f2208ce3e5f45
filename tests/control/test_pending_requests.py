"""Requests whose callbacks only continue an operation."""

from collections import Counter
from collections.abc import Iterable

from netkv._engine import Outstanding
from netkv.control.base import SECOND, Action, Continued, Nanoseconds, SendFrame
from netkv.control.message_numbers import MessageNumbers
from netkv.control.pending_requests import PendingRequests, To
from netkv.control.roundtrip import Timeouts
from netkv.model.messages import Message, Op, decode

KEY = bytes(16)
TRIES = 2


def go_on(_now: Nanoseconds, _reply: Message | None) -> Iterable[Action]:
    return Continued()


def sent() -> tuple[PendingRequests, list[SendFrame]]:
    """A request that is repeated until it is answered, and its frame."""
    numbers = MessageNumbers(1_000_000)
    requests = PendingRequests(Outstanding(numbers, Timeouts()), TRIES, Counter())
    requests.send(Op.ADMIT, KEY, go_on, to=To("server 0", switch="leaf-0"), insist=True)
    return requests, requests.ready(SECOND)


def test_reply_continues_the_operation() -> None:
    requests, (frame,) = sent()
    assert frame.switch == "leaf-0"
    reply = decode(frame.frame).message.reply()
    assert isinstance(requests.on_reply(SECOND, reply), Continued)


def test_first_reply_of_a_silent_receiver_may_make_others_due() -> None:
    """Operations wait for a silent receiver: more is due than the next step of this one."""
    requests, _ = sent()
    now = SECOND
    while not requests.silent:
        due = requests.deadline()
        assert due is not None
        now = due
        list(requests.on_timer(now))
    (frame,) = requests.ready(now)
    actions = requests.on_reply(now, decode(frame.frame).message.reply())
    assert not isinstance(actions, Continued)
    assert not requests.silent
