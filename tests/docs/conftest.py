"""Fixtures that the tests of documents share with others."""

from tests.p4rt.shell import shell_python

__all__ = ["shell_python"]
