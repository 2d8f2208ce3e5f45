"""Checksums for frames that a test has changed."""

import struct


def with_ipv4_checksum(frame: bytes) -> bytes:
    """The Ethernet frame with the correct checksum in its IPv4 header."""
    words: tuple[int, ...] = struct.unpack("!10H", frame[14:24] + b"\0\0" + frame[26:34])
    total = sum(words)
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return frame[:24] + (~total & 0xFFFF).to_bytes(2) + frame[26:]


def udp_checksum(frame: bytes) -> int:
    """The UDP checksum of a whole Ethernet frame of IPv4 without options: 1 to 0xFFFF."""
    end = 34 + int.from_bytes(frame[38:40])
    data = frame[26:34] + b"\0\x11" + frame[38:40] + frame[34:40] + frame[42:end]
    data += bytes(len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return (~total & 0xFFFF) or 0xFFFF


def with_udp_checksum(frame: bytes, checksum: int | None = None) -> bytes:
    """The Ethernet frame with its correct UDP checksum, or another one; 0 is none."""
    value = udp_checksum(frame) if checksum is None else checksum
    return frame[:40] + value.to_bytes(2) + frame[42:]
