"""The command netkv on the hosts of a test, and the processes that came of it."""

from __future__ import annotations

import shlex
import sys
from contextlib import suppress
from pathlib import Path

from tests.cli.commands import ROOT

_MARK = "NETKV_OF_TEST"


def write(folder: Path, **environment: str) -> str:
    """Writes the command into a folder of the test; returns its path."""
    file = folder / "netkv"
    set_ = " ".join(
        f"{name}={shlex.quote(value)}"
        for name, value in {_MARK: str(folder), **environment}.items()
    )
    file.write_text(
        f"#!/bin/sh\ncd {shlex.quote(str(ROOT))}\n"
        f'{set_} exec {shlex.quote(sys.executable)} -m netkv "$@"\n'
    )
    file.chmod(0o755)
    return str(file)


def processes(folder: Path, *words: str) -> list[int]:
    """The pids of the processes of the command in a folder whose command lines have these words."""
    mark, wanted = f"{_MARK}={folder}".encode(), {word.encode() for word in words}
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            has = set((each / "cmdline").read_bytes().split(b"\0"))
            if wanted <= has and mark in (each / "environ").read_bytes().split(b"\0"):
                found.append(int(each.name))
    return found
