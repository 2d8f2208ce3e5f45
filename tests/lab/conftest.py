"""Gives every test its own state directory and checks that the test leaves no process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from netkv.live import state
from tests.lab.leftovers import processes_of
from tests.waiting import until


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty NETKV_HOME. After the test no lab and no process of it may exist."""
    directory = tmp_path / "home"
    monkeypatch.setenv("NETKV_HOME", str(directory))
    yield directory
    assert state.names() == []
    until(lambda: not processes_of(directory), "no process of the test runs")
