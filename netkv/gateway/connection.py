"""One client of the gateway: requests in, replies out in the same order.

Rules
-----
1. Replies are written in the order of their requests.
2. Commands of one connection are executed concurrently. If two have a key in common and one of
   them writes, the later one starts when the earlier one has ended.
3. Each request has a weight until its reply is written. At `MAX_WEIGHT`, or if the write buffer is
   full, the gateway stops reading. This bounds the memory for long pipelines and slow clients.
4. If a client disconnects, commands in execution are completed and waiting ones are dropped.
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
from netkv.gateway.client import Client, GatewayInfo
from netkv.gateway.command import Command, Request, find
from netkv.gateway.commands import refused
from netkv.gateway.order import KeyOrder
from netkv.gateway.permits import Permits
from netkv.gateway.replies import Failure, Reply, encoded
from netkv.gateway.requests import ProtocolError, Requests

MAX_WEIGHT = 1024
"""Limit of the total weight. A request weighs its keys plus its KiB, or the KiB of its reply if
that is more."""
_WRITE_BUFFER = 256 * 1024
_LINGER = 1.0
"""Seconds that a client has to read the last reply before the connection is aborted."""


@dataclass(slots=True)
class _Slot:
    """A pending reply; `data` is None until the command has ended."""

    weight: int
    data: bytes | None = None


class ConnectionRegistry(Protocol):
    """The registry of connections."""

    def enter(self, connection: Connection) -> str | None:
        """Add a connection; returns an error message if it is refused."""

    def leave(self, connection: Connection) -> None:
        """Remove a closed connection."""

    def lost(self, error: NotConnected) -> None:
        """Handle the permanent loss of the rack."""


class Connection(asyncio.Protocol):
    """The connection of one client."""

    def __init__(
        self,
        info: GatewayInfo,
        table: Table,
        rack: Rack,
        permits: Permits,
        registry: ConnectionRegistry,
    ) -> None:
        self._info = info
        self._table = table
        self._rack = rack
        self._permits = permits
        self._registry = registry
        self._client = Client(info, next(info.ids))
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
        """The client has closed its side of the connection."""
        self._leaving = False
        """No more requests are accepted; the connection closes after the pending replies."""
        self._flush_due = False

    # Callbacks of asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Registers the connection."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=_WRITE_BUFFER)
        refusal = self._registry.enter(self)
        if refusal is not None:
            self._reply(Failure(refusal))
            self.drain()

    def data_received(self, data: bytes) -> None:
        """Parses requests and starts their commands."""
        self._info.counters.bytes_in += len(data)
        if not self._leaving:
            self._requests.feed(data)
            self._advance()

    def eof_received(self) -> bool:
        """The client has closed its side; it may still read replies."""
        self._input_ended = True
        self._advance()
        return True

    def pause_writing(self) -> None:
        """The write buffer is full, because the client does not read."""
        self._writable = False

    def resume_writing(self) -> None:
        """The write buffer has room again."""
        self._writable = True
        self._flush()
        self._advance()

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002
        """Removes the connection."""
        self._gone = True
        self._slots.clear()
        self._registry.leave(self)

    # Calls of the gateway

    def drain(self) -> None:
        """Accepts no more requests, and closes after the pending replies."""
        self._leaving = True
        self._flush()

    def abort(self) -> None:
        """Aborts the connection."""
        if self._transport is not None:
            self._transport.abort()

    # Requests

    def _advance(self) -> None:
        """Starts received requests up to `MAX_WEIGHT`."""
        while not self._leaving and self._weight < MAX_WEIGHT and self._writable:
            try:
                request = self._requests.next()
            except ProtocolError as error:
                self._reply(Failure(f"ERR Protocol error: {error}"))
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
        """Pauses or resumes reading from the client."""
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        # Input after QUIT is read and discarded: unread input would make the close a reset.
        wanted = self._leaving or (self._weight < MAX_WEIGHT and self._writable)
        if wanted != self._reading:
            self._reading = wanted
            if wanted:
                transport.resume_reading()
            else:
                transport.pause_reading()

    def _begin(self, request: list[bytes]) -> None:
        self._info.counters.commands += 1
        command = refused(self._table, self._client, request) or find(self._table, request)
        if isinstance(command, Failure):
            self._reply(command)
        elif command.local is not None:
            self._reply(command.local(self._client, request))
        else:
            keys = command.keys(request)
            slot = self._add_slot(_operations(keys) + sum(map(len, request)) // 1024)
            before = self._order.before(keys, command.writes)
            # A later HELLO of the pipeline may change the protocol before the reply.
            execution = self._run(command, request, slot, before, self._client.protocol)
            task = self._loop.create_task(execution)
            self._order.enter(task, keys, command.writes)

    async def _run(
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
            permits = await self._permits.take(_operations(keys))
            try:
                if self._gone:
                    return
                reply = await self._execute(command, request)
            finally:
                self._permits.give_back(permits)
            self._fill(slot, reply, protocol)
        finally:
            task = asyncio.current_task()
            assert task is not None
            self._order.leave(task, keys)

    async def _execute(self, command: Command, request: Request) -> Reply:
        assert command.stored is not None
        try:
            return await command.stored(self._rack, request)
        except ClientError as error:
            if isinstance(error, NotConnected):
                self._registry.lost(error)
            return failure_of(error)
        except Exception as error:
            traceback.print_exc()
            return Failure(f"ERR internal error of netkv: {error!r}")

    # Replies

    def _reply(self, reply: Reply) -> None:
        slot = self._add_slot(1)
        self._fill(slot, reply, self._client.protocol)

    def _add_slot(self, weight: int) -> _Slot:
        slot = _Slot(weight)
        self._weight += weight
        self._slots.append(slot)
        return slot

    def _fill(self, slot: _Slot, reply: Reply, protocol: int) -> None:
        if isinstance(reply, Failure):
            self._info.counters.errors += 1
        data = encoded(reply, protocol)
        more = max(len(data) // 1024 - slot.weight, 0)
        slot.weight += more
        self._weight += more
        slot.data = data
        self._schedule_flush()

    def _schedule_flush(self) -> None:
        """Writes replies that are ready in one iteration of the event loop together."""
        if not self._flush_due:
            self._flush_due = True
            self._loop.call_soon(self._flush_now)

    def _flush_now(self) -> None:
        self._flush_due = False
        self._flush()

    def _flush(self) -> None:
        """Writes the replies that are ready and next in order; then starts waiting requests."""
        transport = self._transport
        if self._gone or transport is None or transport.is_closing():
            return
        wrote = False
        while self._writable and (data := self._ready()):
            self._info.counters.bytes_out += len(data)
            transport.write(data)
            wrote = True
        if self._leaving:
            if not self._slots:
                self._close(transport)
        elif wrote:
            self._advance()

    def _ready(self) -> bytes:
        """Replies that are ready and next in order, up to the size of the write buffer."""
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
        # Closing with unread input would reset the connection and lose the last reply.
        self._read_on()
        try:
            transport.write_eof()
        except OSError:  # the client has disconnected; asyncio has not detected it yet
            transport.abort()
            return
        self._loop.call_later(_LINGER, transport.abort)


def _operations(keys: Request | None) -> int:
    """Operations of a command on the rack: one for each key; 1 if it concerns all keys."""
    return 1 if keys is None else len(keys)
