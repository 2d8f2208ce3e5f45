"""Wraps the prose of docs/ and CHANGELOG.md at 100 columns: `python -m tests.wrap`, `make fmt`.

Only paragraphs with a longer line change. Code blocks, tables, headings and comments do not change,
and code and links within a paragraph are never broken.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
COLUMNS = 100
GENERATED = {"scenario-reference.md", "run-store-tables.md"}
"""Whole documents that `make docs` writes from the code."""

_WORD = re.compile(r"(?:`+[^`]*`+|\[[^]]*\]\([^)\s]*\)|[^\s`\[]|[`\[])+")
_ITEM = re.compile(r"(\s*(?:[-*]|\d+\.)\s+)(.*)")
_LOOKS_LIKE_AN_ITEM = re.compile(r"(?:\d+[.)]|[-+*#>|]+)$")
_STAYS = re.compile(r"\s*(?:\||#|<!--|>|\[[^]]+\]:|$)")


def documents() -> list[Path]:
    """The documents whose lines end at 100 columns: all but the generated ones."""
    found = sorted((ROOT / "docs").rglob("*.md"))
    return [ROOT / "CHANGELOG.md"] + [path for path in found if path.name not in GENERATED]


def wrapped(text: str) -> str:
    """The text, with each paragraph wrapped that has a line of more than 100 columns."""
    lines: list[str] = []
    paragraph: list[str] = []
    fenced = False
    for line in [*text.split("\n"), ""]:
        fence = line.lstrip().startswith("```")
        if fenced or fence or _STAYS.match(line) or _ITEM.match(line):
            lines += _filled(paragraph)
            paragraph = []
        fenced ^= fence
        if fenced or fence or _STAYS.match(line):
            lines.append(line)
        else:
            paragraph.append(line)
    return "\n".join(lines[:-1])


def _filled(paragraph: list[str]) -> list[str]:
    if not any(len(line) > COLUMNS for line in paragraph):
        return paragraph
    head = paragraph[0]
    item = _ITEM.match(head)
    first = item[1] if item else head[: len(head) - len(head.lstrip())]
    text = " ".join([head[len(first) :], *map(str.strip, paragraph[1:])])
    return _fill(_WORD.findall(text), first, " " * len(first))


def _fill(words: Iterable[str], first: str, rest: str) -> list[str]:
    units: list[str] = []  # words that stay on one line: no line may begin like a list item
    for word in words:
        if units and _LOOKS_LIKE_AN_ITEM.match(word):
            units[-1] += f" {word}"
        else:
            units.append(word)
    lines = [first]
    for unit in units:
        if lines[-1] in (first, rest):
            lines[-1] += unit
        elif len(lines[-1]) + 1 + len(unit) <= COLUMNS:
            lines[-1] += f" {unit}"
        else:
            lines.append(rest + unit)
    return lines


if __name__ == "__main__":
    for document in documents():
        old = document.read_text()
        if (new := wrapped(old)) != old:
            document.write_text(new)
