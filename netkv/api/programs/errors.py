"""The error of a request about a program."""

from __future__ import annotations

from netkv.errors import UsageError


class InputError(UsageError):
    """A field of the request is wrong; `field` is its path in the body."""

    def __init__(self, text: str, field: str) -> None:
        super().__init__(text)
        self.field = field
