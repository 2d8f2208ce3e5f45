"""Violations of a run, from the checks of its load generator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netkv.options import Spec

LOST = "lost-write"
STUCK = "stuck"
CRASH = "crash"
MALFORMED = "malformed-frame"


class Violation(Spec):
    """Something that must never be."""

    kind: str
    """`stale-read`, `phantom-value`, `lost-write`, `not-linearizable` (the checker's), `stuck`,
    `crash` or `malformed-frame`."""
    text: str
    """A sentence."""
    key: str | None = None
    """In hexadecimal digits, if it is about one."""
    at: float
    """Virtual seconds of the rack when it was found."""
    operations: tuple[dict[str, Any], ...] = ()
    """What proves it: operations as the checker reports them (`_engine.pyi`)."""


class Judge:
    """Judges every sample of a run."""

    def __init__(self) -> None:
        self.completed = 0
        """Operations so far."""
        self.unchecked = 0
        """Reads so far that could not be judged."""

    def take(self, now: float, sample: Mapping[str, Any]) -> list[Violation]:
        """What the load generator's sample, as it gave it, proves wrong."""
        self.completed += int(sample["completed"])
        self.unchecked += int(sample["unchecked_reads"])
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
            text = f"Clients got {wrong} frames that answer nothing they may have asked."
            found.append(Violation(kind=MALFORMED, text=text, at=now))
        return found
