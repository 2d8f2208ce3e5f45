"""The client library, for programs that use a running rack (`netkv up`) with any scheme.

    async with await AsyncClient.connect() as rack:
        await rack.put("answer", b"42")
        print(await rack.get("answer"))

See docs/use/client.md.
"""

from netkv.client.aio import AsyncClient
from netkv.client.errors import (
    ClientError,
    NotConnected,
    OperationTimeout,
    OutcomeUnknown,
    Rejected,
)

__all__ = [
    "AsyncClient",
    "ClientError",
    "NotConnected",
    "OperationTimeout",
    "OutcomeUnknown",
    "Rejected",
]
