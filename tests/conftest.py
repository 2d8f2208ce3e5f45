"""Marks the tests of folders that start processes with `live`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from netkv.fpga import library_cache

TESTS = Path(__file__).parent

LIVE_FOLDERS = {
    "api",
    "bench",
    "cli",
    "client",
    "gateway",
    "lab",
    "live",
    "packaging",
    "switch",
    "web",
}
"""Their tests start processes, use sockets and run in wall time."""


def pytest_configure() -> None:
    """Unset COLUMNS: pytest-xdist sets it to 80 for its workers, and tables would be cut. Build
    designs quickly: most run for seconds."""
    os.environ.pop("COLUMNS", None)
    os.environ[library_cache.QUICK] = "1"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of live racks, by their folder."""
    for item in items:
        if item.path.relative_to(TESTS).parts[0] in LIVE_FOLDERS:
            item.add_marker(pytest.mark.live)
