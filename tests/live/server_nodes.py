"""Server nodes for tests: their configuration, a process that runs one, and its clients."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from netkv.live.ports import free_ports
from netkv.model.messages import Status, decode
from tests.waiting import PATIENCE_S

_SERVE = """
import sys, time
from netkv._engine import ServerNode
from netkv.servers.rocksdb import RocksDB

node = ServerNode(sys.argv[1])
node.start(RocksDB(sys.argv[2]))
print("ready", flush=True)
while True:
    time.sleep(1)
"""

Replies = dict[tuple[int, int], tuple[Status, bytes]]
"""Status and value by client and request number."""


def server_config(bind: str, peer: str, *, servers: int = 1, **changes: Any) -> dict[str, Any]:
    """The configuration of a node with the first of `servers` servers, of ten keys; `changes`
    replace or add fields."""
    return {
        "bind": bind,
        "peer": peer,
        "role": "plain",
        "partitions": [0],
        "keyspace": {"servers": servers, "racks": 1, "key_size": 16},
        "keys": 10,
        "value_size": 64,
        "seed": 1,
        "service_rate": None,
        "queue_limit": 256,
        **changes,
    }


def start_server(config: dict[str, Any], database: Path) -> subprocess.Popen[str]:
    """Starts a process that serves a RocksDB database, and waits until it is ready."""
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVE, json.dumps(config), str(database)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


class ServerHarness:
    """The configuration of a server node, and the socket of its clients: there is no switch."""

    def __init__(self, **changes: Any) -> None:
        server, own = free_ports(2)
        self.config = server_config(f"127.0.0.1:{server}", f"127.0.0.1:{own}", **changes)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", own))
        self._server = ("127.0.0.1", server)

    def close(self) -> None:
        self._socket.close()

    def send_frame(self, frame: bytes) -> None:
        self._socket.sendto(frame, self._server)

    def receive_frame(self) -> bytes:
        self._socket.settimeout(PATIENCE_S)
        return self._socket.recv(2048)

    def receive(self, timeout_s: float) -> Replies:
        """All replies that have arrived; waits up to `timeout_s` for the first one."""
        replies: Replies = {}
        self._socket.settimeout(timeout_s)
        while True:
            try:
                frame = self._socket.recv(2048)
            except (TimeoutError, BlockingIOError):
                return replies
            self._socket.settimeout(0)
            reply = decode(frame).message
            replies[reply.sender, reply.request] = reply.status, reply.value
