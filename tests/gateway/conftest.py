"""A gateway over a rack in memory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.gateway.serving_redis import Served, serving


@pytest.fixture
def served() -> Iterator[Served]:
    with serving() as found:
        yield found
