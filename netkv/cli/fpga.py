"""`netkv fpga`: designs for FPGAs, simulated cycle by cycle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from netkv.cli import completion
from netkv.cli.output import Json, notify, print_json, stdout

if TYPE_CHECKING:
    from netkv.fpga.build import Library
    from netkv.fpga.manifest import Manifest

app = typer.Typer(help="Build, run and measure designs for FPGAs.", no_args_is_help=True)

Design = Annotated[
    str,
    typer.Argument(
        metavar="DESIGN",
        help="Name of a design, or the path of a manifest (.toml).",
        autocompletion=completion.designs,
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Change a parameter, clock_mhz or word_bytes. Repeatable.",
    ),
]


@app.command("list")
def list_designs(json: Json = False) -> None:
    """List the designs."""
    from netkv.fpga import build, manifest
    from netkv.fpga.tools import MissingToolError

    designs = [manifest.load(file) for file in manifest.files().values()]
    problem = None
    try:
        built = build.built(designs)
    except MissingToolError as error:
        built, problem = {}, str(error)
    if json:
        found = [
            {
                "name": each.name,
                "title": each.title,
                "top": each.top,
                "clock_mhz": each.clock_mhz,
                "ports": len(each.ports),
                "built": built.get(each.name, False),
            }
            for each in designs
        ]
        print_json({"designs": found, "problem": problem})
        return
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("name", style="bold", no_wrap=True)
    for heading in ("title", "clock", "ports", "built"):
        table.add_column(heading)
    for each in designs:
        table.add_row(
            each.name,
            each.title,
            f"{each.clock_mhz:g} MHz",
            str(len(each.ports)),
            "yes" if built.get(each.name) else "no",
        )
    stdout().print(table)
    if problem is not None:
        notify(problem)


@app.command()
def info(design: Design, change: Set = None, json: Json = False) -> None:
    """Show a design: parameters, ports, memories, registers, expected resources."""
    manifest = _manifest(design, change)
    if json:
        print_json({**manifest.model_dump(mode="json"), "parameters": manifest.module_parameters})
        return
    from netkv.cli import fpga_text

    fpga_text.show(manifest)


@app.command()
def build(
    design: Design,
    change: Set = None,
    trace: Annotated[
        bool, typer.Option("--trace", help="Build it so that it can record signals.")
    ] = False,
    json: Json = False,
) -> None:
    """Translate a design to C++ and compile it to a shared library; nothing if it is cached."""
    library = built(_manifest(design, change), trace=trace)
    if json:
        print_json(
            {
                "design": library.manifest.name,
                "library": str(library.path),
                "trace": library.trace,
                "cached": library.cached,
                "seconds": library.seconds,
            }
        )
        return
    print(library.path)
    cached = " (cached)" if library.cached else ""
    notify(f"{library.manifest.name}: built in {library.seconds:.1f} s{cached}.")


def built(manifest: Manifest, *, trace: bool = False) -> Library:
    """The library of a design; shows the progress of a build."""
    from netkv.cli.progress import steps
    from netkv.fpga import build

    with steps() as show:
        return build.build(manifest, trace=trace, progress=show)


def _manifest(design: str, change: list[str] | None) -> Manifest:
    from netkv.fpga import manifest

    found = manifest.find(design)
    return manifest.override(found, change) if change else found
