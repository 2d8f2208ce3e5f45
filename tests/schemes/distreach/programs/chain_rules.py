"""Rules of DistReach's switches and their defects: the vocabulary of the tests of chains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import pytest

from netkv.model.messages import Message, Op, Stamp, Status
from tests.p4programs.defects import Patch
from tests.schemes.distreach.programs.chain import Chain, Frame

KEY = (7).to_bytes(16)
ENTRY = 3

Rule: TypeAlias = Callable[[Chain], None]


@dataclass(frozen=True)
class Case:
    """A rule, the length of a chain, and the programs with a defect, if there is one. A rule also
    holds for the interpreter."""

    rule: Rule
    length: int
    upper: Patch | None = None
    tail: Patch | None = None
    executor: str = "compiled"

    def __str__(self) -> str:
        if self.executor == "interpreter":
            return f"{self.rule.__name__}-interpreter"
        return f"{self.rule.__name__}-{'defect' if self.upper or self.tail else 'holds'}"

    def check(self) -> None:
        """The rule must hold for the programs that ship, and not with the defect."""
        chain = Chain.of(self.length, self.upper, self.tail, self.executor)
        if self.upper is None and self.tail is None:
            self.rule(chain)
            return
        with pytest.raises((AssertionError, ValueError)):
            self.rule(chain)


@dataclass
class Rules:
    """The rules of a module, which are registered as decorated functions."""

    cases: list[Case] = field(default_factory=list)

    def __call__(self, length: int, *defects: tuple[str, Patch]) -> Callable[[Rule], Rule]:
        """A rule for a chain of this length. A defect is of the program `upper`, `tail`, or
        `both`."""

        def register(rule: Rule) -> Rule:
            if all(each.rule is not rule for each in self.cases):
                self.cases.append(Case(rule, length))
                self.cases.append(Case(rule, length, executor="interpreter"))
            for where, defect in defects:
                upper = defect if where in ("upper", "both") else None
                tail = defect if where in ("tail", "both") else None
                self.cases.append(Case(rule, length, upper, tail))
            return rule

        return register


def put(value: bytes | None, request: int, client: int = 1, incarnation: int = 40) -> Message:
    """PUT, or DELETE for None."""
    op = Op.DELETE if value is None else Op.PUT
    value = value or b""
    stamp = Stamp(incarnation)
    return Message(op, KEY, request, client, stamp=stamp, length=len(value), value=value)


def get(request: int, client: int = 2, incarnation: int = 40) -> Message:
    return Message(Op.GET, KEY, request, client, stamp=Stamp(incarnation))


def value_of(chain: Chain, request: int, incarnation: int = 40) -> bytes | None:
    """What a read returns now."""
    (reply,) = chain.ask(get(request, incarnation=incarnation))
    return None if reply.status is Status.NOT_FOUND else reply.value[: reply.length]


def cached(chain: Chain, value: bytes = b"first") -> None:
    """The key is cached everywhere, with this value as the latest."""
    (reply,) = chain.ask(put(value, 1))
    assert reply.status is Status.OK
    assert not reply.cache_hit
    chain.admit(KEY, ENTRY)
    assert value_of(chain, 1) == value


def numbers(chain: Chain) -> list[Stamp]:
    """The sequence of the record in each live switch, from the head."""
    found = []
    for place in chain.live:
        entry, generation = chain.switches[place].lookup[KEY]
        load = chain.switches[place].control(Op.LOAD, KEY, entry, Stamp(generation=generation))
        assert load.stamp
        found.append(Stamp(load.stamp.incarnation, load.stamp.number))
    return found


def lose(chain: Chain, to: int) -> Frame:
    """The frame under way to a place never arrives; it is returned, so that it may come late."""
    (frame,) = [frame for frame in chain.frames if frame.to == to]
    chain.frames.remove(frame)
    return frame
