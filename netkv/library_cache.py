"""The cache of built designs, in the state directory: `$NETKV_HOME/cache/fpga/HASH/design.so`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from netkv import rtl_sources as sources
from netkv.home import home

LIBRARY = "design.so"
QUICK = "NETKV_FPGA_QUICK"
"""Environment variable: with 1, designs are compiled once, without counts. They are built in half
the time and run 10% to 20% slower."""
_SETTINGS = (QUICK, "CXX", "VERILATOR_ROOT")
"""Environment variables of which the hash of a library depends."""


def folder() -> Path:
    """The folder of all built designs."""
    return home() / "cache" / "fpga"


def basis() -> list[Any]:
    """What decides which designs are built: it is other than before if one of them may be, or may
    not be any more."""
    built = sorted(file.parent.name for file in folder().glob(f"*/{LIBRARY}"))
    files = [
        (str(file), file.stat().st_mtime_ns)
        for file in sorted(sources.folder().rglob("*"))
        if file.is_file()
    ]
    return [built, files, [os.environ.get(name) for name in _SETTINGS]]
