"""Text of files, requests and stores for terminals, which execute control characters."""

from __future__ import annotations

import json
import re
from typing import Any

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Control characters but tab and line feed, and those that change the direction of text."""
_AFTER_ASCII = re.compile(r"[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """The text with control characters as escapes, such as `\\x1b`."""
    return _CONTROL.sub(lambda found: _escaped(found[0], r"\x{:02x}"), text)


def document(value: Any) -> str:
    """JSON whose strings are complete and that a terminal does not execute."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    # Others are escaped already.
    return _AFTER_ASCII.sub(lambda found: _escaped(found[0], r"\u{:04x}"), text)


def _escaped(character: str, short: str) -> str:
    code = ord(character)
    return short.format(code) if code < 0x100 else rf"\u{code:04x}"
