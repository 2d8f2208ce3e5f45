"""Frames to and from the ports of a bmv2 switch over one gRPC call, without network interfaces.

simple_switch_grpc serves `p4.bm.DataplaneInterface/PacketStream` at `--dp-grpc-server-addr`: a
message from the client is a frame that comes in at a port, one from the switch a frame that leaves.
A message has the device id (field 2), the port (3) and the frame (4).

`PacketStream` is the client's side of that call without I/O: HTTP/2 for the one stream that it
needs, the framing of gRPC, and the two messages. Bytes of the connection go in (`receive`), bytes
for the connection come out (`take_output`). A gRPC library handles each message by itself, through
a completion queue; here a read or a write of the socket has as many frames as there are.

Rules
-----
1. The switch may send as much as it likes: the window is 2 GiB and renewed when half is used.
2. Frames that the flow control of the switch does not admit wait here, up to `MAX_WAITING` bytes.
   Further ones are dropped, as at the full queue of a port.
3. The call ends with the switch's trailers, a reset or the end of the connection. Before its
   program is loaded the switch ends each call at once, so the caller must open another.
"""

from __future__ import annotations

import struct

PATH = b"/p4.bm.DataplaneInterface/PacketStream"
MAX_WAITING = 1 << 20
"""Bytes that wait for the switch's flow control."""
MAX_FRAME = 64 * 1024
"""Limit of the length of a frame; a longer one means that the stream is not of this protocol."""

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _RST_STREAM, _SETTINGS, _PING, _GOAWAY, _WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
_ACK = _END_STREAM = 1
_END_HEADERS = 4
_PADDED = 8
_STREAM = 1
_HEADER_TABLE_SIZE, _INITIAL_WINDOW_SIZE, _MAX_FRAME_SIZE = 1, 4, 5
_FIRST_WINDOW = 65_535
"""Initial flow-control window of HTTP/2, in bytes."""
_WINDOW = (1 << 31) - 1
_GRPC_PREFIX = 5
"""Bytes before a message: a flag for compression, and its length."""


class StreamError(ValueError):
    """The other side violates this protocol."""


class PacketStream:
    """One call, from its first byte to its end."""

    def __init__(self, authority: str, device_id: int) -> None:
        """`authority` is host:port of the switch's data-plane server."""
        self.ended = False
        """The switch has ended the call; nothing is sent or received any more."""
        self.dropped = 0
        """Frames for which there was no room."""
        self._device = b"\x10" + _varint(device_id)
        self._output = bytearray(_PREFACE)
        self._input = bytearray()
        self._body = bytearray()
        """Messages that wait for the switch's flow control."""
        self._message = bytearray()
        """The beginning of a message of the switch."""
        self._peer_frame_size = 16_384
        self._peer_initial = _FIRST_WINDOW
        self._connection_window = _FIRST_WINDOW
        self._stream_window = _FIRST_WINDOW
        self._unacknowledged = 0
        """Bytes of the switch since its window was renewed."""
        settings = struct.pack(">HIHI", _HEADER_TABLE_SIZE, 0, _INITIAL_WINDOW_SIZE, _WINDOW)
        self._frame(_SETTINGS, 0, 0, settings)
        self._frame(_WINDOW_UPDATE, 0, 0, struct.pack(">I", _WINDOW - _FIRST_WINDOW))
        self._frame(_HEADERS, _END_HEADERS, _STREAM, _request_headers(authority.encode()))

    def send(self, port: int, frame: bytes) -> bool:
        """Lets a frame come in at a port; False if it is dropped."""
        if len(self._body) + len(frame) > MAX_WAITING or self.ended:
            self.dropped += 1
            return False
        message = self._device + b"\x18" + _varint(port) + b"\x22" + _varint(len(frame)) + frame
        self._body += struct.pack(">BI", 0, len(message)) + message
        return True

    def take_output(self) -> bytes:
        """Bytes to write to the connection now; empty if there are none or none is allowed."""
        while self._body and not self.ended:
            room = min(self._connection_window, self._stream_window, self._peer_frame_size)
            if room <= 0:
                break
            part = bytes(self._body[:room])
            del self._body[:room]
            self._connection_window -= len(part)
            self._stream_window -= len(part)
            self._frame(_DATA, 0, _STREAM, part)
        output = bytes(self._output)
        self._output.clear()
        return output

    def receive(self, data: bytes) -> list[tuple[int, bytes]]:
        """Takes bytes of the connection; returns (port, frame) for each frame that has left.

        Raises `StreamError` for bytes that are not HTTP/2, gRPC, or a message of the call.
        """
        self._input += data
        found: list[tuple[int, bytes]] = []
        at = 0
        while len(self._input) - at >= 9:
            length = int.from_bytes(self._input[at : at + 3], "big")
            kind, flags = self._input[at + 3], self._input[at + 4]
            if length > 1 << 20:
                raise StreamError(f"a frame of {length:,} bytes, more than the limit of this side")
            if len(self._input) - at - 9 < length:
                break
            stream = int.from_bytes(self._input[at + 5 : at + 9], "big")
            payload = bytes(self._input[at + 9 : at + 9 + length])
            at += 9 + length
            self._on_frame(kind, flags, stream, payload, found)
        del self._input[:at]
        return found

    def _on_frame(
        self, kind: int, flags: int, stream: int, payload: bytes, found: list[tuple[int, bytes]]
    ) -> None:
        if kind == _DATA:
            self._on_data(flags, payload, found)
        elif kind == _SETTINGS and not flags & _ACK:
            self._on_settings(payload)
        elif kind == _PING and not flags & _ACK:
            self._frame(_PING, _ACK, 0, payload)
        elif kind == _WINDOW_UPDATE:
            granted = int.from_bytes(payload[:4], "big")
            if stream:
                self._stream_window += granted
            else:
                self._connection_window += granted
        elif kind in (_RST_STREAM, _GOAWAY):
            self.ended = True
        if kind in (_DATA, _HEADERS) and flags & _END_STREAM:
            self.ended = True

    def _on_data(self, flags: int, payload: bytes, found: list[tuple[int, bytes]]) -> None:
        self._unacknowledged += len(payload)
        if self._unacknowledged > _WINDOW // 2:
            grant = struct.pack(">I", self._unacknowledged)
            self._frame(_WINDOW_UPDATE, 0, 0, grant)
            self._frame(_WINDOW_UPDATE, 0, _STREAM, grant)
            self._unacknowledged = 0
        if flags & _PADDED:
            payload = payload[1 : len(payload) - payload[0]]
        self._message += payload
        at = 0
        while len(self._message) - at >= _GRPC_PREFIX:
            compressed, length = struct.unpack_from(">BI", self._message, at)
            if compressed or length > MAX_FRAME:
                raise StreamError("a message that is compressed or too long")
            if len(self._message) - at - _GRPC_PREFIX < length:
                break
            begin = at + _GRPC_PREFIX
            found.append(_response(bytes(self._message[begin : begin + length])))
            at = begin + length
        del self._message[:at]

    def _on_settings(self, payload: bytes) -> None:
        for at in range(0, len(payload) - 5, 6):
            setting, value = struct.unpack_from(">HI", payload, at)
            if setting == _INITIAL_WINDOW_SIZE:
                self._stream_window += value - self._peer_initial
                self._peer_initial = value
            elif setting == _MAX_FRAME_SIZE:
                self._peer_frame_size = value
        self._frame(_SETTINGS, _ACK, 0, b"")

    def _frame(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        self._output += struct.pack(">I", len(payload))[1:]
        self._output += struct.pack(">BBI", kind, flags, stream) + payload


def _request_headers(authority: bytes) -> bytes:
    """The header block of the call: literals that are not indexed, without Huffman coding."""
    headers = (
        (b":method", b"POST"),
        (b":scheme", b"http"),
        (b":path", PATH),
        (b":authority", authority),
        (b"te", b"trailers"),
        (b"content-type", b"application/grpc"),
    )
    # A length below 127 is one byte; a host name and a port have fewer.
    return b"".join(
        b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value for name, value in headers
    )


def _response(message: bytes) -> tuple[int, bytes]:
    """Port and frame of a `PacketStreamResponse`; id and device id do not matter here."""
    port, frame, at = 0, b"", 0
    while at < len(message):
        tag, at = _read_varint(message, at)
        value, at = _read_varint(message, at)
        match tag:
            case 0x18:
                port = value
            case 0x22:
                frame, at = message[at : at + value], at + value
            case 0x08 | 0x10:
                pass
            case _:
                raise StreamError(f"a message with the unknown tag {tag}")
    return port, frame


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def _read_varint(message: bytes, at: int) -> tuple[int, int]:
    """The number that begins at `at`, and the position after it."""
    number = shift = 0
    while at < len(message) and shift < 64:
        byte = message[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
        shift += 7
    raise StreamError("a message that ends within a number")
