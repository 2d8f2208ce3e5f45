"""`netkv bench`: the speed of netkv and of alternatives on this machine."""

from __future__ import annotations

from collections.abc import Callable

import typer

from netkv.bench import catalogue
from netkv.cli import bench_all
from netkv.cli.benchmark import command

_GROUP = "bench "

app = typer.Typer()
app.callback(invoke_without_command=True)(bench_all.every)
for _benchmark in catalogue.all_benchmarks():
    if _benchmark.name.startswith(_GROUP):
        app.command(_benchmark.name.removeprefix(_GROUP))(command(_benchmark))


def function(name: str) -> Callable[..., None]:
    """The function of the command of a benchmark, below `netkv`, or of all of them, `bench`."""
    return bench_all.every if name == "bench" else command(catalogue.get(name))
