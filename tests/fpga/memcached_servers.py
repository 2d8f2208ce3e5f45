"""Real memcached servers, and two ways to talk to one: sockets of the kernel, and frames."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import struct
import subprocess
import threading
from collections.abc import Iterator
from typing import Protocol

from netkv.live.ports import free_ports
from tests import programs
from tests.fpga.packets import frames
from tests.waiting import PATIENCE_S, until

PORT = 11211
"""Port of memcached in frames: the default of the designs."""
FIRST_CLIENT_PORT = 40000
_UDP = struct.Struct("!HHHH")


def command(address: str, port: int) -> list[str]:
    """The command of a server with one thread, over UDP and TCP."""
    # A server that root starts must be told its user.
    user = ["-u", "root"] if os.geteuid() == 0 else []
    return ["memcached", "-l", address, "-p", f"{port}", "-U", f"{port}", "-t", "1", *user]


def skip_without_memcached() -> None:
    programs.need("memcached")


@contextlib.contextmanager
def running() -> Iterator[tuple[str, int]]:
    """A new server on 127.0.0.1, and its address."""
    (port,) = free_ports(1)
    process = subprocess.Popen(command("127.0.0.1", port), stdin=subprocess.DEVNULL)
    try:
        address = ("127.0.0.1", port)
        until(lambda: _listens(address), "memcached listens")
        yield address
    finally:
        process.kill()
        process.wait()


def _listens(address: tuple[str, int]) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(address) == 0


class Link(Protocol):
    """A way to a server, for clients that are told apart by their UDP ports."""

    def send(self, client: int, payload: bytes) -> None: ...

    def receive(self, client: int) -> bytes: ...

    def stream(self, text: bytes) -> bytes:
        """The answer to ASCII commands over TCP."""
        ...


class Sockets:
    """Through the network stack of this machine."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._address = address
        self._clients: dict[int, socket.socket] = {}
        self._stream: socket.socket | None = None

    def send(self, client: int, payload: bytes) -> None:
        if client not in self._clients:
            made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            made.settimeout(PATIENCE_S)
            made.connect(self._address)
            self._clients[client] = made
        self._clients[client].send(payload)

    def receive(self, client: int) -> bytes:
        return self._clients[client].recv(65536)

    def stream(self, text: bytes) -> bytes:
        if self._stream is None:
            self._stream = socket.create_connection(self._address, timeout=PATIENCE_S)
        # The answer to the last command shows that there is no more.
        self._stream.sendall(text + b"mn\r\n")
        answer = b""
        while not answer.endswith(b"MN\r\n"):
            more = self._stream.recv(65536)
            assert more, "the server has closed the connection"
            answer += more
        return answer

    def close(self) -> None:
        for each in (*self._clients.values(), *([self._stream] if self._stream else [])):
            each.close()


class Frames:
    """Through a port of a design that is a UDP socket: a datagram is a frame."""

    def __init__(self, end: socket.socket, design: tuple[str, int]) -> None:
        self._end = end
        self._design = design

    def send(self, client: int, payload: bytes) -> None:
        frame = frames.udp_frame(payload, client=(frames.CLIENT_IP, FIRST_CLIENT_PORT + client))
        self._end.sendto(frame, self._design)

    def receive(self, client: int) -> bytes:
        target, payload = unpack(self._end.recv(4096), response=True)
        assert target == FIRST_CLIENT_PORT + client
        return payload

    def stream(self, text: bytes) -> bytes:
        raise NotImplementedError("frames have no TCP")


class Bridge:
    """A host whose memcached is a real one: takes UDP to its port out of frames, and puts the
    answers into frames. Other frames stay in `others`."""

    def __init__(
        self, end: socket.socket, design: tuple[str, int], server: tuple[str, int]
    ) -> None:
        self.others: list[bytes] = []
        self._end = end
        self._design = design
        self._server = server
        self._clients: dict[int, socket.socket] = {}
        self._wake, self._woken = socket.socketpair()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Bridge:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._wake.close()
        self._thread.join()
        self._woken.close()
        for each in self._clients.values():
            each.close()

    def _run(self) -> None:
        while True:
            ready, _, _ = select.select([self._end, self._woken, *self._clients.values()], [], [])
            if self._woken in ready:
                return
            for port, client in list(self._clients.items()):
                if client in ready:
                    frame = frames.udp_frame(
                        client.recv(65536), client=(frames.CLIENT_IP, port), response=True
                    )
                    self._end.sendto(frame, self._design)
            if self._end in ready:
                self._from_design(self._end.recv(4096))

    def _from_design(self, frame: bytes) -> None:
        if frame[12:14] != b"\x08\x00" or frame[23] != frames.UDP:
            self.others.append(frame)
            return
        port, payload = unpack(frame, response=False)
        if port not in self._clients:
            self._clients[port] = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._clients[port].connect(self._server)
        self._clients[port].send(payload)


def unpack(frame: bytes, *, response: bool) -> tuple[int, bytes]:
    """The client's port and the payload of a datagram to or from PORT; its checksums must hold."""
    source, target, length, _ = _UDP.unpack_from(frame, 34)
    server, client = (source, target) if response else (target, source)
    assert server == PORT
    assert frames.checksum(frame[14:34]) == 0, "checksum of IPv4"
    datagram = frame[34 : 34 + length]
    pseudo = frame[26:34] + struct.pack("!BBH", 0, frames.UDP, length)
    assert frames.checksum(pseudo + datagram) == 0, "checksum of UDP"
    return client, datagram[8:]
