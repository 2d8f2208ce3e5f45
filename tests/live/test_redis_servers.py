"""Servers over Redis: each has its own shard, rejects requests while the shard is down, and applies
every write at most once."""

from __future__ import annotations

import json
import random
import signal
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest

from netkv._engine import ServerNode
from netkv.model.messages import Op, Status
from netkv.model.topology import client_ip, key_hash, server_ip
from netkv.servers.redis import Redis
from tests.live.local_rack import kv_frame
from tests.live.redis_servers import OwnServer
from tests.live.server_nodes import Replies, ServerHarness
from tests.waiting import until

A, B = 1, 2
SHARDS = 2


class Node(ServerHarness):
    """A server node with a shard for each of its servers, and its clients."""

    def __init__(self, folder: Path) -> None:
        super().__init__(partitions=[0, 1], servers=SHARDS, keys=100)
        self.shards = [OwnServer(folder / str(index)) for index in range(SHARDS)]
        self._request = 0
        self.start()

    def start(self) -> None:
        self.stores = [Redis(shard.place, timeout=1.0) for shard in self.shards]
        self.node = ServerNode(json.dumps(self.config))
        self.node.start(list(self.stores))

    def stop(self) -> None:
        self.node.stop()
        for store in self.stores:
            store.close()

    def close(self) -> None:
        self.stop()
        super().close()
        for shard in self.shards:
            shard.kill()

    def number(self) -> int:
        self._request += 1
        return self._request

    def send(self, op: int, client: int, number: int, key: bytes, value: bytes = b"") -> None:
        shard = owner(key)
        addresses = client_ip(client), server_ip(shard)
        self.send_frame(kv_frame(op, key, number, *addresses, sender=client, value=value))

    def ask(
        self, requests: Sequence[tuple[int, int, int, bytes, bytes]]
    ) -> list[tuple[Status, bytes]]:
        """Send requests and retransmit them until all are answered."""
        replies: Replies = {}

        def all_answered() -> bool:
            pending = [it for it in requests if it[1:3] not in replies]
            for request in pending:
                self.send(*request)
            while pending and (received := self.receive(0.2)):
                replies.update(received)
            return not pending

        until(all_answered, "all requests are answered", every_s=0)
        return [replies[it[1:3]] for it in requests]

    def get(self, keys: Sequence[bytes]) -> list[tuple[Status, bytes]]:
        return self.ask([(Op.GET, B, self.number(), key, b"") for key in keys])

    def put(self, keys: Sequence[bytes], value: bytes) -> list[tuple[Status, bytes]]:
        return self.ask([(Op.PUT, A, self.number(), key, value) for key in keys])


def owner(key: bytes) -> int:
    """The server of a key: each server has an equal range of hashes."""
    return key_hash(key) * SHARDS >> 32


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    node = Node(tmp_path)
    yield node
    node.close()


def keys_of(shard: int, count: int = 20) -> list[bytes]:
    rng = random.Random(shard)
    found: list[bytes] = []
    while len(found) < count:
        key = rng.randbytes(16)
        if owner(key) == shard:
            found.append(key)
    return found


def test_each_server_finds_its_shard_after_a_restart(node: Node) -> None:
    for shard in range(SHARDS):
        assert {status for status, _ in node.put(keys_of(shard), b"of %d" % shard)} == {Status.OK}
    node.stop()
    for shard in range(SHARDS):
        node.shards[shard].kill()
        node.shards[shard].start()
        store = Redis(node.shards[shard].place)
        found = store.execute([("get", k, None) for s in range(SHARDS) for k in keys_of(s)])
        expected = [b"of %d" % s if s == shard else None for s in range(SHARDS) for _ in range(20)]
        assert found == expected
        store.close()
    node.start()
    for shard in range(SHARDS):
        assert node.get(keys_of(shard)) == [(Status.OK, b"of %d" % shard)] * 20


def test_only_calls_of_a_stopped_shard_fail(node: Node) -> None:
    failing, others = keys_of(0), keys_of(1)
    node.put([*failing, *others], b"before")
    node.shards[0].kill()
    # The first batch may detect the failure; later batches fail immediately.
    node.send(Op.GET, B, node.number(), failing[0])
    node.receive(1.0)
    for _ in range(3):
        assert node.get(failing) == [(Status.REJECTED, b"")] * 20
        assert {status for status, _ in node.put(failing, b"refused")} == {Status.REJECTED}
        assert node.get(others) == [(Status.OK, b"before")] * 20
    assert node.node.failure() is None
    assert node.node.statistics()["servers"]["1"]["failures"] == 0
    node.shards[0].start()
    until(lambda: node.get(failing[:1])[0][0] == Status.OK, "the shard is served again")
    assert node.get(failing) == [(Status.OK, b"before")] * 20, "refused writes are not applied"
    assert {status for status, _ in node.put(failing, b"after")} == {Status.OK}
    assert node.get(failing) == [(Status.OK, b"after")] * 20


def is_served(node: Node, key: bytes) -> bool:
    return node.get([key])[0][0] != Status.REJECTED


@pytest.mark.parametrize("restarts", [False, True])
def test_writes_under_way_at_kill_9_have_one_effect(node: Node, restarts: bool) -> None:
    """Redis is killed during writes; if `restarts`, the server node restarts, too."""
    rng = random.Random(7)
    in_doubt = 0
    for turn in range(6):
        keys = [rng.randbytes(16) for _ in range(200)]
        keys = [key for key in keys if owner(key) == 0]
        writes = [(Op.PUT, A, node.number(), key, b"of A %d" % turn) for key in keys]
        for write in writes[: len(writes) // 2]:
            node.send(*write)
        replies = node.receive(1.0)
        if turn % 2:
            # Redis receives the following writes and is killed before it applies them.
            node.shards[0].signal(signal.SIGSTOP)
        for write in writes[len(writes) // 2 :]:
            node.send(*write)
        time.sleep(0.05 if turn % 2 else rng.random() * 0.003)
        node.shards[0].signal(signal.SIGKILL)
        node.shards[0].kill()
        while received := node.receive(0.1):
            replies |= received
        acknowledged = {it[1:3] for it in writes if replies.get(it[1:3], (None,))[0] == Status.OK}
        refused = {it[1:3] for it in writes if replies.get(it[1:3], (None,))[0] == Status.REJECTED}
        in_doubt += len(writes) - len(acknowledged) - len(refused)
        if restarts:
            node.stop()
        node.shards[0].start()
        if restarts:
            node.start()
        until(partial(is_served, node, keys[0]), "the shard is served again")
        before = dict(zip([it[1:3] for it in writes], node.get(keys), strict=True))
        for name, (status, value) in before.items():
            if name in acknowledged:
                assert (status, value) == (Status.OK, b"of A %d" % turn), (
                    "an acknowledged write is lost"
                )
            if name in refused:
                assert status == Status.NOT_FOUND, "a refused write was applied"
        node.put(keys, b"of B")
        # Retransmissions of writes that were applied have no effect.
        again = node.ask(writes)
        done = [it for it, (status, _) in zip(writes, again, strict=True) if status == Status.OK]
        after = dict(zip([it[1:3] for it in writes], node.get(keys), strict=True))
        for write in done:
            if before[write[1:3]][0] == Status.OK:
                assert after[write[1:3]] == (Status.OK, b"of B"), "a write was applied twice"
    assert in_doubt > 0


def test_number_of_stores_is_one_or_that_of_servers(node: Node) -> None:
    node.stop()
    store = Redis(node.shards[0].place)
    three = {"servers": 3, "racks": 1, "key_size": 16}
    config = {**node.config, "partitions": [0, 1, 2], "keyspace": three}
    other = ServerNode(json.dumps(config))
    with pytest.raises(OSError, match="2 storage back ends for 3 servers"):
        other.start([store, store])
    other.stop()
    with pytest.raises(TypeError, match="no storage back end"):
        ServerNode(json.dumps({**config, "bind": "127.0.0.1:0"})).start([object()])  # type: ignore[list-item]
    store.close()
    node.start()
