"""LaKe between clients and a server with random loss, copies and reordering on all links.

Requests and replies wait in the network for a random time, shorter than the lifetime that LaKe is
told. Every answer from the cache is checked (tests/schemes/lake/lake.py).
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from netkv.schemes.lake import mutants
from tests.fpga.packets import Operation, get, memcached, store
from tests.schemes.lake.lake import LIFETIME, UNIT, Client, Lab, Lake, Reply, Request

# Of these the packets use a part: some time passes until their effect is known.
ON_THE_WAY = LIFETIME * UNIT * 3 // 4


class Network:
    """What is on its way, and what may happen to it."""

    def __init__(self, lab: Lab, seed: int, keys: int = 12) -> None:
        self.lab = lab
        self.rng = random.Random(seed)
        self.keys = [b"key%d" % number for number in range(keys)]
        self.requests: list[Request] = []
        self.replies: list[Reply] = []
        self._numbers = itertools.count()

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self._lose_the_late()
            choice = self.rng.random()
            if choice < 0.4:
                self._ask()
            elif choice < 0.7:
                self._reach_the_server()
            elif choice < 0.97:
                self._reach_lake()
            else:
                self.lab.lake.pass_lifetime()
        self.requests.clear()
        self.replies.clear()
        self.lab.settle(self.keys)

    def _lose_the_late(self) -> None:
        oldest = self.lab.lake.design.cycle - ON_THE_WAY
        self.requests = [each for each in self.requests if each.sent > oldest]
        self.replies = [each for each in self.replies if each.sent > oldest]

    def _ask(self) -> None:
        asked = []
        for index in range(self.rng.choice((1, 1, 1, 2, 5))):
            operations = [self._operation()]
            while self.rng.random() < 0.1:
                operations.append(self._operation())
            asked.append((Client(index), tuple(operations)))
        for request in self.lab.burst(asked):
            if request is not None and self.rng.random() > 0.05:
                self.requests.append(request)

    def _operation(self) -> Operation:
        rng = self.rng
        key = rng.choice(self.keys)
        number = next(self._numbers)
        value = b"value %d " % number + bytes(rng.choice((0, 0, 0, 20, 300, 600)))
        kinds: list[Callable[[], Operation]] = [
            *[lambda: get(key, opaque=number)] * 40,
            lambda: get(key, opcode=memcached.GETK, opaque=number),
            lambda: get(key, opcode=memcached.GETQ, opaque=number),
            *[lambda: store(key, value, opaque=number)] * 5,
            lambda: store(key, value, opcode=memcached.SETQ, opaque=number),
            lambda: store(key, value, opcode=memcached.ADD, opaque=number),
            lambda: store(key, value, opcode=memcached.REPLACE, opaque=number),
            lambda: store(key, value, cas=rng.randrange(1, 50), opaque=number),
            lambda: Operation(memcached.DELETE, key, opaque=number),
            lambda: Operation(memcached.DELETEQ, key, opaque=number),
            lambda: Operation(memcached.APPEND, key, value=b"+", opaque=number),
            lambda: Operation(memcached.NOOP, opaque=number),
        ]
        if rng.random() < 0.003:
            return Operation(memcached.FLUSH, opaque=number)
        return rng.choice(kinds)()

    def _reach_the_server(self) -> None:
        if not self.requests:
            return
        request = self.requests.pop(self.rng.randrange(len(self.requests)))
        for reply in self.lab.execute(request):
            if self.rng.random() < 0.1:
                continue
            # A reply is on its way for what its request has left.
            reply.sent = request.sent
            self.replies.append(reply)
            if self.rng.random() < 0.1:
                self.replies.append(reply)

    def _reach_lake(self) -> None:
        if self.replies:
            self.lab.deliver(self.replies.pop(self.rng.randrange(len(self.replies))))


@pytest.mark.parametrize("header", [True, False], ids=["frame-header", "bare"])
@pytest.mark.parametrize("seed", range(3))
def test_random_faults_show_no_stale_value(lake_library: Path, seed: int, header: bool) -> None:
    lab = Lab(Lake(lake_library, seed=seed + 1, header=header))
    Network(lab, seed).run(1500)
    assert lab.hits > 20
    assert lab.lake.read("visible") > 0
    assert lab.lake.read("filled") > 0
    assert lab.lake.read("lost_chunks") == 0


@pytest.mark.parametrize(
    "name",
    [
        "fill-after-mutation",
        "fill-during-mutation",
        "visible-during-mutation",
        "serve-pending",
        "no-invalidation",
        "forget-unanswered",
    ],
)
def test_random_faults_find_the_mutant(lake_library: Path, name: str) -> None:
    (mutant,) = [each for each in mutants.MUTANTS if each.name == name]
    assert any(is_found(Lake(lake_library, mutant=mutant.number), seed) for seed in range(10))


def is_found(lake: Lake, seed: int) -> bool:
    """Whether a client gets a wrong answer."""
    try:
        Network(Lab(lake), seed, keys=4).run(1500)
    except AssertionError:
        return True
    return False
