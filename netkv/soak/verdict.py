"""Violations of a run, from the checks of its load generator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netkv.options import Spec

LOST = "lost-write"
STUCK = "stuck"
CRASH = "crash"
MALFORMED = "malformed-frame"
RULE = "broken-rule"


class Violation(Spec):
    """A violation of a guarantee."""

    kind: str
    """`stale-read`, `phantom-value`, `lost-write`, `not-linearizable` (the checker's), `stuck`,
    `crash`, `malformed-frame`, or `broken-rule` (`Scheme.soak_check`)."""
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

    def __init__(self) -> None:
        self.completed = 0
        """Number of operations so far."""
        self.unchecked = 0
        """Number of reads so far that could not be judged."""
        self.repeated = 0
        """Number of requests so far that were sent again."""

    def take(self, now: float, sample: Mapping[str, Any]) -> list[Violation]:
        """The violations in a sample of the load generator."""
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
        wrong = int(sample["malformed"]) + int(sample["errors"])
        if wrong:
            text = f"Clients got {wrong} frames that answer none of their requests."
            found.append(Violation(kind=MALFORMED, text=text, at=now))
        return found
