"""Fixtures for tests of the gateway: a gateway of a lab for all tests of a module, and labs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from netkv.labs import daemon
from tests.gateway.serving_redis import Running, gateway
from tests.labs import bring_up, home, small_lab

__all__ = ["bring_up", "home", "served"]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A gateway with MSET, in front of a lab without a cache that all tests of the module share."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NETKV_HOME", str(tmp_path_factory.mktemp("netkv") / "home"))
        small_lab("nocache")
        try:
            with gateway("--timeout", "10", "--mset", "separate") as running:
                yield running
        finally:
            daemon.down("lab")
