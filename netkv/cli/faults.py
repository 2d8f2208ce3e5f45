"""Error messages on the terminal."""

from __future__ import annotations

import os
import sys
import time
import traceback
from pathlib import Path

from netkv.cli.output import stderr
from netkv.home import home


def report(text: str) -> None:
    """Prints an error that the user can fix: one sentence, no traceback."""
    console = stderr()
    console.print("error: ", style="bold red", end="")
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def report_unexpected(error: Exception) -> None:
    """Prints an internal error of netkv: one sentence, and the file with the traceback."""
    kept = _keep(error)
    what = f"{type(error).__name__}: {error}".splitlines()[0]
    if kept is None:
        traceback.print_exception(error)
        report(f"Internal error of netkv ({what}). Please report it with the lines above.")
    else:
        report(f"Internal error of netkv ({what}). Please report it with the file {kept}.")


def silence_stdout() -> None:
    """Discards buffered output after the reader has closed stdout, so that no flush fails."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _keep(error: Exception) -> Path | None:

    name = f"fault-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"
    file = home() / "logs" / name
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("w", encoding="utf-8") as log:
            log.write(f"netkv {' '.join(sys.argv[1:])}\n")
            traceback.print_exception(error, file=log)
    except OSError:
        return None
    return file
