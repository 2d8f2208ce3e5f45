"""The far ends of ports that are UDP sockets: a datagram is a frame."""

from __future__ import annotations

import socket

from netkv.lab.ports import free_ports
from tests.waiting import PATIENCE_S


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
