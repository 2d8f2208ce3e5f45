"""Fixtures of the tests of figures and tables."""

from tests.runs.conftest import store

__all__ = ["store"]
