"""The option that chooses what executes the P4 programs."""

from __future__ import annotations

from typing import Annotated

import typer

from netkv.cli import completion

Target = Annotated[
    str | None,
    typer.Option(
        metavar="engine|bmv2|bmv2://HOST|p4runtime://HOST:PORT",
        help="Switch that executes the P4 programs (default: the scenario's).",
        autocompletion=completion.option("lab.target"),
    ),
]


def target_change(changes: list[str] | None, target: str | None) -> list[str]:
    """The changes of `--set` and `--target`."""
    chosen = [] if target is None else [f"lab.target={target}"]
    return [*(changes or []), *chosen]
