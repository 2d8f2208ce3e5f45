"""Copies parts of files into documents: `python -m tests.includes`, `make docs`.

A part is between `<!-- begin include PATH WORDS -->` and `<!-- end include -->`. Without WORDS it
is the whole file. With them it is the block that begins with these words: the first line that does,
and the lines below it that are indented further, with the bracket that closes them.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]

_INCLUDE = re.compile(
    r"(<!-- begin include (\S+)(?: ([^\n]+))? -->\n).*?(<!-- end include -->)", re.DOTALL
)
_CLOSES = re.compile(r"\s*[)}\]]")


class NoSuchPartError(Exception):
    """A document includes a part that its file does not have."""


def block(text: str, words: str) -> str:
    """The block of a text that begins with these words."""
    lines = text.splitlines()
    starts = [n for n, line in enumerate(lines) if line.lstrip().startswith(words)]
    if not starts:
        raise NoSuchPartError(words)
    begin = starts[0]
    depth = len(lines[begin]) - len(lines[begin].lstrip())
    end = begin + 1
    while end < len(lines):
        line = lines[end]
        if line.strip() and len(line) - len(line.lstrip()) <= depth:
            end += bool(_CLOSES.match(line))
            break
        end += 1
    return "\n".join(line[depth:] for line in lines[begin:end]).rstrip() + "\n"


def part(found: re.Match[str]) -> str:
    """The part that a match of `_INCLUDE` names."""
    text = (ROOT / found[2]).read_text()
    return text if found[3] is None else block(text, found[3])


def parts(text: str) -> list[str]:
    """The parts that a document includes, as they are in their files now."""
    return [part(found) for found in _INCLUDE.finditer(text)]


def updated(text: str) -> str:
    """The text of a document with its included parts as they are in their files now."""

    def included(found: re.Match[str]) -> str:
        suffix = Path(found[2]).suffix[1:]
        language = {"py": "python"}.get(suffix, suffix)
        return f"{found[1]}```{language}\n{part(found)}```\n{found[4]}"

    return _INCLUDE.sub(included, text)


if __name__ == "__main__":
    for document in sorted((ROOT / "docs").rglob("*.md")):
        old = document.read_text()
        if (new := updated(old)) != old:
            document.write_text(new)
