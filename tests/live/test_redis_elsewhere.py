"""Redis servers and Redis Clusters that netkv has not started."""

from __future__ import annotations

import contextlib
import socket
import subprocess
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import redis
from redis.crc import key_slot

from netkv.errors import NetkvError
from netkv.live.ports import free_ports
from netkv.model.hardware import RedisSpec
from netkv.servers.redis import Redis
from netkv.servers.redis_places import Place, place, shared, tag
from tests import programs
from tests.waiting import PATIENCE_S, until

NODES = 3
SLOTS = 16384


def launch(directory: Path, port: int, *options: str) -> subprocess.Popen[bytes]:
    program = programs.find("redis-server")
    directory.mkdir()
    process = subprocess.Popen(
        [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", *options],
        cwd=directory, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    until(partial(listens, port), "the redis-server listens")
    return process


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), PATIENCE_S).close()
    except OSError:
        return False
    return True


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    (port,) = free_ports(1)
    process = launch(tmp_path_factory.mktemp("redis") / "server", port, "--appendonly", "yes")
    yield f"127.0.0.1:{port}"
    process.kill()
    process.wait()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """The addresses of a cluster of three nodes, each with a third of the slots."""
    folder = tmp_path_factory.mktemp("cluster")
    free = free_ports(2 * NODES)
    ports, buses = free[:NODES], free[NODES:]
    with contextlib.ExitStack() as stack:
        for port, bus in zip(ports, buses, strict=True):
            options = ("--cluster-enabled", "yes", "--cluster-node-timeout", "2000")
            process = launch(folder / str(port), port, *options, "--cluster-port", str(bus))
            stack.callback(process.wait)
            stack.callback(process.kill)
        _join(ports, buses[0])
        yield [f"127.0.0.1:{port}" for port in ports]


def execute(client: redis.Redis, *words: bytes | str | int) -> Any:
    """The reply to a command; redis-py declares no type for it."""
    return client.execute_command(*words)  # type: ignore[no-untyped-call]


def _join(ports: Sequence[int], bus: int) -> None:
    """The nodes meet the first one, which has this port for the cluster bus."""
    clients = [redis.Redis(port=port) for port in ports]
    for index, client in enumerate(clients):
        first, last = index * SLOTS // NODES, (index + 1) * SLOTS // NODES - 1
        execute(client, "CLUSTER", "SET-CONFIG-EPOCH", index + 1)
        execute(client, "CLUSTER", "ADDSLOTSRANGE", first, last)
        if index:
            execute(client, "CLUSTER", "MEET", "127.0.0.1", ports[0], bus)
    for client in clients:
        until(partial(_knows_all, client), "a node knows the slots of all nodes")
        client.close()


def _knows_all(client: redis.Redis) -> bool:
    ok = b"cluster_state:ok" in execute(client, "CLUSTER", "INFO")
    return ok and len(execute(client, "CLUSTER", "SLOTS")) == NODES


def write_and_read(places: Sequence[Place]) -> None:
    """Checks that shards at these places have separate records for equal keys."""
    keys = [number.to_bytes(16, "big") for number in range(100)]
    stores = [Redis(each) for each in places]
    for shard, store in enumerate(stores):
        store.execute([("put", key, b"%d of %d" % (key[-1], shard)) for key in keys])
        store.execute([("delete", keys[0], None)])
    for shard, store in enumerate(stores):
        found = store.execute([("get", key, None) for key in keys])
        assert found == [None, *(b"%d of %d" % (key[-1], shard) for key in keys[1:])]
        store.close()
    places[0].wipe()
    again = [Redis(each) for each in places]
    counts = []
    for store in again:
        counts.append(sum(it is not None for it in store.execute([("get", k, None) for k in keys])))
        store.close()
    assert counts == [0, *(99 for _ in places[1:])]


def test_shards_share_an_external_server(server: str) -> None:
    with redis.Redis(port=int(server.rpartition(":")[2])) as client:
        client.set("mine", "untouched")
        write_and_read([place(shared([server], False, "netkv", i, 3)) for i in range(3)])
        assert client.get("mine") == b"untouched"


def test_each_shard_is_in_one_slot_of_the_cluster(cluster: list[str]) -> None:
    shards = 2 * NODES
    write_and_read([place(shared(cluster[:1], True, "lab", i, shards)) for i in range(shards)])
    for address in cluster:
        with redis.Redis(port=int(address.rpartition(":")[2])) as client:
            slots = {key_slot(key) for key in client.keys("*")}
            assert len(slots) == shards // NODES


def test_a_shard_follows_its_slot_to_another_node_of_the_cluster(cluster: list[str]) -> None:
    shard = place(shared(cluster, True, "moves", 0, 1))
    store = Redis(shard, timeout=1.0)
    store.execute([("put", b"k" * 16, b"before")])
    slot = key_slot(shard.prefix)
    clients = [redis.Redis(port=int(address.rpartition(":")[2])) for address in cluster]
    ids = [execute(client, "CLUSTER", "MYID").decode() for client in clients]
    owner = next(
        i for i, it in enumerate(clients) if execute(it, "CLUSTER", "COUNTKEYSINSLOT", slot)
    )
    to = (owner + 1) % NODES
    execute(clients[to], "CLUSTER", "SETSLOT", slot, "IMPORTING", ids[owner])
    execute(clients[owner], "CLUSTER", "SETSLOT", slot, "MIGRATING", ids[to])
    keys = execute(clients[owner], "CLUSTER", "GETKEYSINSLOT", slot, 100)
    port = int(cluster[to].rpartition(":")[2])
    execute(clients[owner], "MIGRATE", "127.0.0.1", port, "", 0, 5000, "KEYS", *keys)
    for index in (to, owner, (owner + 2) % NODES):
        execute(clients[index], "CLUSTER", "SETSLOT", slot, "NODE", ids[to])
    store.send([("put", b"k" * 16, b"after"), ("put", b"l" * 16, b"too")])
    if store.receive() is None:  # a redirection to the new node of the slot
        until(store.ready, "the store is ready")
    found = store.execute([("get", b"k" * 16, None), ("get", b"l" * 16, None)])
    assert found == [b"after", b"too"]
    assert execute(clients[to], "CLUSTER", "COUNTKEYSINSLOT", slot) == 3
    store.close()
    for client in clients:
        client.close()


def test_a_password_comes_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (port,) = free_ports(1)
    process = launch(tmp_path / "closed", port, "--requirepass", "sesame")
    try:
        shard = place(shared([f"127.0.0.1:{port}"], False, "netkv", 0, 1))
        with pytest.raises(NetkvError, match="NETKV_REDIS_PASSWORD"):
            Redis(shard, patience=0.5)
        monkeypatch.setenv("NETKV_REDIS_PASSWORD", "sesame")
        store = Redis(shard)
        store.execute([("put", b"k" * 16, b"v")])
        store.close()
    finally:
        process.kill()
        process.wait()


def test_shards_are_spread_evenly_over_the_slots() -> None:
    for shards in (1, 3, 8, 128):
        slots = [key_slot(tag("netkv", shard, shards).encode()) for shard in range(shards)]
        assert [slot * shards // SLOTS for slot in slots] == list(range(shards))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"cluster": True}, "needs the 'addresses'"),
        ({"addresses": ["localhost"]}, "addresses"),
        ({"prefix": "{a}"}, "prefix"),
        ({"fsync": "sometimes"}, "fsync"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, object], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        RedisSpec.model_validate(options)
