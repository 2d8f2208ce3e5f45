"""The run store of the tests; those of figures and scenarios use it, too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from netkv.runs import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(f"sqlite:///{tmp_path / 'runs.db'}") as opened:
        yield opened
