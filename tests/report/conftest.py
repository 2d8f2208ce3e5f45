"""Fixtures of the tests of figures and tables."""

from tests.runs.sqlite import file_url, store

__all__ = ["file_url", "store"]
