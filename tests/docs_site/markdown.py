"""Markdown: tables, escapes, and the two rules in which the site's dialect is stricter."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tests.docs_site.links import outside_of_blocks

_CODE_SPAN = re.compile(r"(`[^`\n]*`)")
_ITEM = re.compile(r"( *)(?:[-*]|\d+\.) ")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; cells are Markdown, and become one line."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(map(_cell, line))} |\n" for line in lines) + "\n"


def _cell(text: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\|", " ".join(text.split()))


def escaped(text: str) -> str:
    """Text whose `<` outside of code is no HTML."""
    parts = _CODE_SPAN.split(text)
    return "".join(it if it.startswith("`") else it.replace("<", "&lt;") for it in parts)


def compatible(text: str) -> str:
    """The text in the dialect of the site's generator.

    A list needs an empty line before it, and what is within an item four columns.
    """
    return outside_of_blocks(text, _lists)


def _lists(text: str) -> str:
    lines: list[str] = []
    for line in text.split("\n"):
        item = _ITEM.match(line)
        before = lines[-1] if lines else ""
        if item and not item[1] and before.strip() and not _in_item(lines):
            lines.append("")
        depth = len(line) - len(line.lstrip())
        if line.strip() and 2 <= depth < 8 and not line.startswith("    "):
            line = "    " + line.lstrip()
        lines.append(line)
    return "\n".join(lines)


def _in_item(lines: list[str]) -> bool:
    """Whether the last line belongs to an item of a list."""
    for line in reversed(lines):
        if not line.strip():
            return False
        if _ITEM.match(line):
            return True
    return False
