"""Builds Ethernet frames for benches: ARP, IPv4, IPv6, UDP and TCP."""

from __future__ import annotations

import struct
from ipaddress import IPv4Address, IPv6Address, ip_address

MEMCACHED_PORT = 11211
CLIENT_MAC = bytes.fromhex("020000000001")
SERVER_MAC = bytes.fromhex("0200000000fe")
BROADCAST_MAC = b"\xff" * 6
CLIENT_IP = "10.0.0.1"
SERVER_IP = "10.0.0.254"
CLIENT_IPV6 = "fd00::1"
SERVER_IPV6 = "fd00::fe"
OVER_IPV6 = {"source": CLIENT_IPV6, "destination": SERVER_IPV6}
"""The addresses of a checksum of UDP or TCP over IPv6."""

TCP, UDP, ICMP = 6, 17, 1


def ones_complement_sum(data: bytes) -> int:
    """The sum of RFC 1071, not inverted; an odd last byte is the high half of a word."""
    words = struct.unpack(f"!{(len(data) + 1) // 2}H", data + b"\0" * (len(data) & 1))
    total: int = sum(words)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def checksum(data: bytes) -> int:
    return ones_complement_sum(data) ^ 0xFFFF


def ethernet(
    payload: bytes,
    *,
    source: bytes = CLIENT_MAC,
    destination: bytes = SERVER_MAC,
    ethertype: int = 0x0800,
    vlan: int | None = None,
    padded: bool = True,
) -> bytes:
    """A frame without FCS, padded to the minimum of 60 bytes."""
    tag = b"" if vlan is None else struct.pack("!HH", 0x8100, vlan)
    frame = destination + source + tag + struct.pack("!H", ethertype) + payload
    return frame.ljust(60, b"\0") if padded else frame


def arp(sender: str = CLIENT_IP, target: str = SERVER_IP, source: bytes = CLIENT_MAC) -> bytes:
    """An ARP request."""
    body = struct.pack("!HHBBH", 1, 0x0800, 6, 4, 1)
    body += source + IPv4Address(sender).packed + bytes(6) + IPv4Address(target).packed
    return ethernet(body, source=source, destination=BROADCAST_MAC, ethertype=0x0806)


def ipv4(
    payload: bytes,
    protocol: int,
    *,
    source: str = CLIENT_IP,
    destination: str = SERVER_IP,
    options: bytes = b"",
    fragment_offset: int = 0,
    more_fragments: bool = False,
    ttl: int = 64,
    identification: int = 0,
) -> bytes:
    """An IPv4 packet; `fragment_offset` is in units of 8 bytes."""
    options = options.ljust(-(-len(options) // 4) * 4, b"\0")
    header = struct.pack(
        "!BBHHHBBH4s4s",
        0x45 + len(options) // 4,
        0,
        20 + len(options) + len(payload),
        identification,
        more_fragments << 13 | fragment_offset,
        ttl,
        protocol,
        0,
        IPv4Address(source).packed,
        IPv4Address(destination).packed,
    )
    header += options
    return header[:10] + struct.pack("!H", checksum(header)) + header[12:] + payload


def ipv6(
    payload: bytes, next_header: int, *, source: str = CLIENT_IPV6, destination: str = SERVER_IPV6
) -> bytes:
    """An IPv6 packet; extension headers are part of `payload`."""
    header = struct.pack("!IHBB", 6 << 28, len(payload), next_header, 64)
    return header + IPv6Address(source).packed + IPv6Address(destination).packed + payload


def pseudo_header(source: str, destination: str, protocol: int, length: int) -> bytes:
    """What a checksum of UDP or TCP covers of an IPv4 or IPv6 header, but for the order."""
    addresses = ip_address(source).packed + ip_address(destination).packed
    return addresses + struct.pack("!HH", protocol, length)


def udp(
    payload: bytes,
    *,
    source_port: int = 40000,
    destination_port: int = MEMCACHED_PORT,
    source: str = CLIENT_IP,
    destination: str = SERVER_IP,
) -> bytes:
    """A UDP datagram with the checksum that it has between these IP addresses."""
    length = 8 + len(payload)
    head = struct.pack("!HHH", source_port, destination_port, length)
    pseudo = pseudo_header(source, destination, UDP, length)
    value = checksum(pseudo + head + b"\0\0" + payload) or 0xFFFF
    return head + struct.pack("!H", value) + payload


def tcp(
    payload: bytes = b"",
    *,
    source_port: int = 40000,
    destination_port: int = MEMCACHED_PORT,
    flags: int = 0x10,
    options: bytes = b"",
    source: str = CLIENT_IP,
    destination: str = SERVER_IP,
) -> bytes:
    """A TCP segment with the checksum that it has between these IP addresses."""
    options = options.ljust(-(-len(options) // 4) * 4, b"\0")
    offset = 5 + len(options) // 4
    head = struct.pack(
        "!HHIIBBHHH", source_port, destination_port, 1, 1, offset << 4, flags, 65535, 0, 0
    )
    length = len(head) + len(options) + len(payload)
    pseudo = pseudo_header(source, destination, TCP, length)
    value = checksum(pseudo + head + options + payload)
    return head[:16] + struct.pack("!H", value) + head[18:] + options + payload


def udp_frame(
    payload: bytes,
    *,
    client: tuple[str, int] = (CLIENT_IP, 40000),
    server: tuple[str, int] = (SERVER_IP, MEMCACHED_PORT),
    client_mac: bytes = CLIENT_MAC,
    server_mac: bytes = SERVER_MAC,
    response: bool = False,
) -> bytes:
    """A UDP datagram between a client and a server, as a frame; `response`: from the server."""
    (source, source_port), (target, target_port) = (
        (server, client) if response else (client, server)
    )
    datagram = udp(
        payload,
        source_port=source_port,
        destination_port=target_port,
        source=source,
        destination=target,
    )
    packet = ipv4(datagram, UDP, source=source, destination=target)
    from_mac, to_mac = (server_mac, client_mac) if response else (client_mac, server_mac)
    return ethernet(packet, source=from_mac, destination=to_mac)


def datagram(*operations: bytes, request_id: int = 0, header: bool = True) -> bytes:
    """The payload of a UDP datagram: memcached's frame header (if `header`) and operations."""
    return (struct.pack("!HHHH", request_id, 0, 1, 0) if header else b"") + b"".join(operations)
