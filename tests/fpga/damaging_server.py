"""A server that answers GETs of memcached with damaged frames, in a network namespace.

`python -m tests.fpga.damaging_server INTERFACE ADDRESS KIND` writes a line for each GET that it
sees: its key. KIND is a kind of `DAMAGE`, `good` or `without-checksum`. A GET of the key `last`
always gets a good answer.
"""

from __future__ import annotations

import socket
import sys

from tests.fpga.damage import DAMAGE, without_checksum
from tests.fpga.packets import Operation, frames, memcached

PORT = frames.MEMCACHED_PORT
KINDS = {**DAMAGE, "good": lambda frame: frame, "without-checksum": without_checksum}


def reply_to(frame: bytes) -> tuple[bytes, bytes] | None:
    """The key of a GET and a frame with the reply; None for other frames."""
    if frame[12:14] != b"\x08\0" or frame[23] != frames.UDP:
        return None
    if frame[36:38] != PORT.to_bytes(2, "big"):
        return None
    (asked,) = memcached.decode(frame[50 : 34 + int.from_bytes(frame[38:40], "big")])
    answer = Operation(
        memcached.GET,
        extras=bytes(4),
        value=b"value of " + asked.key,
        opaque=asked.opaque,
        cas=7,
        magic=0x81,
    )
    reply = frames.udp_frame(
        frames.datagram(answer.encode(), request_id=int.from_bytes(frame[42:44], "big")),
        client=(socket.inet_ntoa(frame[26:30]), int.from_bytes(frame[34:36], "big")),
        server=(socket.inet_ntoa(frame[30:34]), PORT),
        client_mac=frame[6:12],
        server_mac=frame[:6],
        response=True,
    )
    return asked.key, reply


def main(interface: str, address: str, kind: str) -> None:
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    link.bind((interface, 0))
    # Without it the kernel answers that nobody is at the port.
    bound = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    bound.bind((address, PORT))
    print("ready", flush=True)
    while True:
        found = reply_to(link.recv(65536))
        if found is not None:
            key, reply = found
            print(key.decode(), flush=True)
            link.send(reply if key == b"last" else KINDS[kind](reply))


if __name__ == "__main__":
    main(*sys.argv[1:])
