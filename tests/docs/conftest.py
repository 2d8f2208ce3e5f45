"""Makes the fixture of `tests.p4rt.shell` known to the tests of documents."""

from tests.p4rt.shell import shell_python

__all__ = ["shell_python"]
