"""Fixtures for tests that bring labs up in a state directory of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from netkv.labs import daemon
from netkv.live import state
from netkv.model.spec import WorkloadSpec
from netkv.schemes.spec import LabSpec, RackSpec

BringUp = Callable[..., None]
"""Brings a lab up. Arguments: scheme, name (`lab` by default), options of `LabSpec`."""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty state directory, in NETKV_HOME. After the test its labs are taken down."""
    directory = tmp_path / "home"
    monkeypatch.setenv("NETKV_HOME", str(directory))
    yield directory
    for name in state.names():
        daemon.down(name)


@pytest.fixture
def bring_up(home: Path) -> BringUp:
    """Brings up labs of four servers with a small cache."""
    assert not home.exists()
    return small_lab


def small_lab(scheme: str, name: str = "lab", **lab: object) -> None:
    """Brings a lab of four servers with a small cache up."""
    caches = {"cache_entries": 32, "hot_threshold": 2, "sample_rate": 1.0}
    fields = {"servers": 4, "server_processes": 2, **caches, **lab}
    spec = RackSpec(
        scheme=scheme,
        lab=LabSpec.model_validate(fields),
        workload=WorkloadSpec(keys=1000),
    )
    daemon.up(name, spec)
