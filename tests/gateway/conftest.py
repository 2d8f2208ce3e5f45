"""A gateway over a rack in memory."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from serving_redis import Served, serving  # found by the line above


@pytest.fixture
def served() -> Iterator[Served]:
    with serving() as found:
        yield found
