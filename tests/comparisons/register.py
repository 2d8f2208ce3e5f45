"""The comparisons of P4 programs and control planes (`comparisons.toml`), each with a mutant."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from netkv.schemes.edits import Edit

FILE = Path(__file__).with_name("comparisons.toml")


@dataclass(frozen=True)
class Comparison:
    """A comparison of an id, a version, a generation or the like."""

    scheme: str
    """Or `control`, for what all control planes share."""
    rule: str
    """What it decides, as a clause without a full stop."""
    file: str
    right: str
    """The comparison as it ships."""
    wrong: str
    """What stands there in the mutant."""
    test: str = ""
    """The node of pytest that fails with the mutant; empty if no user observes it."""
    reason: str = ""
    """Why no user observes the mutant, as a sentence; empty if there is a test."""

    @property
    def edit(self) -> Edit:
        """Its mutant."""
        return Edit(self.rule, self.rule, self.file, self.right, self.wrong)


def comparisons() -> list[Comparison]:
    """All of them, in the order of the file."""
    return [Comparison(**each) for each in tomllib.loads(FILE.read_text())["comparison"]]


def table() -> str:
    """The Markdown of all comparisons."""
    rows = ["| scheme | comparison | file | fails with its mutant |", "|---|---|---|---|"]
    return "\n".join([*rows, *map(_row, comparisons()), ""])


def _row(it: Comparison) -> str:
    cells = [f"`{it.scheme}`", it.rule, f"`{it.file}`", " ".join(_test(it))]
    return f"| {' | '.join(cells)} |"


def _test(it: Comparison) -> Iterator[str]:
    if it.test:
        name = it.test.rpartition("/")[2].replace(".py::", ": ")
        yield f"`{name}`"
    if it.reason:
        yield it.reason
