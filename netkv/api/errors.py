"""Errors of requests; `problems` makes their answers.

They are apart from the answers, since the processes that compile programs raise them as well, and
need no web framework.
"""

from __future__ import annotations

from netkv.errors import NetkvError, UsageError


class ConflictError(NetkvError):
    """The state of the server does not permit the request."""


class NotFoundError(NetkvError):
    """The requested object does not exist."""


class LimitError(NetkvError):
    """The request exceeds a limit of the server; it can be repeated later."""


class RequestFieldError(UsageError):
    """A field of the request is wrong; `field` is its path in the body, or a parameter."""

    def __init__(self, text: str, field: str) -> None:
        super().__init__(text)
        self.field = field
