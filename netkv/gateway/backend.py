"""The operations that the gateway needs of a rack, and Redis errors for their failures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from netkv.client import ClientError, NotConnected, OperationTimeout, OutcomeUnknown
from netkv.gateway.client import Counters
from netkv.gateway.replies import Failure


class Backend(Protocol):
    """The part of `netkv.client.AsyncClient` that the gateway uses."""

    @property
    def scheme(self) -> str:
        """What the rack runs."""

    async def get(self, key: bytes, /) -> bytes | None:
        """The value; None if there is none."""

    async def put(self, key: bytes, value: bytes, /) -> None:
        """Stores the value."""

    async def delete(self, key: bytes, /) -> bool | None:
        """Whether there was a value; None where the scheme does not report it."""

    async def multiget(self, keys: Sequence[bytes], /) -> list[bytes | None]:
        """The values of all keys, or an error."""


MAX_COUNTED = 1_000_000
"""Keys that DBSIZE counts: some 60 MB."""


class Rack:
    """A backend as commands use it: it counts, and knows of every delete whether there was one."""

    def __init__(self, backend: Backend, counters: Counters) -> None:
        self._backend = backend
        self._counters = counters
        self._reports = False
        """Whether the scheme reports if a delete found a value."""
        self._known: set[int] | None = set()
        """Hashes of the keys whose last acknowledged write or delete from here was a write; None:
        there were more than are counted."""

    @property
    def known_keys(self) -> int | None:
        """Keys that were stored from here and not deleted from here; None if there were more than
        `MAX_COUNTED`.
        """
        return None if self._known is None else len(self._known)

    async def get(self, key: bytes) -> bytes | None:
        """The value; None if there is none."""
        value = await self._backend.get(key)
        self._count([value])
        return value

    async def multiget(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The values of all keys."""
        values = await self._backend.multiget(keys)
        self._count(values)
        return values

    async def put(self, key: bytes, value: bytes) -> None:
        """Stores the value."""
        await self._backend.put(key, value)
        if self._known is not None:
            self._known.add(hash(key))
            if len(self._known) > MAX_COUNTED:
                self._known = None

    async def delete(self, key: bytes) -> bool:
        """Whether there was a value. Where the scheme does not report it, it is read first."""
        there = not self._reports and await self._backend.get(key) is not None
        found = await self._backend.delete(key)
        if self._known is not None:
            self._known.discard(hash(key))
        self._reports = found is not None
        return there if found is None else found

    def _count(self, values: Sequence[bytes | None]) -> None:
        misses = sum(value is None for value in values)
        self._counters.misses += misses
        self._counters.hits += len(values) - misses


_CODES: tuple[tuple[type[ClientError], str], ...] = (
    (OperationTimeout, "TIMEOUT"),
    (OutcomeUnknown, "UNKNOWN"),
    (NotConnected, "NOTCONNECTED"),
    (ClientError, "ERR"),
)


def failure_of(error: ClientError) -> Failure:
    """The reply to a command that the rack has not done. The error names the key itself."""
    code = next(code for kind, code in _CODES if isinstance(error, kind))
    return Failure(f"{code} {error}")


def shown(word: bytes) -> str:
    """A key or word of a user, fit for a line of text."""
    return repr(word[:_SHOWN])[1:] + ("…" if len(word) > _SHOWN else "")


_SHOWN = 64
