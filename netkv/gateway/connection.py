"""One client of the gateway: requests in, replies out in the same order.

Rules
-----
1. Replies are written in the order of their requests.
2. Commands of one connection are under way together, unless they have a key in common and one of
   them writes: then the later one begins when the earlier one has ended.
3. What is not answered yet, or answered and not written, has a weight. Beyond `MAX_WEIGHT` nothing
   more is read, so neither a long pipeline nor a client that does not read takes more memory.
4. A command that has begun is carried to its end, also when its client is gone; one that still
   waits then is not begun.
"""

from __future__ import annotations

import asyncio
import traceback
from collections import deque
from dataclasses import dataclass
from typing import Protocol, cast

from netkv.client import ClientError, NotConnected
from netkv.gateway.backend import Rack, failure_of
from netkv.gateway.catalogue import Table
from netkv.gateway.client import About, Client
from netkv.gateway.command import Command, Request, find
from netkv.gateway.commands import refused
from netkv.gateway.order import KeyOrder
from netkv.gateway.permits import Permits
from netkv.gateway.replies import Failure, Reply, encoded
from netkv.gateway.requests import ProtocolError, Requests

MAX_WEIGHT = 1024
"""Of what is unanswered or unwritten: a key, or a kilobyte of a request, weighs 1."""
_WRITE_BUFFER = 256 * 1024
_LINGER = 1.0
"""Seconds for a client to read a last error before its connection is cut."""


@dataclass(slots=True)
class _Slot:
    """The place of a reply."""

    weight: int
    data: bytes | None = None


class House(Protocol):
    """Knows who is there."""

    def enter(self, connection: Connection) -> str | None:
        """A client has come; returns the error that it gets if it may not stay."""

    def leave(self, connection: Connection) -> None:
        """It is gone."""

    def lost(self, error: NotConnected) -> None:
        """The rack is out of reach, for good."""


class Connection(asyncio.Protocol):
    """One client."""

    def __init__(
        self, about: About, table: Table, rack: Rack, permits: Permits, house: House
    ) -> None:
        self._about = about
        self._table = table
        self._rack = rack
        self._permits = permits
        self._house = house
        self._client = Client(about, next(about.ids))
        self._requests = Requests()
        self._order = KeyOrder()
        self._slots: deque[_Slot] = deque()
        self._weight = 0
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._gone = False
        self._reading = True
        self._writable = True
        self._input_ended = False
        """The client sends no more."""
        self._leaving = False
        """No more requests are taken; the rest is answered, then the connection closes."""
        self._flush_due = False

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has come."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=_WRITE_BUFFER)
        refusal = self._house.enter(self)
        if refusal is not None:
            self._put(Failure(refusal))
            self.drain()

    def data_received(self, data: bytes) -> None:
        """Bytes of requests."""
        self._about.counters.bytes_in += len(data)
        if not self._leaving:
            self._requests.feed(data)
            self._advance()

    def eof_received(self) -> bool:
        """The client sends no more, and may wait for its replies still."""
        self._input_ended = True
        self._advance()
        return True

    def pause_writing(self) -> None:
        """The client does not read."""
        self._writable = False

    def resume_writing(self) -> None:
        """It reads again."""
        self._writable = True
        self._flush()
        self._advance()

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002
        """The client is gone."""
        self._gone = True
        self._slots.clear()
        self._house.leave(self)

    # What the gateway calls

    def drain(self) -> None:
        """Takes no more requests, answers those that it has begun, and closes."""
        self._leaving = True
        self._flush()

    def cut(self) -> None:
        """Closes at once."""
        if self._transport is not None:
            self._transport.abort()

    # Requests

    def _advance(self) -> None:
        """Begins the requests at hand, as far as there is room."""
        while not self._leaving and self._weight < MAX_WEIGHT and self._writable:
            try:
                request = self._requests.next()
            except ProtocolError as error:
                self._put(Failure(f"ERR Protocol error: {error}"))
                self._leaving = True
                break
            if request is None:
                self._leaving = self._input_ended
                break
            self._begin(request)
            self._leaving = self._client.quits
        if self._leaving:
            self._schedule_flush()
        self._read_on()

    def _read_on(self) -> None:
        """Reads from the client, or not."""
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        # Input after QUIT is read and dropped, so that the client gets its last reply.
        wanted = self._leaving or (self._weight < MAX_WEIGHT and self._writable)
        if wanted != self._reading:
            self._reading = wanted
            if wanted:
                transport.resume_reading()
            else:
                transport.pause_reading()

    def _begin(self, request: list[bytes]) -> None:
        self._about.counters.commands += 1
        command = refused(self._table, self._client, request) or find(self._table, request)
        if isinstance(command, Failure):
            self._put(command)
        elif command.local is not None:
            self._put(command.local(self._client, request))
        else:
            keys = command.keys(request)
            slot = self._place(_operations(keys) + sum(map(len, request)) // 1024)
            before = self._order.before(keys, command.writes)
            # A later HELLO of the pipeline may change the protocol before this is answered.
            doing = self._do(command, request, slot, before, self._client.protocol)
            task = self._loop.create_task(doing)
            self._order.enter(task, keys, command.writes)

    async def _do(
        self,
        command: Command,
        request: Request,
        slot: _Slot,
        before: set[asyncio.Task[None]],
        protocol: int,
    ) -> None:
        keys = command.keys(request)
        try:
            if before:
                await asyncio.wait(before)
            taken = await self._permits.take(_operations(keys))
            try:
                if self._gone:
                    return
                reply = await self._asked(command, request)
            finally:
                self._permits.give_back(taken)
            self._fill(slot, reply, protocol)
        finally:
            task = asyncio.current_task()
            assert task is not None
            self._order.leave(task, keys)

    async def _asked(self, command: Command, request: Request) -> Reply:
        assert command.stored is not None
        try:
            return await command.stored(self._rack, request)
        except ClientError as error:
            if isinstance(error, NotConnected):
                self._house.lost(error)
            return failure_of(error)
        except Exception as error:
            traceback.print_exc()
            return Failure(f"ERR a fault of netkv: {error!r}")

    # Replies

    def _put(self, reply: Reply) -> None:
        slot = self._place(1)
        self._fill(slot, reply, self._client.protocol)

    def _place(self, weight: int) -> _Slot:
        slot = _Slot(weight)
        self._weight += weight
        self._slots.append(slot)
        return slot

    def _fill(self, slot: _Slot, reply: Reply, protocol: int) -> None:
        if isinstance(reply, Failure):
            self._about.counters.errors += 1
        data = encoded(reply, protocol)
        more = max(len(data) // 1024 - slot.weight, 0)
        slot.weight += more
        self._weight += more
        slot.data = data
        self._schedule_flush()

    def _schedule_flush(self) -> None:
        """Replies that are ready within one turn of the loop leave together."""
        if not self._flush_due:
            self._flush_due = True
            self._loop.call_soon(self._flush_now)

    def _flush_now(self) -> None:
        self._flush_due = False
        self._flush()

    def _flush(self) -> None:
        """Writes what is ready and next in order; then goes on with requests that had no room."""
        transport = self._transport
        if self._gone or transport is None or transport.is_closing():
            return
        wrote = False
        while self._writable and (data := self._ready()):
            self._about.counters.bytes_out += len(data)
            transport.write(data)
            wrote = True
        if self._leaving:
            if not self._slots:
                self._close(transport)
        elif wrote:
            self._advance()

    def _ready(self) -> bytes:
        """Replies that are next in order and ready, up to a good size for one write."""
        ready: list[bytes] = []
        size = 0
        while size < _WRITE_BUFFER and self._slots and (data := self._slots[0].data) is not None:
            self._weight -= self._slots.popleft().weight
            ready.append(data)
            size += len(data)
        return b"".join(ready)

    def _close(self, transport: asyncio.Transport) -> None:
        if self._input_ended:
            transport.close()
            return
        # Closing with something unread would cut the connection, and the last reply with it.
        self._read_on()
        try:
            transport.write_eof()
        except OSError:  # the client is gone, which asyncio has not noticed yet
            transport.abort()
            return
        self._loop.call_later(_LINGER, transport.abort)


def _operations(keys: Request | None) -> int:
    """What a command weighs: its keys, or 1 if it is about all keys."""
    return 1 if keys is None else len(keys)
