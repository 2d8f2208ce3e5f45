"""Designs that run live, and the far ends of ports that are UDP sockets: a datagram is a frame."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from netkv.live.ports import free_ports
from tests.switch.sandbox import ROOT
from tests.waiting import PATIENCE_S, until


class Ends:
    """The far ends of two ports."""

    def __init__(self) -> None:
        self.addresses = [f"127.0.0.1:{port}" for port in free_ports(4)]
        """Those of the design's two ports, then those of the far ends."""
        self.sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]
        for end, address in zip(self.sockets, self.addresses[2:], strict=True):
            # A busy machine lets a test wait while hundreds of frames arrive.
            end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
            end.bind(pair(address))
            end.settimeout(PATIENCE_S)

    def plug(self, index: int) -> tuple[str, str]:
        """A port of the design: its own address and that of its far end."""
        return self.addresses[index], self.addresses[2 + index]

    def send(self, index: int, frame: bytes) -> None:
        self.sockets[index].sendto(frame, pair(self.addresses[index]))

    def receive(self, index: int) -> bytes:
        return self.sockets[index].recv(4096)

    def close(self) -> None:
        for end in self.sockets:
            end.close()


def pair(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host, int(port)


@contextmanager
def running(home: Path, log: Path, *words: str) -> Iterator[None]:
    """`netkv fpga run WORDS --live` with its output in `log`."""
    command = [sys.executable, "-m", "netkv", "fpga", "run", *words, "--live"]
    environment = {**os.environ, "NETKV_HOME": str(home)}
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=out, stderr=out)
    try:
        until(lambda: "runs as" in log.read_text(), "the design runs")
        yield
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE_S)
    assert process.returncode == 0, log.read_text()
