"""Output of commands: results to stdout, everything else to stderr."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from netkv.cli import visible

if TYPE_CHECKING:
    from rich.console import Console

    from netkv.scenarios.results import ScenarioResult

Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else there.")
]
"""The option that every command with a result has."""

_WIDE = 200
"""Columns of a table that goes into a file or pipe."""


def stdout() -> Console:
    """The console for results."""
    from netkv.cli.console import VisibleConsole

    return VisibleConsole(width=_width(sys.stdout.isatty()))


def stderr() -> Console:
    """The console for logs, progress and errors."""
    from netkv.cli.console import VisibleConsole

    return VisibleConsole(stderr=True, width=_width(sys.stderr.isatty()))


def print_json(document: Any) -> None:
    """Prints the document of `--json`."""
    sys.stdout.write(visible.document(document) + "\n")
    sys.stdout.flush()


def print_result(result: ScenarioResult) -> None:
    """Prints the result of a scenario as JSON, one run after the other: all documents of a large
    sweep take much memory."""
    whole = result.model_copy(update={"runs": []}).model_dump(mode="json")
    head, place, tail = visible.document(whole).partition('\n  "runs": [],\n')
    assert place, "it has this field, and further ones"
    sys.stdout.write(f'{head}\n  "runs": [')
    for number, run in enumerate(result.runs):
        text = visible.document(run.model_dump(mode="json")).replace("\n", "\n    ")
        sys.stdout.write(f"{',' if number else ''}\n    {text}")
    end = "\n  ]" if len(result.runs) else "]"
    sys.stdout.write(f"{end},\n{tail}\n")
    sys.stdout.flush()


def write(text: str, end: str = "\n") -> None:
    """Prints text on stdout as it is, but so that a terminal does not execute it."""
    sys.stdout.write((visible.visible(text) if sys.stdout.isatty() else text) + end)


def notify(text: str) -> None:
    """Prints a line on stderr, so that scripts that read stdout do not get it."""
    stderr().print(text, markup=False, highlight=False, soft_wrap=True)


def _width(terminal: bool) -> int | None:
    return None if terminal or "COLUMNS" in os.environ else _WIDE
