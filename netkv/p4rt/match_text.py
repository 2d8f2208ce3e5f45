"""What a key of a table matches, as text: `0x0a`, `0x0a/24`, `0x0a&&&0xff`, `0x01..0x0f`.

This is the form of p4runtime-shell.
"""

from __future__ import annotations

_SEPARATORS = {"lpm": "/", "ternary": "&&&", "range": ".."}
"""Between the two parts, by the kind of the key; other kinds have one part."""


def joined(kind: str, first: str, second: object) -> str:
    """The text of a match with two parts."""
    return f"{first}{_SEPARATORS[kind]}{second}"


def split(kind: str, text: str) -> tuple[str, str]:
    """The two parts; raises ValueError with the right form."""
    separator = _SEPARATORS[kind]
    first, found, second = text.partition(separator)
    if not found:
        raise ValueError(f"write 'A{separator}B'")
    return first, second
