"""How much counters have risen. They count since the start of a node, which may be restarted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

_CARD_RANGE = 1 << 32
"""Counters of designs wrap there."""


class Rises:
    """The counters of any number of owners at their last answers.

    A counter that became smaller is that of a node that was restarted: it has counted from 0 since
    then. Counters that wrap (`modulus`) do not show that, so they need the number of restarts.
    """

    def __init__(self, modulus: int | None = None) -> None:
        self._modulus = modulus
        self._before: dict[Hashable, Mapping[str, Any]] = {}
        self._restarts: dict[Hashable, int] = {}

    def take(self, owner: Hashable, counts: Mapping[str, Any], restarts: int = 0) -> dict[str, Any]:
        """The rise of each counter of an owner since its last answer.

        Of the first answer it is the count. What is no number is left out. An owner that has not
        answered is left out by the caller: what it has counted meanwhile is in its next answer.
        """
        now = {name: count for name, count in counts.items() if type(count) in (int, float)}
        restarted = restarts != self._restarts.get(owner, 0)
        before = {} if restarted else self._before.get(owner, {})
        # An answer may lack counters that were in an earlier one.
        self._before[owner], self._restarts[owner] = {**before, **now}, restarts
        return {name: self._rise(count, before.get(name, 0)) for name, count in now.items()}

    def forget(self, owner: Hashable) -> None:
        """The counters of an owner begin at 0 again."""
        self._before.pop(owner, None)

    def _rise(self, count: Any, before: Any) -> Any:
        if self._modulus is not None:
            return (count - before) % self._modulus
        return count - before if count >= before else count


class CardRises:
    """The rises of the counters of FPGA cards."""

    def __init__(self) -> None:
        self._rises = Rises(_CARD_RANGE)

    def take(self, cards: Iterable[Mapping[str, Any]]) -> dict[str, int]:
        """The rise of each counter since the last call, added up over the cards.

        `cards`: the counters of all cards, with the number of `restarts` among them; those of a
        card that is down are `{}`. A card counts frames: a copy of a request counts again.
        """
        total: Counter[str] = Counter()
        for card, answer in enumerate(cards):
            if answer:
                counts = {name: count for name, count in answer.items() if name != "restarts"}
                total.update(self._rises.take(card, counts, answer.get("restarts", 0)))
        return dict(total)


def of_name(counted: Mapping[str, int], name: str) -> int:
    """What a counter has counted; of one with a number for each function, `name.0`, …, the sum."""
    begin = f"{name}."
    return sum(count for each, count in counted.items() if each == name or each.startswith(begin))
