"""Errors of operations. The text of each is a sentence."""

# ruff: noqa: N818 (named for what has happened)

from __future__ import annotations

from netkv.errors import NetkvError


class ClientError(NetkvError):
    """An operation has failed, or there is no rack to carry it out."""


class NotConnected(ClientError):
    """There is no lab to connect to, no place in it, or the client was closed."""


class OperationTimeout(ClientError, TimeoutError):
    """A part of the operation was not answered in time. A write may still take effect."""

    def __init__(self, text: str, missing: str) -> None:
        super().__init__(text)
        self.missing = missing
        """The unanswered part, as text."""


class OutcomeUnknown(ClientError):
    """The switch failed during a write, whose effect is unknown: read the key to find out."""


class Rejected(ClientError):
    """The operation cannot be done, and nothing has changed."""
