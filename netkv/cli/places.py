"""`--on`: where units (simulated runs, cases of a soak, batches of packets) are executed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from netkv.cli.output import notify

if TYPE_CHECKING:
    from netkv.executors.executor import Executor

On = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="PLACE",
        help="Execute units there: local:N, dask://HOST:PORT, ssh:FILE, "
        "slurm[:PARTITION][?tasks=N]. [default: $NETKV_ON, or processes of this machine]",
    ),
]


def chosen(
    on: str | None, jobs: int | None, *, instead: str = "--jobs", here: bool = False
) -> str | None:
    """The place of `--on`, or of `$NETKV_ON`, unless that does not apply.

    `instead`: the command's name of `--jobs`. `here`: only this machine can do it, as a live run.
    Raises `UsageError` for `--on` with `--jobs`.
    """
    from netkv.errors import UsageError

    if on is None:
        return None if here or jobs is not None else os.environ.get("NETKV_ON") or None
    if jobs is not None:
        raise UsageError(
            f"'{instead}' is for processes of this machine, and '--on' has workers of its own: "
            f"give one of them."
        )
    return on


@contextmanager
def opened(place: str | None) -> Iterator[Executor | None]:
    """The executor of a place; None for none. Its workers are told of, and ended at the end."""
    if place is None:
        yield None
        return
    from netkv.executors import places

    with places.opened(place, notify) as found:
        link = "" if found.link is None else f"; Dask's page about it is {found.link}"
        notify(f"On {found.name}, {_units(found.width)} at a time{link}.")
        yield found


def _units(width: int) -> str:
    return f"{width:,} unit" + "s" * (width != 1)
