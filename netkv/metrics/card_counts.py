"""What FPGA cards have counted since the last sample."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

_RANGE = 1 << 32
"""Counters of designs wrap there."""


class CardCounts:
    """The counters of every card at the last sample."""

    def __init__(self) -> None:
        self._before: list[Mapping[str, Any]] = []

    def take(self, cards: Iterable[Mapping[str, Any]]) -> dict[str, int]:
        """The rise of each counter since the last call, added up over the cards.

        `cards`: the counters of all cards, with the number of `restarts` among them; those of a
        card that is down are `{}`. A card counts frames: a copy of a request counts again.
        """
        now = list(cards)
        before = self._before or [{} for _ in now]
        self._before = [new or old for old, new in zip(before, now, strict=True)]
        total: Counter[str] = Counter()
        for old, new in zip(before, now, strict=True):
            total.update(_rises(old, new))
        return dict(total)


def of_name(counted: Mapping[str, int], name: str) -> int:
    """What a counter has counted; of one with a number for each function, `name.0`, …, the sum."""
    begin = f"{name}."
    return sum(count for each, count in counted.items() if each == name or each.startswith(begin))


def _rises(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, int]:
    restarted = new.get("restarts", 0) != old.get("restarts", 0)
    return {
        name: int(count) if restarted else (int(count) - int(old.get(name, 0))) % _RANGE
        for name, count in new.items()
        if name != "restarts"
    }
