"""`netkv p4 bench`: packets per second of the data plane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from netkv.cli import completion
from netkv.cli.output import Json, notify, print_json, stdout
from netkv.cli.plotting import Plots, destinations, write

if TYPE_CHECKING:
    from netkv.bench.data_plane import Sweep

Sweeps = Literal["entries", "value-size", "key-width", "all", "none"]


def bench(
    programs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PROGRAM...]",
            help="Names or files; default: all that ship.",
            autocompletion=completion.benchmarked,
        ),
    ] = None,
    path: Annotated[str | None, typer.Option(help="Only this path, e.g. read-hit.")] = None,
    seconds: Annotated[
        float, typer.Option(min=0.001, max=600, help="Seconds for each executor and path.")
    ] = 0.5,
    sweep: Annotated[
        Sweeps, typer.Option(help="Sizes of the yardstick's read hit to vary.")
    ] = "all",
    plot: Plots = None,
    json: Json = False,
) -> None:
    """Measure packets per second on one core: interpreter, compiled code, and Rust by hand."""
    from netkv.bench import data_plane
    from netkv.cli.progress import steps

    to = destinations(plot)
    varied: tuple[Sweep, ...]
    if sweep == "all":
        varied = tuple(data_plane.SWEEPS)
    elif sweep == "none":
        varied = ()
    else:
        varied = (sweep,)
    planned = data_plane.plan(data_plane.programs(programs or []), path, varied, seconds)
    for program in planned.programs:
        if not program.paths:
            notify(f"{program.name}: only loading is timed; the benchmark has no packets for it.")
    with steps() as progress:
        found = data_plane.run(planned, progress)
    from netkv.report import data_plane as report

    if json:
        print_json(found.to_json())
    else:
        for table in report.tables(found):
            stdout().print(table)
        stdout().print(report.BMV2, style="dim", soft_wrap=True)
    write(to, report.figures(found), lambda: report.render(found))
