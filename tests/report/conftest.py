"""Makes the recorded runs known to the tests of figures."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "runs")]

from netkv.runs import Store  # noqa: E402  # like the imports of the other conftests


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(f"sqlite:///{tmp_path / 'runs.db'}") as opened:
        yield opened
