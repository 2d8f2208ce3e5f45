"""What can go wrong with an operation. Each is a sentence."""

# ruff: noqa: N818 (named for what has happened)

from __future__ import annotations

from netkv.errors import NetkvError


class ClientError(NetkvError):
    """An operation has failed, or there is no rack to carry it out."""


class NotConnected(ClientError):
    """There is no lab to connect to, no place in it, or the client was closed."""


class OperationTimeout(ClientError, TimeoutError):
    """Not everything was answered in time. A write may still take effect."""

    def __init__(self, text: str, missing: str) -> None:
        super().__init__(text)
        self.missing = missing
        """What was not answered."""


class OutcomeUnknown(ClientError):
    """Nobody can tell whether a write was done: the switch has died meanwhile. Read to find out."""


class Rejected(ClientError):
    """The operation cannot be done, and nothing has changed."""
