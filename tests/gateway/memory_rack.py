"""A rack in memory for tests of the gateway, with delays and failures that a test sets."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

from netkv.client import NotConnected, OperationTimeout, OutcomeUnknown, Rejected


class DecreasingDelays(dict[bytes, float]):
    """Each delay is shorter than the one before, for any key."""

    def __init__(self) -> None:
        self._count = 0

    def get(self, *_: object) -> float:
        self._count += 1
        return max(0.02 - self._count * 5e-5, 0)


class MemoryRack:
    """Implements the interface of `AsyncClient` that the gateway uses, and records all calls."""

    def __init__(self, scheme: str = "netcache") -> None:
        self.scheme = scheme
        self.stored: dict[bytes, bytes] = {}
        self.delay = 0.0
        self.delays: dict[bytes, float] = {}
        """Delays of single keys, instead of `delay`."""
        self.answers = threading.Event()
        """Operations wait until it is set. It is set at the start."""
        self.answers.set()
        self.lost: set[bytes] = set()
        """Keys of a server that does not answer."""
        self.max_value_bytes = 1024
        self.closed = False
        self.reports_deletes = True
        self.calls: list[tuple[str, tuple[bytes, ...]]] = []
        self.under_way = 0
        self.max_under_way = 0

    async def get(self, key: bytes, /) -> bytes | None:
        await self._run("get", [key])
        return self.stored.get(key)

    async def put(self, key: bytes, value: bytes, /) -> None:
        if len(value) > self.max_value_bytes:
            raise Rejected(f"a value may have {self.max_value_bytes} bytes, not {len(value)}")
        await self._run("put", [key])
        self.stored[key] = value

    async def delete(self, key: bytes, /) -> bool | None:
        await self._run("delete", [key])
        existed = self.stored.pop(key, None) is not None
        return existed if self.reports_deletes else None

    async def multiget(self, keys: Sequence[bytes], /) -> list[bytes | None]:
        await self._run("multiget", keys)
        return [self.stored.get(key) for key in keys]

    async def _run(self, operation: str, keys: Sequence[bytes]) -> None:
        if self.closed:
            raise NotConnected("The client was closed.")
        self.calls.append((operation, tuple(keys)))
        self.under_way += 1
        self.max_under_way = max(self.max_under_way, self.under_way)
        try:
            await asyncio.sleep(max(self.delays.get(key, self.delay) for key in keys))
            while not self.answers.is_set():  # noqa: ASYNC110 (another thread sets it)
                await asyncio.sleep(0.005)
        finally:
            self.under_way -= 1
        missing = [key for key in keys if key in self.lost]
        if missing and operation in ("get", "multiget"):
            text = f"no answer for {missing[0]!r} from server 1"
            raise OperationTimeout(text, repr(missing[0]))
        if missing:
            raise OutcomeUnknown(f"the write of {missing[0]!r} is not acknowledged")
