"""Every test gets a state directory of its own and leaves no process behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from leftovers import processes_of

from netkv.lab import state


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A fresh NETKV_HOME; afterwards nothing of this test may be running."""
    place = tmp_path / "home"
    monkeypatch.setenv("NETKV_HOME", str(place))
    yield place
    assert state.names() == []
    assert processes_of(place) == []
