"""The run store of the tests, in a SQLite file and on a PostgreSQL server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from netkv.runs import Store
from tests.runs.postgresql import database, postgresql, server_url
from tests.runs.sqlite import file_url

__all__ = ["database", "file_url", "postgresql", "server_url"]


@pytest.fixture(params=["file_url", "server_url"])
def url(request: pytest.FixtureRequest) -> str:
    """The URL of a store that is not there yet, of each kind."""
    found: str = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    """An empty store of each kind."""
    with Store(url) as opened:
        yield opened
