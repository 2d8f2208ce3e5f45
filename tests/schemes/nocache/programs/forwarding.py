"""Scenarios of all programs: partition, routes, controller port, dropped frames."""

from dataclasses import replace

from netkv.model.messages import Message, Op
from netkv.model.topology import CPU_PORT, SERVICE_IP
from tests.checksums import with_ipv4_checksum
from tests.p4programs.stf import (
    CLIENT_1,
    CLIENT_2,
    EDGES,
    PORT_1,
    SERVER_PORTS,
    SERVERS,
    Stf,
    encode,
    packet_in,
    packet_out,
)

KEY = bytes.fromhex(EDGES[0][0])
GET = Message(Op.GET, KEY, 1, 1)


def requests_and_replies(stf: Stf) -> None:
    """Requests go to the owner of the key, at both edges of every range; replies to the client."""
    for server, keys in EDGES.items():
        for key in map(bytes.fromhex, keys):
            stf.comment(f"server {server} owns {key.hex()}: it receives read, write and delete")
            for message in (
                Message(Op.GET, key, 1, 1),
                Message(Op.PUT, key, 2, 1, length=5, value=b"hello"),
                Message(Op.PUT, key, 3, 1, length=1024, value=bytes(range(256)) * 4),
                Message(Op.DELETE, key, 4, 1),
            ):
                stf.client_sends(stf.request(message))
                stf.server_receives(stf.request(message), server=server)
    stf.comment("replies go to the address of the client")
    for op in (Op.GET_REPLY, Op.PUT_REPLY, Op.DELETE_REPLY):
        reply = encode(Message(op, KEY, 9, 2, length=3, value=b"abc"), SERVERS[1], CLIENT_2)
        stf.packet(SERVER_PORTS[1], reply)
        stf.expect(2, reply)


def controller_port(stf: Stf) -> None:
    """Frames from and to the controller."""
    stf.comment("controller to the owner of a key")
    admit = Message(Op.ADMIT, KEY, 5)
    stf.controller_sends(admit)
    stf.expect(SERVER_PORTS[0], encode(admit, 0x0A000001, SERVERS[0]))
    stf.comment("server to the controller: the packet-in header has the ingress port")
    outgrown = Message(Op.OUTGROWN, KEY, 6, 0x8000)
    stf.packet(SERVER_PORTS[0], encode(outgrown, SERVERS[0], 0x0A000001))
    stf.controller_receives(outgrown, SERVERS[0], SERVER_PORTS[0])
    stf.comment("packet-out of any bytes to a port: unchanged")
    for payload in (encode(GET), b"any bytes", bytes(64)):
        stf.packet(CPU_PORT, packet_out(PORT_1) + payload)
        stf.expect(PORT_1, payload)
    stf.comment("packet-out to the controller itself returns with the packet-in header")
    stf.packet(CPU_PORT, packet_out(CPU_PORT) + b"echo")
    stf.expect(CPU_PORT, packet_in(CPU_PORT) + b"echo")


def other_traffic(stf: Stf, port: int = 5009) -> None:
    """Other IPv4 traffic is routed unchanged. `port` is a UDP port that the program ignores."""
    stf.comment("another UDP port, another protocol, options, fragments: routed unchanged")
    frame = encode(GET, CLIENT_1, CLIENT_2)
    for offset, value in ((37, port & 0xFF), (23, 6), (14, 0x46), (21, 1), (20, 0x20), (24, 0xEE)):
        other = bytearray(frame)
        other[offset] = value
        if offset == 24:  # checksums of other traffic are not verified
            other[37] = port & 0xFF
        stf.packet(1, bytes(other))
        stf.expect(2, bytes(other))
    stf.comment("a datagram of another service, truncated behind its headers")
    short = bytearray(frame[:42])
    short[37] = 0
    stf.packet(1, bytes(short))
    stf.expect(2, bytes(short))


def dropped(stf: Stf) -> None:
    """Frames that are dropped."""
    frame = encode(stf.request(GET), CLIENT_1, SERVICE_IP)
    stf.comment("truncated at every length")
    message = Message(Op.PUT, KEY, 1, 1, length=20, value=b"x" * 20)
    put = encode(stf.request(message), CLIENT_1, SERVICE_IP)
    for length in range(len(put)):
        stf.packet(1, put[:length])
    stf.comment("truncated packet-outs")
    stf.packet(CPU_PORT, packet_out(0) + put[:-1])
    stf.packet(CPU_PORT, packet_out(0) + put[:-2])
    stf.packet(CPU_PORT, b"\0")
    stf.comment("wrong format, IP version, IPv4 checksum, ethertype")
    for offset, value, fix in ((42, 0, False), (42, 2, False), (14, 0x65, True), (25, 1, False)):
        stf.packet(1, changed(frame, offset, value, fix))
    stf.packet(1, changed(frame, 12, 0x86, False))
    stf.comment("inconsistent lengths, and lengths too small for the kv header")
    udp = frame[39]
    stf.packet(1, changed(frame, 39, udp - 1, False))
    stf.packet(1, changed(frame, 39, udp + 1, False))
    stf.packet(1, changed(changed(frame, 39, 20, False), 17, 40, True))
    stf.packet(1, changed(frame, 17, udp + 21, True))
    stf.comment("no route")
    stf.packet(1, encode(GET, CLIENT_1, 0x0A0A0A0A))
    stf.comment("statistics messages from a host")
    stf.packet(1, encode(replace(GET, op=Op.STATS), CLIENT_1, SERVICE_IP))
    stf.packet(3, encode(replace(GET, op=Op.EPOCH), SERVERS[0], SERVICE_IP))
    stf.comment("the switch still forwards requests")
    stf.client_sends(stf.request(GET))
    stf.server_receives(stf.request(GET))


def changed(frame: bytes, offset: int, value: int, fix_checksum: bool) -> bytes:
    """`frame` with one byte changed, and its IPv4 checksum corrected if asked."""
    new = bytearray(frame)
    new[offset] = value
    return with_ipv4_checksum(bytes(new)) if fix_checksum else bytes(new)
