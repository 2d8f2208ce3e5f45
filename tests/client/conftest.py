"""Labs that are up, in a state directory of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from netkv.lab import daemon, state
from netkv.lab.spec import LabSpec, RackSpec, WorkloadSpec

BringUp = Callable[..., None]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A fresh NETKV_HOME; its labs are taken down."""
    place = tmp_path / "home"
    monkeypatch.setenv("NETKV_HOME", str(place))
    yield place
    for name in state.names():
        daemon.down(name)


@pytest.fixture
def bring_up(home: Path) -> BringUp:
    """Brings a lab up: scheme, and options of `LabSpec`."""
    assert not home.exists()

    def up(scheme: str, name: str = "lab", **lab: object) -> None:
        caches = {"cache_entries": 32, "hot_threshold": 2, "sample_rate": 1.0}
        fields = {"servers": 4, "server_processes": 2, **caches, **lab}
        spec = RackSpec(
            scheme=scheme,
            lab=LabSpec.model_validate(fields),
            workload=WorkloadSpec(keys=1000),
        )
        daemon.up(name, spec)

    return up
