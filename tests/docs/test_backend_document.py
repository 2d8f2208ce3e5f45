"""The back end of docs/extend/write-a-backend.md prints the documented output and serves a server
node."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from netkv._engine import ServerNode
from netkv.live.ports import free_ports
from tests.docs.documents import ROOT, blocks, run_python
from tests.live.server_nodes import server_config

DOCUMENT = ROOT / "docs/extend/write-a-backend.md"
(PROGRAM,) = blocks("python", DOCUMENT)


def backend(path: Path) -> Any:
    """The back end of the document over a database file."""
    names: dict[str, Any] = {"__name__": "example"}
    exec(PROGRAM.text, names)
    return names["Sqlite"](path)


def test_example_prints_the_documented_output(tmp_path: Path) -> None:
    (output,) = blocks("text", DOCUMENT)
    assert run_python(PROGRAM.text, str(tmp_path / "records.db")) == output.text


def test_example_serves_a_server_node(tmp_path: Path) -> None:
    """The node loads its data set once, and writes the record that identifies it."""
    bind, peer = (f"127.0.0.1:{port}" for port in free_ports(2))
    config = server_config(bind, peer, keys=50, queue_limit=64)
    for _ in range(2):  # the second node finds the data set
        store = backend(tmp_path / "records.db")
        node = ServerNode(json.dumps(config))
        node.start(store)
        assert node.failure() is None
        node.stop()
        (data_set,) = store.execute([("get", b"netkv:data-set:1", None)])
        assert b"50 keys" in data_set
        assert store._database.execute("SELECT count(*) FROM records").fetchone() == (51,)
        store.close()


def test_example_writes_nothing_of_a_wrong_batch(tmp_path: Path) -> None:
    store = backend(tmp_path / "records.db")
    with pytest.raises(ValueError, match="no storage operation"):
        store.execute([("put", b"k" * 16, b"v"), ("increment", b"k" * 16, None)])
    with pytest.raises(Exception, match="NOT NULL"):
        store.execute([("put", b"k" * 16, b"v"), ("put", b"l" * 16, None)])
    assert store.execute([("get", b"k" * 16, None)]) == [None]
    store.close()
