"""Fixtures for tests of the gateway: a gateway over a rack in memory, and labs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.gateway.serving_redis import Served, serving
from tests.labs import bring_up, home

__all__ = ["bring_up", "home", "served"]


@pytest.fixture
def served() -> Iterator[Served]:
    with serving() as found:
        yield found
