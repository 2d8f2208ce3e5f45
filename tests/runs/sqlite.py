"""A run store in a SQLite file, for tests; those of figures and scenarios use it, too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from netkv.runs import Store


@pytest.fixture
def file_url(tmp_path: Path) -> str:
    """The URL of a store that is not there yet, in a folder that is not there either."""
    return f"sqlite:///{tmp_path / 'state' / 'runs.db'}"


@pytest.fixture
def store(file_url: str) -> Iterator[Store]:
    """An empty store."""
    with Store(file_url) as opened:
        yield opened
