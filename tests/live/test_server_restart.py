"""A server that is killed and starts again over its database: every write has one effect."""

from __future__ import annotations

import json
import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from netkv._engine import ServerNode
from netkv.control.messages import Op, Status, decode
from netkv.control.topology import client_ip, server_ip
from netkv.servers.rocksdb import RocksDB
from tests.live.local_rack import free_ports, kv_frame
from tests.waiting import PATIENCE_S, until

A, B, READER = 1, 2, 3

SERVE = """
import sys, time
from netkv._engine import ServerNode
from netkv.servers.rocksdb import RocksDB

node = ServerNode(sys.argv[1])
node.start(RocksDB(sys.argv[2]))
print("ready", flush=True)
while True:
    time.sleep(1)
"""


@dataclass(frozen=True)
class Request:
    """A request of a client. Client and number say what a write of it writes."""

    op: Op
    client: int
    number: int
    key: bytes

    @property
    def value(self) -> bytes:
        return b"%8d %8d" % (self.client, self.number) if self.op == Op.PUT else b""

    def frame(self, stamp: tuple[int, int, int, int] | None) -> bytes:
        return kv_frame(
            source=client_ip(self.client),
            destination=server_ip(0),
            op=self.op,
            sender=self.client,
            request=self.number,
            key=self.key,
            stamp=stamp,
            value=self.value,
        )


Replies = dict[tuple[int, int], tuple[Status, bytes]]
"""(status, value) by client and number."""


class Clients:
    """The clients of one server, without a switch in between. Where one would number the writes,
    each copy gets a number of its own."""

    def __init__(self, database: Path, role: str) -> None:
        server, peer = free_ports(2)
        self.database = database
        self.config: dict[str, Any] = {
            "bind": f"127.0.0.1:{server}",
            "peer": f"127.0.0.1:{peer}",
            "role": role,
            "partitions": [0],
            "servers": 1,
            "keys": 10,
            "value_size": 128,
            "seed": 1,
            "service_rate": None,
            "queue_limit": 256,
        }
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", peer))
        self._server = ("127.0.0.1", server)
        self._reads = 0
        self._number = 0

    def close(self) -> None:
        self._socket.close()

    @contextmanager
    def serving(self) -> Iterator[subprocess.Popen[str]]:
        """A run of the server; it ends by kill -9."""
        command = [sys.executable, "-c", SERVE, json.dumps(self.config), str(self.database)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()
            process.communicate()

    def send(self, requests: Sequence[Request]) -> None:
        for request in requests:
            self._number += 1
            stamp = (1, self._number, 0, 0) if self.config["role"] == "farreach" else None
            self._socket.sendto(request.frame(stamp), self._server)

    def receive(self, patience: float) -> Replies:
        """What has come, or comes first within `patience` seconds."""
        replies: Replies = {}
        self._socket.settimeout(patience)
        while True:
            try:
                frame = self._socket.recv(2048)
            except (TimeoutError, BlockingIOError):
                return replies
            self._socket.settimeout(0)
            reply = decode(frame).message
            replies[reply.sender, reply.request] = reply.status, reply.value

    def ask(self, requests: Sequence[Request]) -> Replies:
        """Send requests, again and again as clients do, until all are answered."""
        replies: Replies = {}

        def all_answered() -> bool:
            left = [each for each in requests if (each.client, each.number) not in replies]
            self.send(left)
            while left and (came := self.receive(0.3)):
                replies.update(came)
            return not left

        until(all_answered, "all requests are answered", every_s=0)
        return replies

    def read(self, keys: Sequence[bytes]) -> dict[bytes, bytes | None]:
        requests = []
        for key in keys:
            self._reads += 1
            requests.append(Request(Op.GET, READER, self._reads, key))
        replies = self.ask(requests)
        found = {}
        for request in requests:
            status, value = replies[READER, request.number]
            assert status in (Status.OK, Status.NOT_FOUND)
            found[request.key] = value if status == Status.OK else None
        return found


@pytest.fixture(params=["plain", "farreach"])
def clients(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Clients]:
    clients = Clients(tmp_path / "db", request.param)
    yield clients
    clients.close()


def writes(rng: random.Random, first: int, count: int) -> list[Request]:
    """Puts and deletes of A, each of a key that holds something else before."""
    return [
        Request(rng.choice([Op.PUT, Op.DELETE]), A, first + i, rng.randbytes(16))
        for i in range(count)
    ]


def assert_stored(found: Mapping[bytes, bytes | None], writes: Sequence[Request]) -> None:
    for write in writes:
        assert found[write.key] == (write.value or None), f"after {write}"


def test_writes_under_way_at_kill_9_have_one_effect(clients: Clients) -> None:
    rng = random.Random(5)
    number = 0
    known = unknown = lost = 0  # writes: acknowledged, stored only, neither
    # Where the kill hits is chance: go on until it has hit on both sides of a batch.
    for _ in range(20):
        of_a = writes(rng, number + 1, 400)
        of_b = [Request(Op.PUT, B, number + 1 + i, write.key) for i, write in enumerate(of_a)]
        before = [Request(Op.PUT, B, number + 1001 + i, it.key) for i, it in enumerate(of_a)]
        number += 2000
        keys = [write.key for write in of_a]
        with clients.serving() as process:
            clients.ask(before)
            clients.send(of_a[:200])
            replies = clients.receive(PATIENCE_S)
            clients.send(of_a[200:])
            time.sleep(rng.random() * 0.004)
            process.kill()
            process.wait()
            while came := clients.receive(0.05):
                replies |= came
        # The numbers of `of_b` are behind those of `before`, as of a client that was slow.
        with clients.serving():
            found = clients.read(keys)
            done = [it for it in of_a if found[it.key] == (it.value or None)]
            undone = [it for it in of_a if it not in done]
            acknowledged = [it for it in of_a if (A, it.number) in replies]
            assert all(replies[A, it.number][0] == Status.OK for it in acknowledged)
            assert set(acknowledged) <= set(done), "an acknowledged write is lost"
            clients.ask(of_b)
            again = clients.ask(of_a)
            assert {status for status, _ in again.values()} == {Status.OK}
            found = clients.read(keys)
            behind = {it.key for it in done}
            assert_stored(found, [it for it in of_b if it.key in behind])  # or: done twice
            assert_stored(found, undone)
        with clients.serving():
            clients.ask([*of_a, *of_b, *before])
            assert clients.read(keys) == found, "a later run has done something again"
        known += len(acknowledged)
        unknown += len(done) - len(acknowledged)
        lost += len(undone)
        if known > 200 and lost > 20:
            break
    print(f"{known} writes acknowledged before a kill, {unknown} stored only, {lost} neither")
    assert known > 200
    assert lost > 20


def test_database_without_dedup_records_gets_them(clients: Clients) -> None:
    """As one does that an earlier release has made."""
    rng = random.Random(6)
    early, late = writes(rng, 1, 50), writes(rng, 51, 50)
    with clients.serving():
        clients.ask(early)
    database = RocksDB(clients.database)
    marks = [b"netkv:senders:01"]
    marks += [b"netkv:seen:1" + bytes([0, A, 0, place]) for place in range(128)]
    assert any(database.execute([("get", mark, None) for mark in marks]))
    database.execute([("delete", mark, None) for mark in marks])
    database.close()
    with clients.serving():
        assert_stored(clients.read([it.key for it in early]), early)
        clients.ask(late)
    over = [Request(Op.PUT, B, it.number, it.key) for it in late]
    with clients.serving():
        clients.ask(over)
        clients.ask(late)
        assert_stored(clients.read([it.key for it in over]), over)


def test_damaged_dedup_records_are_reported(clients: Clients) -> None:
    with clients.serving():
        clients.ask(writes(random.Random(7), 1, 5))
    database = RocksDB(clients.database)
    database.execute([("put", b"netkv:senders:01", b"odd")])
    node = ServerNode(json.dumps(clients.config))
    try:
        with pytest.raises(OSError, match=r"list of clients is damaged.* empty directory"):
            node.start(database)
    finally:
        node.stop()
        database.close()
