"""The command, its state directory, and a scenario of twelve short runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import home, netkv
from tests.executors.clusters import SCENARIO

__all__ = ["home", "netkv"]


@pytest.fixture
def many(tmp_path: Path) -> Path:
    file = tmp_path / "many.yaml"
    file.write_text(SCENARIO, encoding="utf-8")
    return file
