"""The page of the command line, which typer writes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer.main
from typer.cli import get_docs_for_click

from netkv.cli.app import app
from tests.docs_site.links import anchor, outside_of_blocks
from tests.docs_site.markdown import escaped

_COMMAND = re.compile(r"\* `([\w-]+)`(?:: |$)")
_HEADING = re.compile(r"#+ `([\w -]+)`$")


def markdown() -> str:
    """Every command with its arguments and options."""
    command = typer.main.get_command(app)
    context: Any = command.make_context("netkv", [], resilient_parsing=True)
    text = get_docs_for_click(obj=command, ctx=context, name="netkv", title="The command line")
    # Deeper headings would not be in the table of contents.
    text = re.sub(r"^#{3,} ", "### ", text, flags=re.MULTILINE)
    return outside_of_blocks("\n".join(_linked(text.splitlines())) + "\n", escaped)


def _linked(lines: list[str]) -> Iterator[str]:
    """Lists of commands with links instead of beginnings of sentences."""
    command, within = "netkv", False
    for line in lines:
        if heading := _HEADING.match(line):
            command = heading[1]
        if line.startswith("**"):
            within = line == "**Commands**:"
        if within and (found := _COMMAND.match(line)):
            name = f"{command} {found[1]}"
            yield f"* [`{name}`](#{anchor(name)})"
        else:
            yield line
