"""Far ends of a bridge: bmv2's packet stream, and a network interface."""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from collections.abc import Iterator, Mapping

from netkv.errors import NetkvError
from netkv.lab.bmv2.packet_stream import PacketStream, StreamError
from netkv.lab.bridge import MAX_FRAME, FarEnd

STREAM = "grpc://"
"""Prefix of the location of a port that is reached by a packet stream."""
_RETRY_S = 0.05
"""Seconds between two attempts to open a packet stream: a switch without a program refuses it."""
_CONNECT_S = 2.0
_READ = 256 * 1024
_BATCH = 64
_ETH_P_ALL = 3
_PACKET_OUTGOING = 4
_SOL_PACKET, _PACKET_ADD_MEMBERSHIP, _PACKET_MR_PROMISC = 263, 1, 1


class StreamEnd:
    """All ports of a bmv2 switch, at its `--dp-grpc-server-addr`. It reconnects by itself."""

    def __init__(self, address: str, device_id: int) -> None:
        """`address` is host:port."""
        self._address = address
        self._device_id = device_id
        self._socket: socket.socket | None = None
        self._stream: PacketStream | None = None
        self._waiting = b""
        """Bytes that are not sent yet."""
        self._next_try = 0.0
        self._dropped = 0
        self._opened = 0

    def watched(self) -> tuple[socket.socket, bool] | None:
        return None if self._socket is None else (self._socket, bool(self._waiting))

    def receive(self) -> list[tuple[int, bytes]]:
        if self._socket is None or self._stream is None:
            return []
        try:
            data = self._socket.recv(_READ)
            found = self._stream.receive(data)
        except BlockingIOError:
            return []
        except (OSError, StreamError):
            self._disconnect()
            return []
        if not data or self._stream.ended:
            self._disconnect()
        return found

    def send(self, port: int, frame: bytes) -> bool:
        taken = self._stream is not None and self._stream.send(port, frame)
        self._dropped += not taken
        return taken

    def flush(self) -> None:
        if self._socket is None or self._stream is None:
            if time.monotonic() >= self._next_try:
                self._connect()
            return
        self._waiting = self._waiting or self._stream.take_output()
        while self._waiting:
            try:
                sent = self._socket.send(self._waiting)
            except BlockingIOError:
                return
            except OSError:
                self._disconnect()
                return
            self._waiting = self._waiting[sent:] or self._stream.take_output()

    def close(self) -> None:
        self._disconnect()

    def statistics(self) -> Mapping[str, int]:
        """`stream_drops`: frames without a stream or without room; `stream_calls`: connections."""
        return {"stream_drops": self._dropped, "stream_calls": self._opened}

    def _connect(self) -> None:
        self._next_try = time.monotonic() + _RETRY_S
        host, _, port = self._address.rpartition(":")
        try:
            connection = socket.create_connection((host.strip("[]"), int(port)), _CONNECT_S)
        except OSError:
            return
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = connection
        self._stream = PacketStream(self._address, self._device_id)
        self._opened += 1

    def _disconnect(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket = self._stream = None
        self._waiting = b""
        self._next_try = time.monotonic() + _RETRY_S


class InterfaceEnd:
    """One port of a switch, cabled to a network interface of this machine."""

    def __init__(self, interface: str, port: int) -> None:
        """Raises `NetkvError` if the interface cannot be used."""
        self._port = port
        self._dropped = 0
        try:
            self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        except PermissionError:
            raise NetkvError(
                f"Port {port} is at the network interface '{interface}': reading and writing "
                f"frames there needs root or CAP_NET_RAW."
            ) from None
        try:
            self._socket.setblocking(False)
            self._socket.bind((interface, _ETH_P_ALL))
            # Frames are addressed to the hosts of the rack, not to this interface.
            number = socket.if_nametoindex(interface)
            promiscuous = struct.pack("IHH8s", number, _PACKET_MR_PROMISC, 0, b"")
            self._socket.setsockopt(_SOL_PACKET, _PACKET_ADD_MEMBERSHIP, promiscuous)
        except OSError as error:
            self._socket.close()
            raise NetkvError(
                f"The network interface '{interface}' at port {port} cannot be used: "
                f"{error.strerror}."
            ) from error

    def watched(self) -> tuple[socket.socket, bool]:
        return self._socket, False

    def receive(self) -> Iterator[tuple[int, bytes]]:
        for _ in range(_BATCH):
            try:
                frame, (_, _, kind, *_) = self._socket.recvfrom(MAX_FRAME + 1)
            except OSError:
                return
            if kind != _PACKET_OUTGOING:
                yield self._port, frame

    def send(self, port: int, frame: bytes) -> bool:  # noqa: ARG002 (it has only one)
        with contextlib.suppress(OSError):
            self._socket.send(frame)
            return True
        self._dropped += 1
        return False

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self._socket.close()

    def statistics(self) -> Mapping[str, int]:
        """`interface_drops`: frames that the interface did not accept (summed over interfaces)."""
        return {"interface_drops": self._dropped}


def far_ends(via: Mapping[int, str], device_id: int) -> dict[int, FarEnd]:
    """The far ends of ports: `grpc://HOST:PORT` is a packet stream, else an interface's name.

    Raises `NetkvError` if an interface cannot be used.
    """
    streams: dict[str, FarEnd] = {}
    found: dict[int, FarEnd] = {}
    for port, where in via.items():
        if where.startswith(STREAM):
            address = where.removeprefix(STREAM)
            found[port] = streams.setdefault(address, StreamEnd(address, device_id))
        else:
            found[port] = InterfaceEnd(where, port)
    return found
