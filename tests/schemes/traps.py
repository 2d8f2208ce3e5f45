"""Runs traps of control planes, with the original control plane and with mutants of it.

A script gets the class of a control plane. It returns the harm to a user, "" for none.
"""

import re
from collections.abc import Callable, Iterator
from typing import TypeVar

import pytest

from netkv.control.base import Action, Nanoseconds
from netkv.control.pending_requests import PendingRequest, PendingRequests
from netkv.model.messages import Message

C = TypeVar("C")


def suffered(script: Callable[[type[C]], str], control: type[C]) -> str:
    """The harm that a script finds, or the failed assertion of its rack's model, or the failure of
    a control plane that looks up what it has dropped."""
    try:
        return script(control)
    except AssertionError as error:
        return str(error).split(":")[0] or "asserted"
    except KeyError:
        return "the control plane fails"


def check(script: Callable[[type[C]], str], right: type[C], *mutants: tuple[type[C], str]) -> None:
    """The `right` control plane does no harm; each mutant does the harm (regex) beside it."""
    assert script(right) == ""
    for mutant, harm in mutants:
        found = suffered(script, mutant)
        assert re.fullmatch(harm, found), f"{mutant.__name__} does this harm: {found!r}"


def count_every_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutant: every copy of a reply counts as a reply."""
    answered: set[int] = set()
    pending: dict[int, PendingRequest | None] = {}

    def reply_again(self: PendingRequests, now: Nanoseconds, reply: Message) -> Iterator[Action]:
        request = pending.setdefault(reply.request, self._waiting.pop(reply.request, None))
        if self.outstanding.answered(now, reply):
            answered.add(reply.request)
        if reply.request in answered and request is not None:
            yield from request.then(now, reply)

    monkeypatch.setattr(PendingRequests, "on_reply", reply_again)
