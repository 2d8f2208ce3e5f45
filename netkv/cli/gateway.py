"""`netkv gateway`: the Redis protocol in front of a rack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from netkv.cli import completion
from netkv.cli.output import Json, notify, print_json

if TYPE_CHECKING:
    from netkv.gateway.run import Listening


def gateway(
    lab: Annotated[
        str | None,
        typer.Option(
            help="Name or directory of the lab [default: the one that is up].",
            autocompletion=completion.labs,
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Address of this machine to listen at.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen at; 0 takes a free one.")
    ] = 6380,
    timeout: Annotated[
        float,
        typer.Option(min=0.01, max=300, help="Time-out of an operation of the rack (seconds)."),
    ] = 2.0,
    allow_remote: Annotated[
        bool,
        typer.Option("--allow-remote", help="Allow an address that other machines can reach."),
    ] = False,
    mset: Annotated[
        Literal["refuse", "separate"],
        typer.Option(
            help="MSET: refuse it, because it cannot be atomic, or write each key separately."
        ),
    ] = "refuse",
    json: Json = False,
) -> None:
    """Serve a lab that is up to Redis clients, until Ctrl-C or until the lab goes down.

    redis-cli, redis-benchmark and every client library can use it: docs/use/gateway.md.
    """
    from netkv.gateway.run import Options, run

    def listening(info: Listening) -> None:
        if json:
            print_json(
                {
                    "host": info.host,
                    "port": info.port,
                    "lab": info.lab,
                    "scheme": info.scheme,
                }
            )
        if allow_remote:
            notify("Warning: there is no password. Everyone who reaches it can read and write.")
        notify(
            f"The lab '{info.lab}' ({info.scheme}) is served at {info.host}:{info.port}. "
            f"Ctrl-C ends it.\n"
            f"  redis-cli -h {info.host} -p {info.port}"
        )

    run(Options(lab, host, port, timeout, allow_remote, mset == "separate"), listening, notify)
