"""Makes the recorded runs known to the tests of figures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from netkv.runs import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(f"sqlite:///{tmp_path / 'runs.db'}") as opened:
        yield opened
