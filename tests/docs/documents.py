"""The code blocks of README.md and docs/, and the netkv commands in them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`(netkv [^`\n]+)`")
_SEPARATORS = {";", "&&", "||", "|", "&", "\n", "(", ")"}
_KEYWORDS = {"do", "done", "then", "else", "fi", "if", "while", "until", "!", "time"}
_REDIRECTION = re.compile(r"[<>]+&?")


@dataclass(frozen=True)
class Block:
    """A fenced block."""

    document: Path
    line: int
    """On which its text begins, from 1."""
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.document.name}:{self.line}"


def blocks(language: str, document: Path | None = None) -> list[Block]:
    """All blocks of a language, or those of one document."""
    return [
        Block(path, text.count("\n", 0, found.start()) + 2, found[1], found[2])
        for path in ([document] if document else DOCUMENTS)
        for text in [path.read_text()]
        for found in _BLOCK.finditer(text)
        if found[1] == language
    ]


def scenario(name: str) -> Block | None:
    """The YAML block of the scenario of that name; None if there is none."""
    found = (b for b in blocks("yaml") if re.search(rf"^name: {name}$", b.text, re.MULTILINE))
    return next(found, None)


def inline() -> Iterator[tuple[str, str]]:
    """Where a document has a netkv command within its prose, and the command."""
    for path in DOCUMENTS:
        prose = _BLOCK.sub(lambda found: "\n" * found[0].count("\n"), path.read_text())
        for found in _INLINE.finditer(prose):
            yield f"{path.name}:{prose.count(chr(10), 0, found.start()) + 1}", found[1]


def commands(script: str) -> Iterator[list[str]]:
    """The simple commands of a shell script, as words: comments, redirections, keywords and
    assignments left out.
    """
    words: list[str] = []
    for line in script.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|()<>\n")
        lexer.whitespace_split = True
        lexer.commenters = "#"
        for word in [*lexer, "\n"]:
            if word not in _SEPARATORS:
                words.append(word)
                continue
            if command := _simple(words):
                yield command
            words = []


def _simple(words: list[str]) -> list[str]:
    command: list[str] = []
    rest = iter(words)
    for word in rest:
        if _REDIRECTION.fullmatch(word):
            if command and command[-1].isdigit():
                command.pop()  # 2>
            next(rest, None)
        elif command or not (word in _KEYWORDS or re.match(r"\w+=", word)):
            command.append(word)
    return command
