"""The report of a control plane about a recovery."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Recovered:
    """A recovery is complete.

    `phases`: name and duration in seconds, in order. `counts`: what it moved (records, keys, …).
    """

    phases: tuple[tuple[str, float], ...]
    counts: Mapping[str, int]
    switch: str = ""
    """As in `netkv.control.base.Recovering`."""

    @property
    def seconds(self) -> float:
        """Duration of all phases."""
        return sum(seconds for _, seconds in self.phases)

    def describe(self) -> str:
        """For the list of events: `recovered in 0.3 s: collect 0.1 s, restore 0.2 s (keys 12)`."""
        phases = ", ".join(f"{name} {seconds:.3g} s" for name, seconds in self.phases)
        counts = ", ".join(f"{name} {number}" for name, number in self.counts.items())
        text = f"recovered in {self.seconds:.3g} s"
        return text + (f": {phases}" if phases else "") + (f" ({counts})" if counts else "")
