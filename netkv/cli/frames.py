"""Files of frames: lines `PORT HEXBYTES`, packet tests (STF), and pcap."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from netkv.cli.p4_source import read_text
from netkv.hex_text import hex_bytes

Frames = list[tuple[int, bytes]]
"""Ports and frames, in order."""


def read(file: Path, port: int) -> Frames:
    """Frames of a file with their ports of arrival; `port` is that of all frames of a pcap.

    Raises `UsageError`: the file cannot be read, or has none of the forms.
    """
    from netkv import _engine
    from netkv.errors import UsageError

    try:
        content = file.read_bytes()
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror or error}.") from error
    if (order := _PCAP.get(content[:4])) is not None:
        return [(port, frame) for frame in _pcap(content, order, file)]
    text = read_text(file)
    if any(line.split(maxsplit=1)[:1] == ["packet"] for line in text.splitlines()):
        try:
            return _engine.stf_frames(text, str(file))
        except ValueError as error:
            raise UsageError(str(error)) from error
    frames: Frames = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split(maxsplit=1)
        if not words:
            continue
        try:
            frames.append((int(words[0]), hex_bytes(words[1])))
        except (IndexError, ValueError):
            raise UsageError(
                f"{file}:{number}: '{line.strip()[:60]}' is not PORT HEXBYTES, as in '1 ffff0800'."
            ) from None
        if not 0 <= frames[-1][0] <= 511:
            raise UsageError(f"{file}:{number}: port {frames[-1][0]} is not 0 to 511.")
    return frames


_PCAP = {
    b"\xd4\xc3\xb2\xa1": "<",
    b"\x4d\x3c\xb2\xa1": "<",
    b"\xa1\xb2\xc3\xd4": ">",
    b"\xa1\xb2\x3c\x4d": ">",
}
"""Byte order by the first four bytes; micro- and nanoseconds."""
_PCAP_HEAD = 24
_PCAP_RECORD = 16
_ETHERNET = 1


def _pcap(content: bytes, order: str, file: Path) -> Iterator[bytes]:
    """The frames of a pcap file (the classic form, Ethernet)."""
    from netkv.errors import UsageError

    kind = struct.unpack_from(f"{order}I", content, 20)[0] if len(content) >= _PCAP_HEAD else None
    if kind != _ETHERNET:
        raise UsageError(f"{file} is a pcap file, but not of Ethernet frames.")
    at = _PCAP_HEAD
    while at < len(content):
        if at + _PCAP_RECORD > len(content):
            raise UsageError(f"{file} ends in the middle of a packet.")
        length = struct.unpack_from(f"{order}I", content, at + 8)[0]
        frame = content[at + _PCAP_RECORD : at + _PCAP_RECORD + length]
        if len(frame) < length:
            raise UsageError(f"{file} ends in the middle of a packet.")
        yield frame
        at += _PCAP_RECORD + length
