"""The queues of bmv2's egress ports: 64 packets each, unless set otherwise over Thrift.

Longer bursts for a port lose packets; server replies and recoveries are such bursts.
simple_switch_grpc has no option for the depth. If it was built with Thrift, this module calls
`set_all_egress_queue_depths` of the service `simple_switch`, with one message of the binary
protocol in each direction. Without Thrift the depth remains, and clients retransmit lost requests.
The rates of the queues are unlimited by default; they are not changed.
"""

from __future__ import annotations

import socket
import struct

QUEUE_DEPTH = 4096
"""Packets of an egress queue, as many as wait at the CPU port of netkv's own switch."""
_METHOD = b"simple_switch:set_all_egress_queue_depths"
_VERSION_CALL = 0x8001_0001
_VERSION_REPLY = 0x8001_0002
_FIELD_I32, _STOP = 8, 0
_TIMEOUT_S = 10.0


def set_depth(server: tuple[str, int], depth: int = QUEUE_DEPTH) -> None:
    """Sets the depth of all egress queues of the switch whose Thrift server has this address.

    Raises OSError if it does not answer, or answers with an error.
    """
    name = struct.pack(">I", len(_METHOD)) + _METHOD
    argument = struct.pack(">BhiB", _FIELD_I32, 1, depth, _STOP)
    with socket.create_connection(server, _TIMEOUT_S) as connection:
        connection.sendall(
            struct.pack(">I", _VERSION_CALL) + name + struct.pack(">i", 1) + argument
        )
        with connection.makefile("rb") as stream:
            answer = stream.read(4)
    if answer != struct.pack(">I", _VERSION_REPLY):
        raise OSError("the switch has refused it")
