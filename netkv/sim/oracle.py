"""An oracle: it reports keys to the controllers as hot when popularity shifts.

It models experiments that leave detection out (`workload.shift.admit`). It asks the load generator,
which has shifted just before, and the controllers admit the keys in their normal way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from netkv.model.spec import Shift

SECOND = 1_000_000_000
DELAY = 1_000
"""Nanoseconds from a shift to the report."""


class Oracle:
    """Reports the keys of one rack. `deadline`: when to call `advance`; None: nothing is due."""

    def __init__(
        self,
        shift: Shift | None,
        hottest: Callable[[int], Sequence[bytes]],
        report: Callable[[tuple[bytes, ...]], None],
    ) -> None:
        """`hottest` returns so many keys, the most popular first; `report` takes hot keys."""
        self._shift = None if shift is None or shift.admit is None else shift
        self._hottest = hottest
        self._report = report
        self._before: frozenset[bytes] = frozenset()
        """The `top` most popular keys before the next shift."""
        self.deadline: int | None = None

    def phase(self, name: str, now: int) -> None:
        """The load generator begins a phase; in `measure` it shifts popularity from then on."""
        if self._shift is None:
            return
        self.deadline = None
        if name == "measure":
            self.deadline = now + round(self._shift.every * SECOND) + DELAY
            if self._shift.admit == "new":
                self._before = frozenset(self._hottest(self._shift.top))

    def advance(self, now: int) -> None:
        """Reports keys if a shift has happened."""
        shift = self._shift
        if shift is None or self.deadline is None or now < self.deadline:
            return
        self.deadline += round(shift.every * SECOND)
        if shift.admit == "hottest":
            self._report(tuple(self._hottest(shift.keys)))
            return
        top = self._hottest(shift.top)
        self._report(tuple(key for key in top if key not in self._before))
        self._before = frozenset(top)
