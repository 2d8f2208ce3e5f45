"""Frames to and from the ports of a bmv2 switch over one gRPC call, without network interfaces.

simple_switch_grpc serves `p4.bm.DataplaneInterface/PacketStream` at `--dp-grpc-server-addr`: a
message from the client is a frame that comes in at a port, one from the switch a frame that leaves.
"""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
import time
from collections.abc import Mapping
from typing import Any

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

METHOD = "/p4.bm.DataplaneInterface/PacketStream"
MAX_WAITING = 1 << 20
"""Bytes of frames that wait for the flow control of the switch."""
MAX_ARRIVED = 4096
"""Frames of the switch that wait for the bridge. Then the flow control holds further ones back."""
_RETRY_S = 0.05
"""Seconds between two calls: a switch without a program ends each at once."""
_CHANNEL = (
    # Channels to one address else share a connection, and with it the pause after a failure.
    ("grpc.use_local_subchannel_pool", 1),
)


def _message(name: str) -> type[Any]:
    """A message of bmv2's `dataplane_interface.proto`. Request and response have equal fields."""
    field = descriptor_pb2.FieldDescriptorProto
    types = {
        "id": field.TYPE_UINT64,
        "device_id": field.TYPE_UINT64,
        "port": field.TYPE_UINT32,
        "packet": field.TYPE_BYTES,
    }
    message = descriptor_pb2.DescriptorProto(name=name)
    for number, (label, kind) in enumerate(types.items(), start=1):
        message.field.add(name=label, number=number, type=kind, label=field.LABEL_OPTIONAL)
    file = descriptor_pb2.FileDescriptorProto(
        name=f"{name}.proto", package="p4.bm", syntax="proto3", message_type=[message]
    )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"p4.bm.{name}"))


Request, Response = _message("PacketStreamRequest"), _message("PacketStreamResponse")


class PacketStream:
    """All ports of a bmv2 switch, as the far end of a bridge. It calls again when a call ends."""

    def __init__(self, address: str, device_id: int) -> None:
        """`address` is host:port."""
        self._address = address
        self._device_id = device_id
        self._call: _Call | None = None
        self._next_try = 0.0
        self._dropped = 0
        self._calls = 0

    def watched(self) -> tuple[socket.socket, bool] | None:
        return None if self._call is None else (self._call.woken, False)

    def receive(self) -> list[tuple[int, bytes]]:
        if self._call is None:
            return []
        ended = self._call.ended.is_set()
        found = self._call.take()
        if ended:
            self.close()
        return found

    def send(self, port: int, frame: bytes) -> bool:
        taken = self._call is not None and self._call.send(port, frame)
        self._dropped += not taken
        return taken

    def flush(self) -> None:
        if self._call is None and time.monotonic() >= self._next_try:
            self._calls += 1
            self._call = _Call(self._address, self._device_id)

    def close(self) -> None:
        if self._call is not None:
            self._call.close()
            self._call = None
        self._next_try = time.monotonic() + _RETRY_S

    def statistics(self) -> Mapping[str, int]:
        """`stream_drops`: frames without a call or without room; `stream_calls`: calls."""
        return {"stream_drops": self._dropped, "stream_calls": self._calls}


class _Call:
    """One call. gRPC takes its requests in a thread of its own; another reads its responses."""

    def __init__(self, address: str, device_id: int) -> None:
        self.ended = threading.Event()
        self.woken, self._wake = socket.socketpair()
        for each in (self.woken, self._wake):
            each.setblocking(False)
        self._device_id = device_id
        self._requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._sent = self._taken = 0
        """Bytes of frames that were given to the call, and that gRPC has taken from it."""
        self._arrived: queue.Queue[tuple[int, bytes]] = queue.Queue(MAX_ARRIVED)
        self._channel = grpc.insecure_channel(address, _CHANNEL)
        method = self._channel.stream_stream(METHOD, Request.SerializeToString, Response.FromString)
        self._responses = method(iter(self._next_request, None))
        threading.Thread(target=self._read, name="packet stream", daemon=True).start()

    def send(self, port: int, frame: bytes) -> bool:
        """Lets a frame come in at a port; False if there is no room."""
        if self.ended.is_set() or self._sent - self._taken + len(frame) > MAX_WAITING:
            return False
        self._sent += len(frame)
        self._requests.put(Request(device_id=self._device_id, port=port, packet=frame))
        return True

    def take(self) -> list[tuple[int, bytes]]:
        """(port, frame) of the frames that have arrived."""
        # The bytes go first: a frame that arrives after them has one of its own.
        with contextlib.suppress(BlockingIOError):
            self.woken.recv(MAX_ARRIVED)
        found: list[tuple[int, bytes]] = []
        with contextlib.suppress(queue.Empty):
            while len(found) < MAX_ARRIVED:
                found.append(self._arrived.get_nowait())
        return found

    def close(self) -> None:
        """Ends the call and its threads."""
        self.ended.set()
        self._requests.put(None)
        self._responses.cancel()
        self._channel.close()
        self.take()
        self.woken.close()

    def _next_request(self) -> Any:
        """Called by gRPC when the flow control admits another message; None after the last."""
        request = self._requests.get()
        if request is not None:
            self._taken += len(request.packet)
        return request

    def _read(self) -> None:
        with self._wake, contextlib.suppress(OSError):
            with contextlib.suppress(grpc.RpcError):
                for response in self._responses:
                    self._arrived.put((response.port, response.packet))
                    self._signal()
            self.ended.set()
            self._signal()

    def _signal(self) -> None:
        """Wakes the bridge. Raises OSError if it has closed the call."""
        # A full buffer of signals is one, too.
        with contextlib.suppress(BlockingIOError):
            self._wake.send(b"\0")
