"""Far ends of a bridge by their locations: bmv2's packet stream, or a network interface."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Iterator, Mapping

from netkv.errors import NetkvError
from netkv.live.bmv2.packet_stream import PacketStream
from netkv.live.bridge import MAX_FRAME, FarEnd
from netkv.model.hardware import STREAM

_BATCH = 64
_ETH_P_ALL = 3
_PACKET_OUTGOING = 4
_SOL_PACKET, _PACKET_ADD_MEMBERSHIP, _PACKET_MR_PROMISC = 263, 1, 1


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
            found[port] = streams.setdefault(address, PacketStream(address, device_id))
        else:
            found[port] = InterfaceEnd(where, port)
    return found
