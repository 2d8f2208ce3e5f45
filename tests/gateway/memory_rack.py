"""A rack in memory, for tests of the gateway: it can be slow, fail, and say what it was asked."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

from netkv.client import NotConnected, OperationTimeout, OutcomeUnknown, Rejected


class Falling(dict[bytes, float]):
    """Delays: each is shorter than the one before, whatever the key."""

    def __init__(self) -> None:
        self._count = 0

    def get(self, *_: object) -> float:
        self._count += 1
        return max(0.02 - self._count * 5e-5, 0)


class MemoryRack:
    """Keys and values, and what goes wrong with them."""

    def __init__(self, scheme: str = "netcache") -> None:
        self.scheme = scheme
        self.stored: dict[bytes, bytes] = {}
        self.delay = 0.0
        self.delays: dict[bytes, float] = {}
        """Of single keys, instead of `delay`."""
        self.answers = threading.Event()
        """What reaches the rack waits until it is set, as it is at the start."""
        self.answers.set()
        self.lost: set[bytes] = set()
        """Keys of a server that does not answer."""
        self.most = 1024
        """Bytes of a value."""
        self.closed = False
        self.tells_deletes = True
        self.calls: list[tuple[str, tuple[bytes, ...]]] = []
        self.under_way = 0
        self.most_under_way = 0

    async def get(self, key: bytes, /) -> bytes | None:
        await self._reach("get", [key])
        return self.stored.get(key)

    async def put(self, key: bytes, value: bytes, /) -> None:
        if len(value) > self.most:
            raise Rejected(f"a value may have {self.most} bytes, not {len(value)}")
        await self._reach("put", [key])
        self.stored[key] = value

    async def delete(self, key: bytes, /) -> bool | None:
        await self._reach("delete", [key])
        there = self.stored.pop(key, None) is not None
        return there if self.tells_deletes else None

    async def multiget(self, keys: Sequence[bytes], /) -> list[bytes | None]:
        await self._reach("multiget", keys)
        return [self.stored.get(key) for key in keys]

    async def _reach(self, what: str, keys: Sequence[bytes]) -> None:
        if self.closed:
            raise NotConnected("The client was closed.")
        self.calls.append((what, tuple(keys)))
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            await asyncio.sleep(max(self.delays.get(key, self.delay) for key in keys))
            while not self.answers.is_set():  # noqa: ASYNC110 (another thread sets it)
                await asyncio.sleep(0.005)
        finally:
            self.under_way -= 1
        missing = [key for key in keys if key in self.lost]
        if missing and what in ("get", "multiget"):
            text = f"no answer for {missing[0]!r} from server 1"
            raise OperationTimeout(text, repr(missing[0]))
        if missing:
            raise OutcomeUnknown(f"nobody has acknowledged the write of {missing[0]!r}")
