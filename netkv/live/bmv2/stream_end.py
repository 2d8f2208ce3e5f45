"""The far end of a bridge at bmv2's packet stream."""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping

from netkv.live.bmv2.packet_stream import PacketStream, StreamError

_RETRY_S = 0.05
"""Seconds between two attempts to open a packet stream: a switch without a program refuses it."""
_CONNECT_S = 2.0
_READ = 256 * 1024


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
