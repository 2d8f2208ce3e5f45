"""LaKe in virtual time, with the mutants of its RTL."""

from __future__ import annotations

from pathlib import Path

import pytest

from netkv.fpga import build
from netkv.schemes.lake import mutants
from tests.schemes.lake.lake import Lab, Lake


@pytest.fixture(scope="session")
def lake_library() -> Path:
    """LaKe with its mutants, of which none is chosen."""
    return build.build(mutants.design()).path


@pytest.fixture
def lab(lake_library: Path) -> Lab:
    """LaKe between clients and a model of memcached."""
    return Lab(Lake(lake_library))
