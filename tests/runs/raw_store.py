"""A run store beside netkv: SQL on its tables, as other programs may use them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool


def execute(url: str, statement: str, **parameters: Any) -> Sequence[Any]:
    """The rows of a statement, if it has any; what it changes is committed."""
    engine = create_engine(url, poolclass=NullPool)
    with engine.begin() as connection:
        done = connection.execute(text(statement), parameters)
        return done.all() if done.returns_rows else []
