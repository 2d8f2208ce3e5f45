"""Plays the cases of many seeds on all cores, until one of them shows a violation."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from netkv.events.random_faults import FaultKind
from netkv.soak.case import Case
from netkv.soak.case_generator import generate
from netkv.soak.pool import Player
from netkv.soak.run import Outcome

SLOW = 100.0
"""A seed is slow if it takes this many times the processor time of the median."""
_COMPARED = 10
"""Number of seeds from which on their times are compared."""


@dataclass(frozen=True)
class Search:
    """The seeds to play, and the limits of the search."""

    scheme: str
    first: int
    """First seed."""
    seeds: int | None
    """Number of seeds; None: until the time is over."""
    seconds: float | None
    """Limit on the wall clock; None: until all seeds are done."""
    kinds: Sequence[FaultKind]
    program: Path | None = None
    mutant: str | None = None


@dataclass(frozen=True)
class Slow:
    """A seed that took far more processor time than the others."""

    seed: int
    seconds: float
    """Its processor time."""
    times: float
    """How many times the median of all seeds."""


@dataclass
class Tally:
    """Totals of the search so far."""

    seeds: int = 0
    operations: int = 0
    unchecked: int = 0
    """Reads that the checker could not judge."""
    faults: int = 0
    elapsed: float = 0.0
    """Seconds of the wall clock."""
    violations: list[int] = field(default_factory=list)
    """Seeds with a violation."""
    following: int = 0
    """The lowest seed that has not ended."""
    durations: dict[int, float] = field(default_factory=dict)
    """Processor time of each seed, in seconds."""

    @property
    def rate(self) -> float:
        """Operations per second of the wall clock."""
        return self.operations / self.elapsed if self.elapsed else 0.0

    @property
    def slow(self) -> list[Slow]:
        """Seeds that took `SLOW` times the processor time of the median, the slowest first.

        A seed that does so repeats something without need: a fault of netkv, although not one of
        the scheme.
        """
        if len(self.durations) < _COMPARED:
            return []
        median = statistics.median(self.durations.values())
        slow = [
            Slow(seed, seconds, seconds / median)
            for seed, seconds in self.durations.items()
            if seconds >= SLOW * median > 0
        ]
        return sorted(slow, key=lambda each: -each.seconds)


@dataclass(frozen=True)
class Found:
    """A case with a violation."""

    case: Case
    outcome: Outcome


def search(
    pool: Player, wanted: Search, on_progress: Callable[[Tally], object]
) -> tuple[Tally, list[Found]]:
    """Plays seeds in order; returns the totals and the cases with violations, by seed.

    After the first violation no further seed begins. Seeds that are under way are played to their
    end, so the lowest seed with a violation does not depend on the number of cores.
    """
    tally = Tally(following=wanted.first)
    ended: set[int] = set()
    """Seeds above `tally.following` that have ended."""
    found: list[Found] = []
    started = time.monotonic()

    def cases() -> Iterator[Case]:
        seed = wanted.first
        while not found and not _over(wanted, seed, time.monotonic() - started):
            yield generate(
                wanted.scheme, seed, wanted.kinds, program=wanted.program, mutant=wanted.mutant
            )
            seed += 1

    for _, case, outcome in pool.play(cases()):
        tally.seeds += 1
        tally.operations += outcome.operations
        tally.unchecked += outcome.unchecked
        tally.faults += outcome.faults
        tally.durations[case.seed] = outcome.processor_seconds
        ended.add(case.seed)
        while tally.following in ended:
            ended.remove(tally.following)
            tally.following += 1
        tally.elapsed = time.monotonic() - started
        if outcome.violations:
            found.append(Found(case, outcome))
            tally.violations.append(case.seed)
        on_progress(tally)
    return tally, sorted(found, key=lambda each: each.case.seed)


def _over(wanted: Search, seed: int, elapsed: float) -> bool:
    done = wanted.seeds is not None and seed >= wanted.first + wanted.seeds
    return done or (wanted.seconds is not None and elapsed >= wanted.seconds)
