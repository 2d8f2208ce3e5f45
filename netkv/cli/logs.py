"""`netkv logs`: logs of the nodes of a lab.

The output has times as local times (ISO 8601), and with `--json` as seconds since the epoch.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from netkv.cli import completion
from netkv.cli.output import Json, print_json
from netkv.cli.visible import visible
from netkv.live.log_file import Line, tail

_FOLLOW_SECONDS = 0.2


def logs(
    lab: Annotated[
        str | None,
        typer.Argument(metavar="[LAB]", help="Name of the lab.", autocompletion=completion.labs),
    ] = None,
    node: Annotated[
        str | None,
        typer.Option(
            help="Only the log of this node, e.g. switch or servers-0.",
            autocompletion=completion.logs,
        ),
    ] = None,
    lines: Annotated[
        int, typer.Option("--lines", "-n", min=0, help="Lines from the end of each log.")
    ] = 40,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Print new lines until Ctrl-C.")
    ] = False,
    json: Json = False,
) -> None:
    """Show the logs of a lab. Times are local; with --json seconds since the epoch."""
    from netkv.errors import UsageError, suggest
    from netkv.labs import daemon

    if json and follow:
        raise UsageError("--json prints one document, so it cannot be combined with --follow.")
    name = lab or daemon.DEFAULT_LAB
    files = daemon.logs(name)
    if node is not None:
        if node not in files:
            raise UsageError(
                f"There is no log of '{node}'.\n  {suggest(node, files, label='Nodes')}"
            )
        files = {node: files[node]}
    tails = {which: tail(file, lines) for which, file in files.items()}
    if json:
        found = [line.to_json(which) for which, its in tails.items() for line in its.lines]
        print_json({"lab": name, "lines": found})
        return
    width = max(map(len, files), default=0)
    for which, its in tails.items():
        _print(which, its.lines, width)
    offsets = {which: its.end for which, its in tails.items()}
    while follow:
        time.sleep(_FOLLOW_SECONDS)
        for which, file in files.items():
            news, offsets[which] = _news(file, offsets[which])
            _print(which, news, width)


def _news(file: Path, offset: int) -> tuple[list[Line], int]:
    """The complete lines after an offset, and where they end; exits if the log no longer exists."""
    found: list[Line] = []
    try:
        with file.open("rb") as log:
            log.seek(offset)
            for line in log:
                if not line.endswith(b"\n"):
                    break
                found.append(Line.read(line))
                offset += len(line)
    except FileNotFoundError:
        raise typer.Exit(0) from None
    return found, offset


def _print(node: str, lines: list[Line], width: int) -> None:
    for line in lines:
        # Programs write into logs, too (log_msg, messages of clients).
        print(f"{node:<{width}} | {visible(str(line))}", flush=True)
