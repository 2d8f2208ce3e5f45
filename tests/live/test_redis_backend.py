"""Redis as a back end: acknowledged writes survive kill -9, and batches are atomic and applied
once, also after failures of the server and of connections."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from netkv.errors import NetkvError
from netkv.servers.redis import Redis
from netkv.servers.redis_places import Own
from tests.live.redis_servers import OwnServer
from tests.waiting import until

WRITER = """
import sys
from pathlib import Path
from netkv.servers.redis import Redis
from netkv.servers.redis_places import Own

store = Redis(Own(Path(sys.argv[1])))
number = 0
while True:
    batch = [("put", i.to_bytes(16, "big"), b"v%d" % i) for i in range(number, number + 100)]
    store.execute(batch)
    number += 100
    print(number, flush=True)  # acknowledged up to here
"""


def key(number: int) -> bytes:
    return number.to_bytes(16, "big")


def until_ready(store: Redis) -> None:
    until(store.ready, "the store is ready", every_s=0.005)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[OwnServer]:
    server = OwnServer(tmp_path / "redis")
    yield server
    server.kill()


@pytest.fixture
def store(server: OwnServer) -> Iterator[Redis]:
    store = Redis(server.place, timeout=1.0)
    yield store
    store.close()


def test_a_batch_sees_its_own_writes_in_order(store: Redis) -> None:
    store.execute([("put", key(1), b"old"), ("put", key(2), b"two")])
    results = store.execute(
        [
            ("get", key(1), None),
            ("put", key(1), b"new"),
            ("get", key(1), None),
            ("delete", key(1), None),
            ("get", key(1), None),
            ("put", key(1), b"last"),
            ("delete", key(2), None),
            ("get", key(3), None),
        ]
    )
    assert results == [b"old", None, b"new", None, None, None, None, None]
    after = store.execute([("get", key(number), None) for number in (1, 2)])
    assert after == [b"last", None]


def test_keys_and_values_of_any_bytes_are_read_back(store: Redis) -> None:
    values = {bytes([i]) * (4 + i % 61): bytes([255 - i, 0, 13, 10]) * i for i in range(256)}
    store.execute([("put", name, value) for name, value in values.items()])
    assert store.execute([("get", name, None) for name in values]) == list(values.values())


def test_unknown_operation_is_refused_without_a_write(store: Redis) -> None:
    with pytest.raises(ValueError, match="'increment' is no storage operation"):
        store.execute([("put", key(1), b"x"), ("increment", key(1), None)])
    assert store.execute([("get", key(1), None)]) == [None]


def test_acknowledged_writes_survive_kill_9_of_writer_and_server(server: OwnServer) -> None:
    for _ in range(3):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(server.place.directory)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert writer.stdout is not None
        acknowledged = 0
        while acknowledged < 2000:
            acknowledged = int(writer.stdout.readline())
        server.kill()
        os.kill(writer.pid, signal.SIGKILL)
        for line in writer.stdout:
            acknowledged = int(line)
        writer.stdout.close()
        writer.wait()
        server.start()
        store = Redis(server.place)
        found = store.execute([("get", key(i), None) for i in range(acknowledged)])
        assert found == [b"v%d" % i for i in range(acknowledged)]
        store.close()


def test_batch_in_doubt_is_completed_after_a_restart(server: OwnServer, store: Redis) -> None:
    """Each batch writes all keys, so after each kill all keys have the value of one batch."""
    keys = [key(i) for i in range(200)]
    rng = random.Random(4)
    number = 0
    for _ in range(8):
        end = time.monotonic() + 0.02 + rng.random() * 0.05
        results: object = ()
        while results is not None:
            if time.monotonic() > end:
                server.signal(signal.SIGKILL)
            number += 1
            value = b"%d" % number
            store.send([("get", keys[0], None), *(("put", it, value) for it in keys)])
            results = store.receive()
        assert not store.ready(), "the last batch is in doubt"
        server.kill()
        server.start(wait=False)
        until_ready(store)
        found = store.execute([("get", it, None) for it in keys])
        assert set(found) == {b"%d" % number}


def test_batch_sent_to_a_hanging_server_is_applied_once(server: OwnServer, store: Redis) -> None:
    """After SIGCONT, Redis serves the closed connection and the new one in any order."""
    store.execute([("put", key(1), b"one"), ("put", key(2), b"two")])
    server.signal(signal.SIGSTOP)
    store.send([("put", key(1), b"in doubt"), ("delete", key(2), None)])
    assert store.receive() is None
    assert not store.ready()
    with pytest.raises(NetkvError, match="does not answer"):
        store.execute([("get", key(1), None)])
    server.signal(signal.SIGCONT)
    until_ready(store)
    assert store.execute([("get", key(1), None), ("get", key(2), None)]) == [b"in doubt", None]
    store.execute([("put", key(1), b"later"), ("put", key(2), b"later")])
    time.sleep(0.2)  # time in which Redis would apply a batch of the old connection
    after = store.execute([("get", key(1), None), ("get", key(2), None)])
    assert after == [b"later", b"later"]


def test_late_batch_of_a_killed_writer_is_not_applied(
    server: OwnServer,
) -> None:
    old = Redis(server.place, timeout=1.0)
    old.execute([("put", key(1), b"old")])
    new = Redis(server.place, timeout=1.0)
    new.execute([("put", key(1), b"new")])
    with pytest.raises(NetkvError, match="Another client writes"):
        old.execute([("put", key(1), b"late")])
    with pytest.raises(NetkvError, match="Another client writes"):
        old.ready()
    assert new.execute([("get", key(1), None)]) == [b"new"]
    old.close()
    new.close()


def test_server_that_lost_acknowledged_writes_is_refused(server: OwnServer, store: Redis) -> None:
    files = server.place.directory / "appendonlydir"
    store.execute([("put", key(1), b"early")])
    kept = {file: file.read_bytes() for file in files.iterdir()}
    store.execute([("put", key(1), b"late")])
    store.execute([("put", key(1), b"latest")])
    server.kill()
    for file, content in kept.items():
        file.write_bytes(content)
    server.start()
    store.send([("get", key(1), None)])
    assert store.receive() is None
    with pytest.raises(NetkvError, match="has lost the last 2 of 3 batches of acknowledged writes"):
        until_ready(store)
    store.close()
    server.kill()
    for file in kept:
        file.unlink()
    server.start()
    fresh = Redis(server.place)
    fresh.execute([("put", key(1), b"there")])
    fresh._place.wipe()
    server.kill()
    server.start()
    fresh.send([("get", key(1), None)])
    assert fresh.receive() is None
    with pytest.raises(NetkvError, match="has lost all its records"):
        until_ready(fresh)
    fresh.close()


def test_missing_server_is_reported(tmp_path: Path) -> None:
    with pytest.raises(NetkvError, match=r"redis\.sock cannot be used"):
        Redis(Own(tmp_path), patience=0.1)
