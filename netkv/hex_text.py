"""Bytes as users write them: hex digits, also with blanks, colons and `0x`."""

from __future__ import annotations

import re

_BETWEEN = re.compile(r"[\s:]|0x")


def hex_bytes(text: str) -> bytes:
    """The bytes; ValueError for anything else than hex digits, and for none."""
    digits = _BETWEEN.sub("", text)
    if not digits:
        raise ValueError("no digits")
    return bytes.fromhex(digits)
