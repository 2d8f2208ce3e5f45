"""LaKe in virtual time, with the mutants of its RTL."""

from __future__ import annotations

from pathlib import Path

import pytest

from netkv.fpga import build
from netkv.schemes.lake import mutants
from tests.fpga.bench import CACHE
from tests.schemes.lake.lake import Lab, Lake


@pytest.fixture(scope="session")
def lake_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """LaKe with its mutants, of which none is chosen."""
    place = tmp_path_factory.mktemp("home")
    CACHE.mkdir(parents=True, exist_ok=True)
    (place / "cache").symlink_to(CACHE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NETKV_HOME", str(place))
        return build.build(mutants.design()).path


@pytest.fixture
def lab(lake_library: Path) -> Lab:
    """LaKe between clients and a model of memcached."""
    return Lab(Lake(lake_library))
