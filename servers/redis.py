"""Redis as a storage back end, with one round trip for each batch.

No write is lost or partly done when the server stops and starts again.

Rules
-----
1. A batch is one round trip: all reads in one MGET, all writes in one transaction, sent together.
   Redis answers a transaction once it is as durable as its `appendfsync` makes it.
2. An additional record, the *owner*, contains the name of the writer, the number of its connection
   and the number of its last batch. Each transaction also writes the owner, and is carried out only
   if the owner is unchanged since the connection's last access (WATCH). So there is one writer, and
   commands of an abandoned connection cannot take effect later.
3. A batch whose answer is lost is in doubt. After the next connect, the owner record shows whether
   the batch was done; if not, it is done then, before any other. `ready` returns True afterwards.
4. If the owner's number is below that of an answered batch, Redis has lost acknowledged writes. If
   the owner has another name, there is a second writer. Both are permanent, and `ready` raises.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from redis.exceptions import AuthenticationError, RedisClusterException, RedisError

from netkv.errors import NetkvError
from netkv.servers.redis_places import Place, Wire

Operation = tuple[str, bytes, bytes | None]
"""("get" | "put" | "delete", key, value of a put)."""
Command = tuple[bytes | str, ...]

_OWNER = b"netkv:owner:0001"
"""Clients cannot reach keys that begin with `netkv:`."""
_AWAY = (RedisError, RedisClusterException, OSError)
"""Temporary errors: the server is down, starts, or is full."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.5
"""Seconds between two attempts to connect."""
_TAKEOVER_TRIES = 10


@dataclass(frozen=True)
class _Batch:
    operations: Sequence[Operation]
    reads: list[bytes]
    writes: dict[bytes, bytes | None]
    """The value of each key after the batch; None: deleted."""


class Redis:
    """The records of one shard. One thread calls `ready`, `send`, `receive` and `execute`."""

    def __init__(self, place: Place, *, timeout: float = 2.0, patience: float = 20.0) -> None:
        """Connects and becomes the writer; waits up to `patience` seconds for a server that is not
        ready yet. A server that does not answer for `timeout` seconds counts as down.

        Raises NetkvError if that fails.
        """
        self._place = place
        self._timeout = timeout
        self._name = secrets.token_hex(8).encode()
        self._connections = 0
        """Number of connections so far."""
        self._number: int | None = None
        """Number of the last batch known to be done; None before the first connection."""
        self._connection: Wire | None = None
        """None while there is no connection. The thread that uses it drops it; the reconnecting
        thread sets the next one."""
        self._under_way: _Batch | None = None
        self._in_doubt: _Batch | None = None
        self._fatal: NetkvError | None = None
        self._closed = threading.Event()
        self._reconnecting: threading.Thread | None = None
        self._connection = self._connect_patiently(patience)

    def ready(self) -> bool:
        """Whether it accepts a batch and has done all earlier ones. Raises NetkvError after a
        permanent failure."""
        if self._fatal is not None:
            raise self._fatal
        return self._connection is not None

    def send(self, batch: Sequence[Operation]) -> None:
        """Sends a batch; the back end must be ready, and `receive` is called next."""
        # All operations are checked before anything is sent.
        writes: dict[bytes, bytes | None] = {}
        reads: dict[bytes, None] = {}
        for kind, key, value in batch:
            if kind == "get":
                reads[key] = None
            elif kind == "put":
                if value is None:
                    raise ValueError(f"The put of key {key.hex()} has no value.")
                writes[key] = value
            elif kind == "delete":
                writes[key] = None
            else:
                raise ValueError(f"'{kind}' is no storage operation: get, put or delete.")
        assert self._under_way is None
        self._under_way = _Batch(batch, list(reads), writes)
        commands: list[Command] = []
        if reads:
            commands.append(("MGET", *(self._place.prefix + key for key in reads)))
        if writes:
            commands += self._transaction(writes)
        try:
            if self._connection is None:
                raise ConnectionError("not ready")
            _send(self._connection, commands)
        except _AWAY:
            self._reconnect()

    def receive(self) -> list[bytes | None] | None:
        """The value of each get of the batch (None: not found), and None for each put and delete.

        Returns None instead of a list if the answer was lost. Then the writes are done by the time
        the back end is `ready` again.
        """
        batch, self._under_way = self._under_way, None
        if batch is None or self._connection is None:
            return None
        try:
            found = _read(self._connection, 1)[0] if batch.reads else []
            if batch.writes:
                self._confirm(self._connection, batch.writes)
        except _AWAY:
            self._under_way = batch
            self._reconnect()
            return None
        except NetkvError as error:
            self._fatal = error
            raise
        return _results(batch, found)

    def execute(self, batch: Sequence[Operation]) -> list[bytes | None]:
        """`send` and `receive` in one; raises NetkvError if the answer is lost."""
        results = None
        if self.ready():
            self.send(batch)
            results = self.receive()
        if results is None:
            raise NetkvError(
                f"Redis at {self._place} does not answer; its writes may be done later."
            )
        return results

    def close(self) -> None:
        """Disconnects. Writes in doubt stay in doubt."""
        self._closed.set()
        if self._reconnecting is not None:
            self._reconnecting.join()
        if self._connection is not None:
            self._connection.disconnect()
            self._connection = None

    # Connections

    def _reconnect(self) -> None:
        """Drops the broken connection, and starts a thread that connects again."""
        batch, self._under_way = self._under_way, None
        if batch is not None and batch.writes:
            self._in_doubt = batch
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.disconnect()
        self._reconnecting = threading.Thread(target=self._connect_again, name="redis", daemon=True)
        self._reconnecting.start()

    def _connect_again(self) -> None:
        pause = _FIRST_PAUSE
        while not self._closed.is_set():
            try:
                self._connection = self._connect()
                return
            except NetkvError as error:
                self._fatal = error
                return
            except _AWAY:
                self._closed.wait(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)

    def _connect_patiently(self, patience: float) -> Wire:
        deadline = time.monotonic() + patience
        while True:
            try:
                return self._connect()
            except AuthenticationError as error:
                raise NetkvError(
                    f"Redis at {self._place} refuses the login: {error}. User name and "
                    f"password come from NETKV_REDIS_USERNAME and NETKV_REDIS_PASSWORD."
                ) from error
            except _AWAY as error:
                if time.monotonic() > deadline:
                    raise NetkvError(f"Redis at {self._place} cannot be used: {error}") from error
                time.sleep(_FIRST_PAUSE)

    def _connect(self) -> Wire:
        connection = self._place.connect(self._timeout)
        try:
            self._take_over(connection)
            if self._in_doubt is not None:
                writes = self._in_doubt.writes
                _send(connection, self._transaction(writes))
                self._confirm(connection, writes)
                self._in_doubt = None
        except BaseException:
            connection.disconnect()
            raise
        return connection

    def _take_over(self, connection: Wire) -> None:
        """Makes this connection the writer, and finds out whether the batch in doubt was done
        (rules 2 and 3)."""
        owner = self._place.prefix + _OWNER
        for _ in range(_TAKEOVER_TRIES):
            _send(connection, [("WATCH", owner), ("GET", owner)])
            number = self._number_in(_read(connection, 2)[1])
            self._connections += 1
            mine = self._owner(number)
            commands: list[Command] = [("MULTI",), ("SET", owner, mine), ("EXEC",)]
            _send(connection, [*commands, ("WATCH", owner), ("GET", owner)])
            *_, done, _, found = _read(connection, 5)
            if done is not None and found == mine:
                if self._number is not None and number > self._number:
                    self._in_doubt = None
                self._number = number
                return
        raise self._taken()

    def _number_in(self, owner: bytes | None) -> int:
        """The number of the last batch that Redis has; raises NetkvError by rule 4."""
        if owner is None:
            if self._number is not None:
                raise self._lost("all its records")
            return 0
        name, _, number = owner.split(b" ")
        if self._number is None:
            return int(number)
        if name != self._name:
            raise self._taken()
        behind = self._number - int(number)
        if behind > 0:
            raise self._lost(f"the last {behind} of {self._number} batches of acknowledged writes")
        return int(number)

    def _owner(self, number: int) -> bytes:
        return b"%s %d %d" % (self._name, self._connections, number)

    def _lost(self, what: str) -> NetkvError:
        return NetkvError(
            f"Redis at {self._place} has lost {what}. Its options 'appendonly' and 'appendfsync' "
            f"determine which records it keeps (docs/use/backends.md)."
        )

    def _taken(self) -> NetkvError:
        return NetkvError(
            f"Another client writes to Redis at {self._place}. Each lab needs Redis servers, or a "
            f"'lab.redis.prefix', of its own."
        )

    # Transactions

    def _transaction(self, writes: dict[bytes, bytes | None]) -> list[Command]:
        assert self._number is not None
        prefix = self._place.prefix
        puts: list[bytes | str] = ["MSET", prefix + _OWNER, self._owner(self._number + 1)]
        deletes: list[bytes | str] = ["DEL"]
        for key, value in writes.items():
            if value is None:
                deletes.append(prefix + key)
            else:
                puts += (prefix + key, value)
        commands: list[Command] = [("MULTI",), tuple(puts)]
        if len(deletes) > 1:
            commands.append(tuple(deletes))
        # WATCH follows the transaction: it is for the next one.
        return [*commands, ("EXEC",), ("WATCH", prefix + _OWNER)]

    def _confirm(self, connection: Wire, writes: dict[bytes, bytes | None]) -> None:
        """Reads the answers to a transaction, one for each command."""
        assert self._number is not None
        *_, done, _ = _read(connection, 5 if None in writes.values() else 4)
        if done is None:
            raise self._taken()
        self._number += 1


def _send(connection: Wire, commands: Sequence[Command]) -> None:
    connection.send_packed_command(connection.pack_commands(commands), check_health=False)


def _read(connection: Wire, count: int) -> list[Any]:
    """Reads `count` answers; raises the error if one is an error."""
    return [connection.read_response(disable_decoding=True) for _ in range(count)]


def _results(batch: _Batch, found: Sequence[bytes | None]) -> list[bytes | None]:
    """The result of each operation in order; `found`: the values before the batch."""
    records = dict(zip(batch.reads, found, strict=True))
    results: list[bytes | None] = []
    for kind, key, value in batch.operations:
        if kind == "get":
            results.append(records[key])
        else:
            records[key] = value if kind == "put" else None
            results.append(None)
    return results
