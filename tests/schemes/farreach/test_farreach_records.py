"""Records of FarReach servers in RocksDB: sequence numbers and tombstones survive restarts, and
databases with and without sequence numbers are not mixed up."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from netkv._engine import ServerNode
from netkv.model.messages import (
    CONTROLLER_SENDER,
    NO_BITS,
    Bit,
    Message,
    Op,
    Stamp,
    Status,
    decode,
    encode,
)
from netkv.model.topology import CONTROLLER_IP, client_ip, server_ip
from netkv.servers.rocksdb import RocksDB
from tests.live.server_nodes import ServerHarness
from tests.waiting import until

pytestmark = pytest.mark.live

KEY = bytes(range(16))
MARK = b"netkv:data-set:1"
INCARNATION = 3


class Server(ServerHarness):
    """A server node over a database, with a client and a controller that send it requests."""

    def __init__(self, database: Path) -> None:
        super().__init__(role="write-back")
        self.database = database
        self.node: ServerNode
        self._request = 0

    @contextmanager
    def running(self, **changes: Any) -> Iterator[None]:
        """Runs the server; `changes` apply to its configuration."""
        database = RocksDB(self.database)
        self.node = ServerNode(json.dumps(self.config | changes))
        try:
            self.node.start(database)
            yield
        finally:
            self.node.stop()
            database.close()

    def send(self, op: Op, number: int = 0, bits: Bit = NO_BITS, value: bytes = b"") -> None:
        """Sends a request with sequence number `number`, from a client or from the controller.

        The operations from OFFER on are those of the controller.
        """
        self._request += 1
        client = op < Op.OFFER
        message = Message(
            op=op,
            key=KEY,
            request=self._request,
            length=len(value),
            value=value,
            stamp=Stamp(INCARNATION, number, bits=bits),
            sender=1 if client else CONTROLLER_SENDER,
        )
        source = client_ip(1) if client else CONTROLLER_IP
        self.send_frame(encode(message, source, server_ip(0)))

    def ask(self, op: Op, number: int = 0, bits: Bit = NO_BITS, value: bytes = b"") -> Message:
        """Sends a request; returns its reply."""
        self.send(op, number, bits, value)
        reply = decode(self.receive_frame()).message
        assert reply.request == self._request
        return reply

    def record(self) -> tuple[Status, bytes, int]:
        """Status, value and sequence number of the stored record."""
        reply = self.ask(Op.FETCH)
        assert reply.stamp is not None
        assert reply.stamp.incarnation == (INCARNATION if reply.stamp.number else 0)
        return reply.status, reply.value, reply.stamp.number

    def raw(self, *keys: bytes) -> list[bytes | None]:
        """The bytes in the database, while the server does not run."""
        database = RocksDB(self.database)
        try:
            return database.execute([("get", key, None) for key in keys])
        finally:
            database.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path / "db")
    yield server
    server.close()


def test_sequences_and_tombstones_outlive_the_server(server: Server) -> None:
    with server.running():
        assert server.record() == (Status.NOT_FOUND, b"", 0)
        assert server.ask(Op.PUT, 7, value=b"seven").status == Status.OK
    with server.running():
        assert server.record() == (Status.OK, b"seven", 7)
        late = server.ask(Op.PUT, 5, value=b"five")
        assert (late.status, late.stamp) == (Status.OK, Stamp(INCARNATION, 7))
        assert server.ask(Op.DELETE, 9).stamp == Stamp(INCARNATION, 9)
    with server.running():
        eviction = server.ask(Op.RESTORE, 8, value=b"eight")
        assert (eviction.status, eviction.stamp) == (Status.OK, Stamp(INCARNATION, 9))
        assert server.record() == (Status.NOT_FOUND, b"", 9)
        counts = server.node.statistics()["servers"]["0"]
        assert (counts["tombstones"], counts["restored"], counts["guarded"]) == (1, 0, 0)
        server.ask(Op.RESTORE, 10, value=b"ten")
    with server.running():
        assert server.record() == (Status.OK, b"ten", 10)


def test_stored_record_is_the_value_then_its_sequence(server: Server) -> None:
    with server.running():
        server.ask(Op.PUT, 7, value=b"seven")
    assert server.raw(KEY) == [b"seven" + bytes([0, 0, 0, INCARNATION, 0, 0, 0, 7, 0])]
    with server.running():
        server.ask(Op.RESTORE, 8, Bit.DELETED)
    assert server.raw(KEY) == [bytes([0, 0, 0, INCARNATION, 0, 0, 0, 8, 1])]
    (mark,) = server.raw(MARK)
    assert mark is not None
    assert mark.endswith(b"with sequence numbers")


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ("plain", "write-back", r"have no sequence numbers.* empty directory"),
        ("netcache", "write-back", r"have no sequence numbers.* empty directory"),
        ("write-back", "plain", r"have sequence numbers.* empty directory"),
        ("write-back", "netcache", r"have sequence numbers.* empty directory"),
    ],
)
def test_database_with_the_other_record_format_is_refused(
    server: Server, first: str, second: str, reason: str
) -> None:
    with server.running(role=first):
        pass
    with pytest.raises(OSError, match=reason), server.running(role=second):
        pass
    with server.running(role=first):
        pass  # the refused start has not changed the database


def test_roles_without_sequences_share_a_database(server: Server) -> None:
    for role in ("plain", "netcache", "plain"):
        with server.running(role=role):
            pass
    assert server.raw(MARK) == [b"10 keys, values of Fixed(64), servers [0] of 1"]


def test_damaged_record_stops_the_server_with_a_reason(server: Server) -> None:
    with server.running():
        server.ask(Op.PUT, 7, value=b"seven")
    database = RocksDB(server.database)
    database.execute([("put", KEY, b"short")])
    database.close()
    with server.running():
        server.send(Op.GET)
        failure = until(server.node.failure, "the server stops")
    assert f"key {KEY.hex()} is damaged" in failure
    assert "empty directory" in failure
