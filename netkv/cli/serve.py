"""`netkv serve`: the API and the dashboard; `netkv token`: the token for other machines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from netkv.cli.output import Json, notify, print_json


def serve(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8400,
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Address of this machine to listen on; 0.0.0.0: all. Other addresses than "
            "loopback need the token ('netkv token').",
        ),
    ] = "127.0.0.1",
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Another name of this machine in URLs; repeatable. Not loopback."
        ),
    ] = None,
    require_token: Annotated[
        bool,
        typer.Option(
            "--require-token",
            help="Require the token on a loopback address, too: for machines with several users.",
        ),
    ] = False,
    tls_cert: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Certificate for HTTPS, PEM.")
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Key of the certificate, PEM.")
    ] = None,
    browser: Annotated[
        bool, typer.Option("--open", help="Open the dashboard in the browser.")
    ] = False,
) -> None:
    """Serve the dashboard and its API until Ctrl-C, by default on 127.0.0.1."""
    from netkv.api.server import run

    run(
        port,
        browser,
        host=host,
        allowed=allow_host or (),
        guarded=require_token,
        cert=tls_cert,
        key=tls_key,
    )


def token(
    new: Annotated[
        bool, typer.Option("--new", help="Replace the token; the old one is refused at once.")
    ] = False,
    json: Json = False,
) -> None:
    """Print the token of 'netkv serve --host', which is made on first use."""
    from netkv.api import token as tokens

    found = tokens.make(replace=new)
    if json:
        print_json({"token": found, "file": str(tokens.file())})
        return
    print(found)
    notify(f"It is in {tokens.file()}, which only you can read. The dashboard asks for it once.")
