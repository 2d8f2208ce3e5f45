"""`netkv bench`: the speed of netkv and of alternatives on this machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer

from netkv.cli import bench_all
from netkv.cli.groups import Commands, Group, built

_GROUP = "bench "


def function(name: str) -> Callable[..., None]:
    """The function of the command of a benchmark, below `netkv`, or of all of them, `bench`."""
    from netkv.bench import catalogue
    from netkv.cli.benchmark import command

    return bench_all.every if name == "bench" else command(catalogue.get(name))


def _names() -> list[str]:
    from netkv.bench import catalogue

    names = (each.name for each in catalogue.all_benchmarks())
    return [name.removeprefix(_GROUP) for name in names if name.startswith(_GROUP)]


class _Benchmarks(Group):
    """The commands of the benchmarks, which are loaded when one is used or all are listed."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = Commands(  # type: ignore[assignment]  # read only
            _names, lambda name: built(name, function(f"{_GROUP}{name}"))
        )


app = typer.Typer(cls=_Benchmarks)
app.callback(invoke_without_command=True)(bench_all.every)
