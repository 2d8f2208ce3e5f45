"""What a controller sends as `p4_device_config`: P4 source here, other forms for other switches.

The form is free in P4Runtime (section 7.2), so the output of a compiler for another switch gets a
sentence that says what it is and what to send.
"""

from __future__ import annotations

import re

from netkv.p4rt.errors import RpcError, invalid

_WANTED = "send P4 source for v1model, which netkv compiles, or a netkv bundle"
_MAX_LOOK = 1 << 20
"""Bytes in which the form is looked for."""

_BINARIES = (
    (b"\x1f\x8b", "gzip data"),
    (b"PK\x03\x04", "a zip archive"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ\0", "xz data"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"\x7fELF", "a program for a processor (ELF)"),
)
_TAR_MAGIC = 257, b"ustar"
_TOFINO = re.compile(rb'tofino|"(?:compiler_version|schema_version|context_json|phase0)"|pipe/')
_BMV2 = re.compile(r'"(?:header_types|header_stacks|parsers|pipelines|deparsers|__meta__)"')
_P4INFO_TEXT = re.compile(r"(?:#[^\n]*\n|\s)*pkg_info\s*\{")


def device_data(config: bytes) -> bytes:
    """The program in a config: the `device_data` of a `p4.tmp.P4DeviceConfig`, or all of it.

    p4lang's own P4Runtime library wraps every program so.
    """
    program = _wrapped(config)
    return config if program is None else program


def source_text(program: bytes) -> str:
    """The P4 source; raises INVALID_ARGUMENT, with what the program is if it is none."""
    if not program.strip():
        raise invalid(f"p4_device_config is empty; {_WANTED}")
    for magic, what in _BINARIES:
        if program.startswith(magic):
            raise _foreign(what)
    at, magic = _TAR_MAGIC
    if program[at : at + len(magic)] == magic:
        raise _foreign("a tar archive")
    try:
        text = program.decode("utf-8-sig")
    except UnicodeDecodeError:
        if _TOFINO.search(program[:_MAX_LOOK]):
            raise _foreign("a program compiled for Tofino") from None
        raise invalid(
            "p4_device_config is neither P4 source in UTF-8 nor a bundle (which begins with "
            "'netkv-bundle 1'); a bmv2 JSON or a Tofino binary cannot run here"
        ) from None
    look = text[:_MAX_LOOK].lstrip()
    if look.startswith(("{", "[")):
        # No P4 source begins so.
        if _BMV2.search(look):
            raise _foreign("a bmv2 JSON")
        if _TOFINO.search(look.encode()):
            raise _foreign("a context JSON of Tofino")
        raise _foreign("a JSON document")
    if _P4INFO_TEXT.match(look):
        raise _foreign("a P4Info, which belongs into the field 'p4info'")
    if "\0" in text:
        found = "a program compiled for Tofino" if _TOFINO.search(program[:_MAX_LOOK]) else "binary"
        raise _foreign(found)
    return text


def _foreign(what: str) -> RpcError:
    return invalid(f"p4_device_config is {what}, which cannot run here: {_WANTED}")


def _wrapped(config: bytes) -> bytes | None:
    """Field 3 (`device_data`) of a P4DeviceConfig; None if the bytes are no such message."""
    at, found = 0, None
    while at < len(config):
        key = config[at]
        at += 1
        if key == 0x08:  # bool reassign = 1
            if at >= len(config) or config[at] > 1:
                return None
            at += 1
            continue
        if key not in (0x12, 0x1A):  # Extras extras = 2, bytes device_data = 3
            return None
        length, at = _varint(config, at)
        if length is None or at + length > len(config):
            return None
        if key == 0x1A:
            found = config[at : at + length]
        at += length
    return found


def _varint(data: bytes, at: int) -> tuple[int | None, int]:
    value = 0
    for shift in range(0, 64, 7):
        if at >= len(data):
            return None, at
        value |= (data[at] & 0x7F) << shift
        at += 1
        if data[at - 1] < 0x80:
            return value, at
    return None, at
