"""`netkv node`: stop, kill and start the nodes of a lab that is up."""

from __future__ import annotations

from typing import Annotated

import typer

from netkv.cli import completion
from netkv.cli.output import Json, notify, print_json

app = typer.Typer(help="Stop, kill and start nodes of a lab that is up.", no_args_is_help=True)

Node = Annotated[
    str,
    typer.Argument(
        help="switch, servers-0, ..., client, controller, redis-0, ...",
        autocompletion=completion.nodes,
    ),
]
Lab = Annotated[str | None, typer.Option(help="Name of the lab.", autocompletion=completion.labs)]


@app.command()
def stop(node: Node, lab: Lab = None, json: Json = False) -> None:
    """Stop a node by an orderly shutdown."""
    _do("stop-node", node, lab, json, "is stopped")


@app.command()
def kill(node: Node, lab: Lab = None, json: Json = False) -> None:
    """Kill a node (SIGKILL), as a crash would."""
    _do("kill", node, lab, json, "is killed")


@app.command()
def start(node: Node, lab: Lab = None, json: Json = False) -> None:
    """Start a node that was stopped or killed or has failed, with its old addresses."""
    _do("start", node, lab, json, "is up again")


def _do(what: str, node: str, lab: str | None, json: bool, done: str) -> None:
    from netkv.labs import daemon

    name = lab or daemon.DEFAULT_LAB
    daemon.status(name)
    daemon.request(name, {"do": what, "node": node})
    if json:
        print_json({"lab": name, "node": node, "state": daemon.status(name).state})
    else:
        notify(f"'{node}' {done}.")
