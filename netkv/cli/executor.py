"""The option that chooses how the engine runs P4 programs."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from netkv.cli import completion

EngineExecutor = Literal["compiled", "interpreter"]
"""`netkv.model.hardware.Executor`, which takes long to import."""

Executor = Annotated[
    str | None,
    typer.Option(
        "--executor",
        metavar="compiled|interpreter",
        help="How the engine runs P4 programs (default: compiled).",
        autocompletion=completion.option("lab.executor"),
    ),
]


def executor_change(changes: list[str] | None, executor: str | None) -> list[str]:
    """The changes of `--set` and `--executor`."""
    chosen = [] if executor is None else [f"lab.executor={executor}"]
    return [*(changes or []), *chosen]
