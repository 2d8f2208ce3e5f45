"""Checksums for frames that a test has changed."""

import struct


def with_ipv4_checksum(frame: bytes) -> bytes:
    """The Ethernet frame with the correct checksum in its IPv4 header."""
    words: tuple[int, ...] = struct.unpack("!10H", frame[14:24] + b"\0\0" + frame[26:34])
    total = sum(words)
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return frame[:24] + (~total & 0xFFFF).to_bytes(2) + frame[26:]
