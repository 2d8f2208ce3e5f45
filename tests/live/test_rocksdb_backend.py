"""RocksDB as a back end: batches, and acknowledged writes after kill -9."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from netkv.errors import NetkvError
from netkv.servers.rocksdb import RocksDB

WRITER = """
import sys
from netkv.servers.rocksdb import RocksDB

database = RocksDB(sys.argv[1])
number = 0
while True:
    batch = [("put", i.to_bytes(16, "big"), b"v%d" % i) for i in range(number, number + 100)]
    database.execute(batch)
    number += 100
    print(number, flush=True)  # acknowledged up to here
"""


def key(number: int) -> bytes:
    return number.to_bytes(16, "big")


def test_acknowledged_writes_survive_kill_9(tmp_path: Path) -> None:
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path / "db")], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    acknowledged = 0
    while acknowledged < 2000:
        acknowledged = int(writer.stdout.readline())
    os.kill(writer.pid, signal.SIGKILL)
    for line in writer.stdout:
        acknowledged = int(line)
    writer.stdout.close()
    writer.wait()
    database = RocksDB(tmp_path / "db")
    found = database.execute([("get", key(i), None) for i in range(acknowledged)])
    assert found == [b"v%d" % i for i in range(acknowledged)]
    database.close()


def test_a_batch_sees_its_own_writes_in_order(tmp_path: Path) -> None:
    database = RocksDB(tmp_path)
    database.execute([("put", key(1), b"old"), ("put", key(2), b"two")])
    results = database.execute(
        [
            ("get", key(1), None),
            ("put", key(1), b"new"),
            ("get", key(1), None),
            ("delete", key(1), None),
            ("get", key(1), None),
            ("delete", key(1), None),
            ("put", key(1), b"last"),
            ("delete", key(2), None),
            ("get", key(3), None),
        ]
    )
    assert results == [b"old", None, b"new", None, None, None, None, None, None]
    after = database.execute([("get", key(number), None) for number in (1, 2)])
    assert after == [b"last", None]
    database.close()


def test_keys_and_values_of_any_bytes_are_read_back(tmp_path: Path) -> None:
    database = RocksDB(tmp_path)
    values = {bytes([i]) * 16: bytes([255 - i, 0]) * 64 for i in range(256)}
    database.execute([("put", name, value) for name, value in values.items()])
    assert database.execute([("get", name, None) for name in values]) == list(values.values())
    database.close()


def test_unknown_operation_is_refused_without_a_write(tmp_path: Path) -> None:
    database = RocksDB(tmp_path)
    with pytest.raises(ValueError, match="'increment' is no storage operation"):
        database.execute([("put", key(1), b"x"), ("increment", key(1), None)])
    assert database.execute([("get", key(1), None)]) == [None]
    database.close()


def test_database_in_use_is_reported(tmp_path: Path) -> None:
    database = RocksDB(tmp_path)
    with pytest.raises(NetkvError, match="no other process uses"):
        RocksDB(tmp_path)
    database.close()
    RocksDB(tmp_path).close()
