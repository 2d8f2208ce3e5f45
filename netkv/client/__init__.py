"""A client of a rack that is up. (The errors; the client itself comes with it.)"""

from __future__ import annotations

from netkv.errors import NetkvError


class ClientError(NetkvError):
    """A rack has not done what was asked of it."""


class OperationTimeout(ClientError):  # noqa: N818
    """A read was not answered in time; the text names what is missing."""


class OutcomeUnknown(ClientError):  # noqa: N818
    """Nobody can tell whether a write was done."""


class Rejected(ClientError):  # noqa: N818
    """The rack refuses this."""


class NotConnected(ClientError):  # noqa: N818
    """There is no rack to talk to, or no longer."""
