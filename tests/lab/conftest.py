"""Every test gets a state directory of its own and leaves no process behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from netkv.lab import state
from tests.lab.leftovers import processes_of
from tests.waiting import until


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A fresh NETKV_HOME; afterwards nothing of this test may be running."""
    place = tmp_path / "home"
    monkeypatch.setenv("NETKV_HOME", str(place))
    yield place
    assert state.names() == []
    until(lambda: not processes_of(place), "no process of the test runs")
