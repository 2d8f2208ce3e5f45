"""The back end of docs/write-a-backend.md prints what the document says, and serves a node."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from netkv._engine import ServerNode
from tests.docs.documents import ROOT, blocks
from tests.waiting import PATIENCE_S

DOCUMENT = ROOT / "docs/write-a-backend.md"
(PROGRAM,) = blocks("python", DOCUMENT)


def backend(path: Path) -> Any:
    names: dict[str, Any] = {"__name__": "example"}
    exec(PROGRAM.text, names)
    return names["Sqlite"](path)


def test_example_prints_the_documented_output(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.text, str(tmp_path / "records.db")],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    (output,) = blocks("text", DOCUMENT)
    assert (done.stdout, done.returncode) == (output.text, 0), done.stderr


def test_example_serves_a_server_node(tmp_path: Path) -> None:
    """The node loads its data set through it, and leaves its mark."""
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as bound,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer,
    ):
        for each in (bound, peer):
            each.bind(("127.0.0.1", 0))
        ports = [each.getsockname()[1] for each in (bound, peer)]
    config = {
        "bind": f"127.0.0.1:{ports[0]}",
        "peer": f"127.0.0.1:{ports[1]}",
        "role": "plain",
        "partitions": [0],
        "servers": 1,
        "keys": 50,
        "value_size": 64,
        "seed": 1,
        "service_rate": None,
        "queue_limit": 64,
        "key_size": 16,
    }
    for _ in range(2):  # the second time it is loaded already
        store = backend(tmp_path / "records.db")
        node = ServerNode(json.dumps(config))
        node.start(store)
        assert node.failure() is None
        node.stop()
        (mark,) = store.execute([("get", b"netkv:data-set:1", None)])
        assert b"50 keys" in mark
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


@pytest.mark.parametrize("document", ["write-a-backend.md", "add-a-scheme.md", "p4runtime.md"])
def test_files_that_a_document_names_exist(document: str) -> None:
    text = (ROOT / "docs" / document).read_text()
    named = set(re.findall(r"`((?:netkv|engine|p4|servers|tests|scenarios|docs)/[\w./*-]+)`", text))
    assert named
    for name in sorted(named - {"servers/sqlite.py"}):
        pattern = name.rstrip("/").replace("NAME", "*")
        assert list(ROOT.glob(pattern)), f"{document}: {name}"
