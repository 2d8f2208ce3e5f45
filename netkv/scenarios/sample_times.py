"""The times at which a phase with load is sampled.

They depend on the length of the phase alone, so that all runs of a comparison have the same. They
are whole seconds before or after the beginning of the measured part; a rest of less than half a
second at the end of the measured part, or the beginning of the warm-up, is joined to its neighbour.
"""

from __future__ import annotations

from collections.abc import Sequence

INTERVAL_S = 1.0


class SampleTimes:
    """The times of one phase, in seconds since its beginning."""

    def __init__(self, seconds: float, *, of_warmup: bool = False) -> None:
        self._ends = _mirrored(_ends(seconds), seconds) if of_warmup else _ends(seconds)
        self._origin = seconds if of_warmup else 0.0
        """The beginning of the measured part."""
        self._due = 0
        """Number of the next time."""
        self._placed = 0
        """Number of times up to the last one that has a sample."""
        self.seconds = seconds

    @property
    def next(self) -> float | None:
        """The next time; None after the last."""
        return self._ends[self._due] if self._due < len(self._ends) else None

    @property
    def complete(self) -> bool:
        """Whether the end of the phase has a sample."""
        return self._placed == len(self._ends)

    def pass_until(self, elapsed: float) -> float:
        """Passes the times up to `elapsed`, and returns the last one of them."""
        while self._due < len(self._ends) and self._ends[self._due] <= elapsed:
            self._due += 1
        return self._ends[self._due - 1]

    def place(self, taken: Sequence[float]) -> list[float]:
        """The time of each of these samples, relative to the measured part: the nearest that was
        passed and has no sample yet.

        `taken`: when they were taken, in order. There is at most one for each time that has none.
        """
        found: list[int] = []
        above = self._due
        for when in reversed(taken):
            free = range(self._placed, max(above, self._placed + 1))
            found.append(min(free, key=lambda at: abs(self._ends[at] - when)))
            above = found[-1]
        self._placed = found[0] + 1 if found else self._placed
        return [self._ends[at] - self._origin for at in reversed(found)]


def edges(warmup: float, duration: float) -> list[float]:
    """The times of a run, relative to the measured part, and before them the beginning of its load.

    `warmup` and `duration` are the seconds of the two phases.
    """
    before = [end - warmup for end in _mirrored(_ends(warmup), warmup)] if warmup else []
    return [-warmup, *before, *_ends(duration)]


def _ends(seconds: float) -> list[float]:
    whole = int(seconds / INTERVAL_S)
    ends = [at * INTERVAL_S for at in range(1, whole + 1)]
    if not ends or seconds - ends[-1] > INTERVAL_S / 2:
        return [*ends, seconds]
    return [*ends[:-1], seconds]


def _mirrored(ends: Sequence[float], seconds: float) -> list[float]:
    """The ends of intervals of the same lengths in reverse order."""
    return [*(seconds - end for end in reversed(ends[:-1])), seconds]
