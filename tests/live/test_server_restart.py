"""A server that is killed and restarts over its database applies every write at most once."""

from __future__ import annotations

import json
import random
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from netkv._engine import ServerNode
from netkv.model.messages import Op, Status
from netkv.model.topology import client_ip, server_ip
from netkv.servers.rocksdb import RocksDB
from tests.live.local_rack import kv_frame
from tests.live.server_nodes import Replies, ServerHarness, start_server
from tests.waiting import PATIENCE_S, until

A, B, READER = 1, 2, 3
"""Clients."""


@dataclass(frozen=True)
class Request:
    """A request of a client. The value of a write is its client and number."""

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


class Clients(ServerHarness):
    """A server and its clients.

    FarReach's switch gives each copy of a write its own sequence number; `send` does the same.
    """

    def __init__(self, database: Path, role: str) -> None:
        super().__init__(role=role, value_size=128)
        self.database = database
        self._reads = 0
        self._sequence = 0

    @contextmanager
    def serving(self) -> Iterator[subprocess.Popen[str]]:
        """Runs the server; it ends by kill -9."""
        process = start_server(self.config, self.database)
        try:
            yield process
        finally:
            process.kill()
            process.communicate()

    def send(self, requests: Sequence[Request]) -> None:
        for request in requests:
            self._sequence += 1
            stamp = (1, self._sequence, 0, 0) if self.config["role"] == "write-back" else None
            self.send_frame(request.frame(stamp))

    def ask(self, requests: Sequence[Request]) -> Replies:
        """Send requests and retransmit them until all are answered."""
        replies: Replies = {}

        def all_answered() -> bool:
            pending = [each for each in requests if (each.client, each.number) not in replies]
            self.send(pending)
            while pending and (received := self.receive(0.3)):
                replies.update(received)
            return not pending

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


@pytest.fixture(params=["plain", "write-back"])
def clients(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Clients]:
    clients = Clients(tmp_path / "db", request.param)
    yield clients
    clients.close()


def writes(rng: random.Random, first: int, count: int) -> list[Request]:
    """Puts and deletes of client A, each of another random key."""
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
    acknowledged_count = stored_count = lost_count = 0  # writes: acknowledged, only stored, neither
    # The time of the kill is random: repeat until enough writes were acknowledged and lost.
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
            while received := clients.receive(0.05):
                replies |= received
        # B sends `of_b` after `before`, although its request numbers are lower.
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
            applied_once = {it.key for it in done}
            assert_stored(found, [it for it in of_b if it.key in applied_once])
            assert_stored(found, undone)
        with clients.serving():
            clients.ask([*of_a, *of_b, *before])
            assert clients.read(keys) == found, "a write was applied again after a restart"
        acknowledged_count += len(acknowledged)
        stored_count += len(done) - len(acknowledged)
        lost_count += len(undone)
        if acknowledged_count > 200 and lost_count > 20:
            break
    print(
        f"writes: {acknowledged_count} acknowledged, {stored_count} only stored, {lost_count} lost"
    )
    assert acknowledged_count > 200
    assert lost_count > 20


def test_database_without_dedup_records_gets_them(clients: Clients) -> None:
    """A database of an earlier release has no deduplication records."""
    rng = random.Random(6)
    early, late = writes(rng, 1, 50), writes(rng, 51, 50)
    with clients.serving():
        clients.ask(early)
    database = RocksDB(clients.database)
    records = [b"netkv:senders:01"]
    records += [b"netkv:seen:1" + bytes([0, A, 0, block]) for block in range(128)]
    assert any(database.execute([("get", record, None) for record in records]))
    database.execute([("delete", record, None) for record in records])
    database.close()
    with clients.serving():
        assert_stored(clients.read([it.key for it in early]), early)
        clients.ask(late)
    newer = [Request(Op.PUT, B, it.number, it.key) for it in late]
    with clients.serving():
        clients.ask(newer)
        clients.ask(late)
        assert_stored(clients.read([it.key for it in newer]), newer)


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
