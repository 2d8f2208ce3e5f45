"""The operations of a rack that the gateway uses, and Redis errors for their failures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from netkv.client import ClientError, NotConnected, OperationTimeout, OutcomeUnknown
from netkv.gateway.client import Counters
from netkv.gateway.replies import Failure


class Backend(Protocol):
    """The methods of `netkv.client.AsyncClient` that the gateway uses."""

    @property
    def scheme(self) -> str:
        """The scheme that the rack runs."""

    async def get(self, key: bytes, /) -> bytes | None:
        """The value; None if there is none."""

    async def put(self, key: bytes, value: bytes, /) -> None:
        """Stores the value."""

    async def delete(self, key: bytes, /) -> bool | None:
        """Whether there was a value; None if the scheme does not report it."""

    async def multiget(self, keys: Sequence[bytes], /) -> list[bytes | None]:
        """The values of all keys, or an error."""


MAX_COUNTED = 1_000_000
"""Maximum of the keys that DBSIZE counts; they take about 60 MB."""


class Rack:
    """A backend for commands. It counts hits, misses and keys, and every delete reports whether
    there was a value.
    """

    def __init__(self, backend: Backend, counters: Counters) -> None:
        self._backend = backend
        self._counters = counters
        self._reports = False
        """Whether the scheme reports if a delete found a value."""
        self._known: set[int] | None = set()
        """Hashes of the keys that were stored, and not deleted since, through this gateway; None:
        there were more than `MAX_COUNTED`."""

    @property
    def known_keys(self) -> int | None:
        """Number of keys that were stored, and not deleted since, through this gateway; None if
        there were more than `MAX_COUNTED`.
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
        """Whether there was a value. If the scheme does not report it, the key is read first."""
        existed = not self._reports and await self._backend.get(key) is not None
        found = await self._backend.delete(key)
        if self._known is not None:
            self._known.discard(hash(key))
        self._reports = found is not None
        return existed if found is None else found

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
    """The reply to a command that failed on the rack. The error names the key."""
    code = next(code for kind, code in _CODES if isinstance(error, kind))
    return Failure(f"{code} {error}")


def shown(word: bytes) -> str:
    """A key or word of a user, escaped and shortened for a line of text."""
    return repr(word[:_SHOWN])[1:] + ("…" if len(word) > _SHOWN else "")


_SHOWN = 64
