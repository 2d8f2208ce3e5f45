"""Reads that FPGA cards have answered, from their counters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_RANGE = 1 << 32
"""Counters of designs wrap there."""


class CardHits:
    """The counter of every card at the last sample."""

    def __init__(self, counter: str) -> None:
        """`counter`: its name."""
        self._counter = counter
        self._before: list[Mapping[str, Any]] = []

    def take(self, cards: Iterable[Mapping[str, Any]]) -> int:
        """Reads answered since the last call, from the counters of all cards.

        Counters have the number of `restarts` with them; those of a card that is down are `{}`.
        A card counts frames: a copy of a request counts again.
        """
        now = list(cards)
        before = self._before or [{} for _ in now]
        self._before = [new or old for old, new in zip(before, now, strict=True)]
        return sum(self._rise(old, new) for old, new in zip(before, now, strict=True) if new)

    def _rise(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> int:
        count, restarted = int(new[self._counter]), new["restarts"] != old.get("restarts", 0)
        return count if restarted else (count - int(old.get(self._counter, 0))) % _RANGE
