"""Finds and runs the code blocks of the documents, and finds the netkv commands in them."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.waiting import PATIENCE_S

ROOT = Path(__file__).parents[2]
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").rglob("*.md")),
]

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
    """The number of the first line of its text, from 1."""
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


def run_python(
    program: str,
    *arguments: str,
    python: Path | str = sys.executable,
    options: Sequence[str] = (),
) -> str:
    """Runs a Python program, which must end with status 0; returns its stdout."""
    done = subprocess.run(
        [str(python), *options, "-c", program, *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def inline() -> Iterator[tuple[str, str]]:
    """The netkv commands in the prose of documents: place and command."""
    for path in DOCUMENTS:
        prose = _BLOCK.sub(lambda found: "\n" * found[0].count("\n"), path.read_text())
        for found in _INLINE.finditer(prose):
            yield f"{path.name}:{prose.count(chr(10), 0, found.start()) + 1}", found[1]


def commands(script: str) -> Iterator[list[str]]:
    """The simple commands of a shell script, as words.

    Comments, redirections, keywords and assignments are left out.
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
