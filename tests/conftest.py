"""What all tests share: which of them are live."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

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
    """Workers of pytest-xdist are told a width of 80 columns, in which tables are cut."""
    os.environ.pop("COLUMNS", None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of live racks, by their folder."""
    for item in items:
        if item.path.relative_to(TESTS).parts[0] in LIVE_FOLDERS:
            item.add_marker(pytest.mark.live)
