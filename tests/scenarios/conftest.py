"""Fixtures of the tests of scenarios: a state directory and a run store."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runs.sqlite import file_url, store

__all__ = ["file_url", "store"]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh NETKV_HOME."""
    place = tmp_path / "home"
    monkeypatch.setenv("NETKV_HOME", str(place))
    return place
