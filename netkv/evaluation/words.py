"""What a paper says in words: claims that hold or do not, like its numbers.

`paper: falls` in an evaluation is one of the phrases of `_PHRASES`; a text in parentheses is a
remark that claims nothing ("(given only as a curve)").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

NEAR = 0.15
"""The relative difference up to which a figure counts as near another."""

_NUMBER = r"(\d+(?:\.\d+)?)"
_Holds = Callable[[float, Sequence[float], int], bool]
"""Of the number in the phrase, the values along the sweep, and the place of the one in question."""


def _near(number: float, value: float) -> bool:
    return abs(value / number - 1) <= NEAR


_PHRASES: dict[str, _Holds] = {
    f"(?:about|up to) {_NUMBER}": lambda number, values, at: _near(number, values[at]),
    f"above {_NUMBER}": lambda number, values, at: values[at] > number,
    f"below {_NUMBER}": lambda number, values, at: values[at] < number,
    f"at least {_NUMBER}": lambda number, values, at: values[at] >= number,
    f"at most {_NUMBER}": lambda number, values, at: values[at] <= number,
    "(?:about )?equal": lambda _, values, at: _near(1.0, values[at]),
    "slightly (?:lower|below 1)": lambda _, values, at: 1 - NEAR <= values[at] < 1,
    "slightly (?:higher|above 1)": lambda _, values, at: 1 < values[at] <= 1 + NEAR,
    "higher": lambda _, values, at: values[at] > 1,
    "lower": lambda _, values, at: values[at] < 1,
    "falls": lambda _, values, at: at > 0 and values[at] < values[at - 1],
    "rises": lambda _, values, at: at > 0 and values[at] > values[at - 1],
    "flat": lambda _, values, at: _near(values[0], values[at]),
    "(?:widest|highest)": lambda _, values, at: values[at] == max(values),
    "lowest": lambda _, values, at: values[at] == min(values),
}
"""`equal`, `lower` and the like are about a ratio and 1; `falls` is below the point before;
`widest` is the largest along the sweep."""

KNOWN = (
    "'about 2', 'up to 2', 'above 2', 'below 2', 'at least 2', 'at most 2', 'equal', "
    "'about equal', 'lower', 'higher', 'slightly lower', 'slightly higher', 'falls', 'rises', "
    "'flat', 'widest', 'highest', 'lowest', or a remark in parentheses"
)
"""The phrases, for messages."""


@dataclass(frozen=True)
class Phrase:
    """Words that can be checked."""

    number: float
    """The number in it; 0 if there is none."""
    _holds: _Holds

    def holds(self, values: Sequence[float], at: int) -> bool:
        """Whether it is true of `values[at]`; `values` are all those along the sweep, in order."""
        return self._holds(self.number, values, at)


def is_remark(text: str) -> bool:
    """Whether the text claims nothing."""
    return text.startswith("(") and text.endswith(")")


def phrase(text: str) -> Phrase | None:
    """The claim that the words make; None if they are unknown, or a remark."""
    for pattern, holds in _PHRASES.items():
        if (found := re.fullmatch(pattern, text)) is not None:
            return Phrase(float(found[1]) if found.groups() else 0.0, holds)
    return None
