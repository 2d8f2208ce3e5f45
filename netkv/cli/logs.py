"""`netkv logs`: logs of the nodes of a lab.

Lines of the supervisor begin with the time in seconds since the epoch. The output has it as local
time (ISO 8601), and with `--json` as the number.
"""

from __future__ import annotations

import re
import time
from collections import deque
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from netkv.cli import completion
from netkv.cli.output import Json, print_json

_FOLLOW_SECONDS = 0.2
_TIME = re.compile(r"(\d{9,11}\.\d{3}) ")


@dataclass(frozen=True)
class _Line:
    """A line of a log."""

    time: float | None
    """Seconds since the epoch; None if the line does not begin with them."""
    text: str
    """The rest."""

    @classmethod
    def read(cls, line: bytes) -> _Line:
        text = line.decode(errors="replace").rstrip()
        if (head := _TIME.match(text)) is None:
            return cls(None, text)
        return cls(float(head[1]), text[head.end() :])

    def __str__(self) -> str:
        if self.time is None:
            return self.text
        local = datetime.fromtimestamp(self.time).astimezone()
        return f"{local.isoformat(timespec='milliseconds')} {self.text}"

    def to_json(self, node: str) -> dict[str, Any]:
        return {"node": node, "time": self.time, "text": self.text}


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
    from netkv.lab import daemon

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
    tails = {which: _tail(file, lines) for which, file in files.items()}
    if json:
        found = [line.to_json(which) for which, (tail, _) in tails.items() for line in tail]
        print_json({"lab": name, "lines": found})
        return
    width = max(map(len, files), default=0)
    for which, (tail, _) in tails.items():
        _print(which, tail, width)
    offsets = {which: offset for which, (_, offset) in tails.items()}
    while follow:
        time.sleep(_FOLLOW_SECONDS)
        for which, file in files.items():
            news, offsets[which] = _news(file, offsets[which])
            _print(which, news, width)


def _tail(file: Path, lines: int) -> tuple[list[_Line], int]:
    """The last lines of a log, and where it ends."""
    with file.open("rb") as log:
        last = deque(log, maxlen=lines)
        return [_Line.read(line) for line in last], log.tell()


def _news(file: Path, offset: int) -> tuple[list[_Line], int]:
    """The complete lines after an offset, and where they end; exits if the log no longer exists."""
    found: list[_Line] = []
    try:
        with file.open("rb") as log:
            log.seek(offset)
            for line in log:
                if not line.endswith(b"\n"):
                    break
                found.append(_Line.read(line))
                offset += len(line)
    except FileNotFoundError:
        raise typer.Exit(0) from None
    return found, offset


def _print(node: str, lines: list[_Line], width: int) -> None:
    for line in lines:
        print(f"{node:<{width}} | {line}", flush=True)
