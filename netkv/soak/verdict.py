"""Violations of a run, from the checks of its load generator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from netkv.options import Spec

LOST = "lost-write"
STUCK = "stuck"
CRASH = "crash"
MALFORMED = "malformed-frame"
RULE = "broken-rule"
PHANTOM = "phantom-value"
_STALE = ("stale-read", "not-linearizable")


class Violation(Spec):
    """A violation of a guarantee."""

    kind: str
    """`stale-read`, `phantom-value`, `refused-value`, `lost-write`, `not-linearizable` (the
    checker's), `stuck`, `crash`, `malformed-frame`, or `broken-rule`
    (`netkv.schemes.parts.Soak`)."""
    text: str
    """A description for users."""
    key: str | None = None
    """The key in hexadecimal digits; None if it is about no single key."""
    at: float
    """Virtual time of the rack in seconds when it was found."""
    operations: tuple[dict[str, Any], ...] = ()
    """The operations that prove it, as the checker reports them (`_engine.pyi`)."""


class Judge:
    """Judges every sample of a run."""

    def __init__(self, max_staleness: float | None = None) -> None:
        """`max_staleness`: seconds for which reads may return a replaced value; None: never."""
        self._max_staleness = max_staleness
        self.completed = 0
        """Number of operations so far."""
        self.unchecked = 0
        """Number of reads so far that could not be judged."""
        self.repeated = 0
        """Number of requests so far that were sent again."""
        self._malformed = 0
        """Number of malformed frames so far."""

    def take(
        self, now: float, sample: Mapping[str, Any], corrupted: Callable[[], int] = lambda: 0
    ) -> list[Violation]:
        """The violations in a sample of the load generator. `corrupted`: the most
        frames that can have arrived with flipped bits since the start; each may be malformed."""
        self.completed += int(sample["completed"])
        self.unchecked += int(sample["unchecked_reads"])
        self.repeated += int(sample["retries"])
        found = [
            Violation(
                kind=each["kind"],
                text=each["text"],
                key=each["key"],
                at=now,
                operations=tuple(each["operations"]),
            )
            for each in sample["violations"]
        ]
        if self._max_staleness is not None:
            found = self._without_permitted(now, sample, found)
        malformed, errors = int(sample["malformed"]), int(sample["errors"])
        self._malformed += malformed
        # The count of the rack is read only if it matters.
        unexplained = bool(malformed) and self._malformed > corrupted()
        if wrong := errors + (malformed if unexplained else 0):
            text = f"Clients got {wrong} frames that answer none of their requests."
            found.append(Violation(kind=MALFORMED, text=text, at=now))
        return found

    def _without_permitted(
        self, now: float, sample: Mapping[str, Any], found: list[Violation]
    ) -> list[Violation]:
        """The violations of a rack whose reads may return replaced values for some time."""
        assert self._max_staleness is not None
        kept = [each for each in found if each.kind not in _STALE]
        if (longest := int(sample["longest_stale_ns"]) * 1e-9) > self._max_staleness:
            text = (
                f"A read returned a value that had been replaced {longest:g} s before; at most "
                f"{self._max_staleness:g} s are permitted."
            )
            kept.append(Violation(kind=RULE, text=text, at=now))
        # Permitted violations may have used up the reports of the checker.
        if (phantoms := int(sample["phantom_reads"])) and not kept:
            text = f"{phantoms} reads returned values that no client wrote, or that were refused."
            kept.append(Violation(kind=PHANTOM, text=text, at=now))
        return kept
