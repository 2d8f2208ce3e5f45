"""The cache of built designs: `$NETKV_FPGA_CACHE/HASH/design.so`; by default it is in the state
directory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from netkv import rtl_sources as sources
from netkv.home import home

LIBRARY = "design.so"
FOLDER = "NETKV_FPGA_CACHE"
"""Environment variable: the folder, so that several state directories can share builds."""
QUICK = "NETKV_FPGA_QUICK"
"""Environment variable: with 1, designs are compiled once, without counts. They are built in half
the time and run 10% to 20% slower."""
_SETTINGS = (QUICK, "CXX", "VERILATOR_ROOT")
"""Environment variables of which the hash of a library depends."""


def folder() -> Path:
    """The folder of all built designs."""
    configured = os.environ.get(FOLDER)
    return Path(configured).absolute() if configured else home() / "cache" / "fpga"


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
