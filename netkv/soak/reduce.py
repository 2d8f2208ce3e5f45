"""Reduces a case with a violation: fewer faults, a shorter and simpler run, the same violation.

It applies delta debugging (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing
input", 2002) to the faults, then one simplification after the other as long as one succeeds. Every
change of a case also changes the random draws of its run, so each candidate is tried with several
seeds: first with few, for fast progress, then with more, for violations that are rare.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from netkv.events.case import Fault
from netkv.soak.campaign import Found
from netkv.soak.case import Case
from netkv.soak.pool import Player
from netkv.soak.run import Outcome
from netkv.soak.shrink import candidates
from netkv.soak.verdict import CRASH, Violation

_ROUNDS = (2, 6, 20)
"""Seeds for each candidate, in each round."""
_MARGIN = 1e-6
"""Seconds of load after the violation."""


def reduce(
    pool: Player,
    found: Found,
    *,
    seconds: float,
    on_progress: Callable[[Found], object] = lambda _: None,
) -> Found:
    """The smallest case found within `seconds` of the wall clock; at worst the given one.

    It is the given one if a replay does not show the violation again.
    """
    return _Reducer(pool, found, time.monotonic() + seconds, on_progress).run()


class _Reducer:
    def __init__(
        self, pool: Player, found: Found, end: float, on_progress: Callable[[Found], object]
    ) -> None:
        self._pool = pool
        self._best = found
        self._end = end
        self._on_progress = on_progress
        assert found.outcome.violation is not None, "the case has a violation"
        self._kept = _signature(found.outcome.violation)
        self._seeds = _ROUNDS[0]

    def run(self) -> Found:
        (again,) = self._pool.play_all([self._best.case])
        if not self._same(again):
            return self._best  # the case is not the cause; its process was killed, for example
        self._cut()
        for self._seeds in _ROUNDS:
            self._fewer_faults()
            while self._simplify():
                self._fewer_faults()
        return self._best

    def _simplify(self) -> bool:
        """Tries each simplification as often as it succeeds; returns whether any did."""
        before, index = self._best, 0
        while candidate := list(islice(candidates(self._best.case), index, index + 1)):
            if not self._try(candidate):
                index += 1
        return self._best is not before

    def _fewer_faults(self) -> None:
        """Delta debugging: leave out large parts of the schedule first, then smaller ones."""
        parts = 1
        while self._best.case.faults:
            faults = self._best.case.faults
            parts = min(parts, len(faults))
            without = (
                [fault for fault in faults if fault not in left_out]
                for left_out in _split(faults, parts)
            )
            if self._try(self._with(some) for some in without):
                parts = max(parts - 1, 1)
            elif parts == len(faults) or self._late():
                return
            else:
                parts *= 2

    def _with(self, faults: Iterable[Fault]) -> Case:
        return self._best.case.model_copy(update={"faults": tuple(faults)})

    def _try(self, candidates: Iterable[Case]) -> bool:
        """Whether a candidate shows the same violation; the first one becomes the best case."""
        tries = (_seeded(each, more) for each in candidates for more in range(self._seeds))
        while not self._late() and (batch := list(islice(tries, self._pool.size))):
            for case, outcome in zip(batch, self._pool.play_all(batch), strict=True):
                if self._same(outcome):
                    self._best = Found(case, outcome)
                    self._cut()
                    self._on_progress(self._best)
                    return True
        return False

    def _cut(self) -> None:
        """Shortens the load to its part before the violation, if that was during the load."""
        case, outcome = self._best.case, self._best.outcome
        assert outcome.violation is not None, "the best case has a violation"
        seen = round(_time_of(outcome.violation) - outcome.load_began + _MARGIN, 6)
        if not 0 < seen < case.duration:
            return
        faults = tuple(fault for fault in case.faults if fault.begin.at < seen)
        shorter = case.model_copy(update={"duration": seen, "faults": faults})
        (again,) = self._pool.play_all([shorter])
        if self._same(again):
            self._best = Found(shorter, again)

    def _same(self, outcome: Outcome) -> bool:
        return outcome.violation is not None and _signature(outcome.violation) == self._kept

    def _late(self) -> bool:
        return time.monotonic() >= self._end


def _signature(violation: Violation) -> str:
    """The part of a violation that a reduced case must show, too: kind, and text of a crash."""
    words = re.sub(r"\d+", "#", violation.text) if violation.kind == CRASH else ""
    return f"{violation.kind} {words}"


def _time_of(violation: Violation) -> float:
    """The end of the last operation that proves it; without operations, when it was found."""
    ends = [each["end_ns"] for each in violation.operations if each["end_ns"] is not None]
    return max(ends) / 1e9 if ends else violation.at


def _seeded(case: Case, more: int) -> Case:
    rack = case.rack.model_copy(update={"seed": case.rack.seed + more})
    return case.model_copy(update={"rack": rack})


def _split(faults: tuple[Fault, ...], parts: int) -> Iterator[tuple[Fault, ...]]:
    """Consecutive parts of about the same length."""
    for part in range(parts):
        yield faults[part * len(faults) // parts : (part + 1) * len(faults) // parts]
