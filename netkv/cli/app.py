"""The command-line application with all commands.

Command modules import what they need only when they run, so that `--help` is fast.
"""

from __future__ import annotations

from typing import Annotated

import typer

from netkv.cli import (
    bench,
    calibrate,
    evaluate,
    fpga,
    gateway,
    lab,
    logs,
    node,
    p4,
    p4_fuzz,
    runs,
    scenario,
    scheme,
    serve,
    soak,
    switch,
)

app = typer.Typer(
    name="netkv",
    help="A testbed for in-network acceleration of key-value stores.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        from netkv import __version__

        print(f"netkv {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """A testbed for in-network acceleration of key-value stores."""


app.add_typer(scenario.app, name="scenario")
app.add_typer(scheme.app, name="scheme")
app.add_typer(runs.app, name="runs")
p4.app.command("fuzz")(p4_fuzz.fuzz)
p4.app.command("record")(p4_fuzz.record)
app.add_typer(p4.app, name="p4")
app.add_typer(switch.app, name="switch")
app.add_typer(fpga.app, name="fpga")
app.add_typer(bench.app, name="bench")
app.command("evaluate")(evaluate.evaluate)
app.command("soak")(soak.soak)
app.command("calibrate")(calibrate.calibrate)
app.command("serve")(serve.serve)
app.command("gateway")(gateway.gateway)
app.command("up")(lab.up)
app.command("down")(lab.down)
app.command("status")(lab.status)
app.command("logs")(logs.logs)
app.add_typer(node.app, name="node")
app.command("doctor")(lab.doctor)
