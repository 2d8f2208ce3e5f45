"""`netkv serve`: the API and the dashboard."""

from __future__ import annotations

from typing import Annotated

import typer


def serve(
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0 takes a free one.")
    ] = 8400,
    browser: Annotated[
        bool, typer.Option("--open", help="Open the dashboard in the browser.")
    ] = False,
) -> None:
    """Serve the dashboard and its API on 127.0.0.1, until Ctrl-C."""
    from netkv.api.server import run

    run(port=port, browser=browser)
