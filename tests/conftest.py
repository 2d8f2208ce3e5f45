"""Marks the tests of folders that start processes with `live`."""

from __future__ import annotations

import gc
import os
import signal
from pathlib import Path

import pytest

from netkv import library_cache

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
    designs quickly, since most run for seconds, and once for all state directories of tests. Do not
    ignore SIGINT, as a process in the background of a shell does: processes that tests start would
    inherit that, and not be stopped by it before they have a handler."""
    os.environ.pop("COLUMNS", None)
    os.environ[library_cache.QUICK] = "1"
    os.environ[library_cache.FOLDER] = str(TESTS.parent / ".cache" / "fpga" / "designs")
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Leave out of each garbage collection what lives as long as the process: the modules of all
    tests are millions of objects. Tests that run pytest again collect twice each time, and took
    four times as long (tests/comparisons)."""
    if not gc.get_freeze_count():
        gc.collect()
        gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of live racks, by their folder. Files with slow tests come first, so that no
    process is left with one at the end."""
    for item in items:
        if item.path.relative_to(TESTS).parts[0] in LIVE_FOLDERS:
            item.add_marker(pytest.mark.live)
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.fixture
def nothing_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache of designs is empty."""
    monkeypatch.setenv(library_cache.FOLDER, str(tmp_path / "designs"))
