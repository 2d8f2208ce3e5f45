"""`AsyncClient`: an asyncio client of a running rack."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from netkv import schemes
from netkv.client import keys, place
from netkv.client.errors import (
    ClientError,
    NotConnected,
    OperationTimeout,
    OutcomeUnknown,
    Rejected,
)
from netkv.client.keys import Name

_More = list[bytes | None] | str | None
"""The detail of a result: values, or a text (`Session.take`)."""


class AsyncClient:
    """A client of a running rack, with any scheme.

    Any number of operations may be under way, from any tasks of the event loop in which the client
    was connected. Keys and values are bytes, or text, which is encoded in UTF-8. An operation ends
    within the time-out given to `connect`, with its result or with a `ClientError`. A task that is
    cancelled while it waits gets no result; its write may take effect.
    """

    def __init__(self, taken: place.Place) -> None:
        """Use `connect`."""
        self.scheme = taken.scheme
        """The scheme that the lab runs."""
        self.lab = taken.lab
        """The name of the lab."""
        self._keys = keys.of_scheme(schemes.get(taken.scheme))
        self._servers = taken.servers
        self._timeout = taken.timeout
        self._session = taken.session
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[int, asyncio.Future[tuple[str, _More]]] = {}
        self._tokens = 0
        self._over = ""
        """Why no further operation is possible; empty while the client is usable."""
        self._session.start()
        self._report = taken.report()
        self._loop.add_reader(self._session.fileno(), self._handle_results)

    @classmethod
    async def connect(
        cls,
        lab: str | Path | None = None,
        *,
        timeout: float = 2.0,  # noqa: ASYNC109 (of each operation)
    ) -> Self:
        """Takes a place (`lab.external_clients`) in a lab that is up.

        `lab` is its name or its directory; without it, it is the one called `lab` or the only one
        that is up. `timeout` is the time in seconds that each operation may take. Raises
        `NotConnected` if there is no such lab, or no place in it.
        """
        return cls(await place.take(lab, timeout))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Disconnects, so that another program may use the place; a second call has no effect.

        Pending operations end with `NotConnected`.
        """
        if not self._over:
            self._end("The client was closed.")
            await asyncio.to_thread(self._report.close)
            await asyncio.to_thread(self._session.stop)

    async def get(self, key: bytes | str) -> bytes | None:
        """The value of a key; None if it has none."""
        return (await self.multiget([key]))[0]

    async def multiget(self, keys: Sequence[bytes | str]) -> list[bytes | None]:
        """The values of keys, in order, each as from `get`; an error if one of them fails."""
        if isinstance(keys, bytes | str):
            raise Rejected(f"'multiget' takes a list of keys, not one: [{keys!r}].")
        names = [self._keys.name(key) for key in keys]
        most = self._keys.max_keys_per_read
        if len(names) <= most:
            return await self._read(names)
        parts = [names[start : start + most] for start in range(0, len(names), most)]
        try:
            async with asyncio.TaskGroup() as group:
                reads = [group.create_task(self._read(part)) for part in parts]
        except* ClientError as failed:
            error = failed.exceptions[0]
        else:
            return [value for read in reads for value in read.result()]
        raise error

    async def put(self, key: bytes | str, value: bytes | str) -> None:
        """Writes a value of up to 1,024 bytes."""
        name = self._keys.name(key)
        stored = name.pack(value)
        await self._run([name], lambda token: self._session.put(token, name.wire, stored))

    async def delete(self, key: bytes | str) -> bool | None:
        """Deletes a key; returns whether it existed, None if the scheme does not report it."""
        name = self._keys.name(key)
        existed = await self._run([name], lambda token: self._session.delete(token, name.wire))
        assert not isinstance(existed, list), "only reads end with values"
        return existed if self._keys.reports_deletes else None

    def statistics(self) -> dict[str, int]:
        """Frames "received" and "sent", and "preserved": number of records of which the client
        keeps copies because only the switch has them. If `close` is called before that is 0, a
        crash of the switch may lose such records (docs/use/client.md)."""
        return self._session.statistics()

    # ------------------------------------------------------------------------------- helpers

    async def _read(self, names: list[Name]) -> list[bytes | None]:
        wire = [name.wire for name in names]
        values = await self._run(names, lambda token: self._session.get(token, wire))
        assert isinstance(values, list), "reads end with values"
        return [
            None if stored is None else name.unpack(stored)
            for name, stored in zip(names, values, strict=True)
        ]

    async def _run(
        self, names: list[Name], submit: Callable[[int], None]
    ) -> list[bytes | None] | bool:
        """Carries out an operation; for a write it returns whether the key existed."""
        if asyncio.get_running_loop() is not self._loop:
            raise NotConnected("This client was connected in another event loop.")
        if self._over:
            raise NotConnected(self._over)
        self._tokens += 1
        token = self._tokens
        future = self._waiting[token] = self._loop.create_future()
        try:
            try:
                submit(token)
            except RuntimeError as error:
                raise NotConnected(str(error)) from error
            how, more = await future
        finally:
            self._waiting.pop(token, None)
        match how, more:
            case "values", list(values):
                return values
            case "done", _:
                return True
            case "not found", _:
                return False
        raise self._error(names, how, more)

    def _error(self, names: list[Name], how: str, more: _More) -> ClientError:
        text = str(more)
        shown = ", ".join(name.shown for name in names[:3]) + (", …" if len(names) > 3 else "")
        if how == "unknown":
            return OutcomeUnknown(
                f"The switch has failed while {shown} was being written: "
                f"the effect of the write is unknown."
            )
        if how == "refused":
            return Rejected(f"{shown} was refused: {text}")
        for name in names:
            server = self._keys.server(name, self._servers)
            text = text.replace(f"0x{name.wire.hex()}", f"{name.shown} (server {server})")
        return OperationTimeout(f"No answer within {self._timeout:g} s about {text}.", text)

    def _handle_results(self) -> None:
        """The session has results."""
        for token, how, more in self._session.take():
            future = self._waiting.pop(token, None)
            # The task that waited may have been cancelled.
            if future is not None and not future.done():
                future.set_result((how, more))
        if failure := self._session.failure():
            self._end(failure)

    def _end(self, why: str) -> None:
        self._over = why
        self._report.stop()
        self._loop.remove_reader(self._session.fileno())
        waiting, self._waiting = self._waiting, {}
        for future in waiting.values():
            if not future.done():
                future.set_exception(NotConnected(why))
