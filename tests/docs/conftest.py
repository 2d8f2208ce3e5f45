"""Makes fixtures of other folders known to the tests of documents."""

from tests.p4rt.shell import shell_python
from tests.runs.postgresql import database, postgresql

__all__ = ["database", "postgresql", "shell_python"]
