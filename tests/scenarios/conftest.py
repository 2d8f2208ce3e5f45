"""Scenario tests use a state directory of their own."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh NETKV_HOME."""
    place = tmp_path / "home"
    monkeypatch.setenv("NETKV_HOME", str(place))
    return place
