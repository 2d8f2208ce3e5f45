"""Makes a case with a violation small: fewer faults, a shorter and simpler run, the same violation.

Delta debugging (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002)
over the faults, then one simplification after the other as long as any is possible. A change of
anything changes every draw after it, so each candidate is tried with a few seeds: at first with
few, so that much is gone soon, then with more, which finds what needs luck.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from netkv.soak.campaign import Found
from netkv.soak.case import Case, Fault
from netkv.soak.pool import Player
from netkv.soak.run import Outcome
from netkv.soak.shrink import candidates
from netkv.soak.verdict import CRASH, Violation

_ROUNDS = (2, 6, 20)
"""How many seeds each candidate is tried with, round by round."""
_MARGIN = 1e-6
"""Seconds of load after the moment at which a violation was seen."""


def reduce(
    pool: Player,
    found: Found,
    *,
    seconds: float,
    on_progress: Callable[[Found], object] = lambda _: None,
) -> Found:
    """The smallest case that was found in `seconds` of the wall clock; at worst the given one.

    So it is if that does not show its violation again.
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
        assert found.outcome.violation is not None, "there is something to keep"
        self._kept = _what(found.outcome.violation)
        self._seeds = _ROUNDS[0]

    def run(self) -> Found:
        (again,) = self._pool.play_all([self._best.case])
        if not self._same(again):
            return self._best  # not because of the case: its process was killed, for example
        self._cut()
        for self._seeds in _ROUNDS:
            self._fewer_faults()
            while self._simplify():
                self._fewer_faults()
        return self._best

    def _simplify(self) -> bool:
        """One simplification after the other, each as often as it helps; whether any did."""
        before, place = self._best, 0
        while candidate := list(islice(candidates(self._best.case), place, place + 1)):
            if not self._try(candidate):
                place += 1
        return self._best is not before

    def _fewer_faults(self) -> None:
        """Delta debugging: first large parts of the schedule, then ever smaller ones."""
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
        """Whether one of them shows the same violation; the first such is the best from now on."""
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
        """Ends the load where the violation was seen, if that was during it."""
        case, outcome = self._best.case, self._best.outcome
        assert outcome.violation is not None, "only such cases become the best"
        seen = round(_seen(outcome.violation) - outcome.load_began + _MARGIN, 6)
        if not 0 < seen < case.duration:
            return
        faults = tuple(fault for fault in case.faults if fault.begin.at < seen)
        shorter = case.model_copy(update={"duration": seen, "faults": faults})
        (again,) = self._pool.play_all([shorter])
        if self._same(again):
            self._best = Found(shorter, again)

    def _same(self, outcome: Outcome) -> bool:
        return outcome.violation is not None and _what(outcome.violation) == self._kept

    def _late(self) -> bool:
        return time.monotonic() >= self._end


def _what(violation: Violation) -> str:
    """What must stay the same: the kind, and of a crash its words."""
    words = re.sub(r"\d+", "#", violation.text) if violation.kind == CRASH else ""
    return f"{violation.kind} {words}"


def _seen(violation: Violation) -> float:
    """When the last of the operations that prove it ended; else when it was found."""
    ends = [each["end_ns"] for each in violation.operations if each["end_ns"] is not None]
    return max(ends) / 1e9 if ends else violation.at


def _seeded(case: Case, more: int) -> Case:
    rack = case.rack.model_copy(update={"seed": case.rack.seed + more})
    return case.model_copy(update={"rack": rack})


def _split(faults: tuple[Fault, ...], parts: int) -> Iterator[tuple[Fault, ...]]:
    """Parts of about the same length, one after the other."""
    for part in range(parts):
        yield faults[part * len(faults) // parts : (part + 1) * len(faults) // parts]
