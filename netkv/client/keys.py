"""The encoding of keys and values: from the user's form to that on the wire.

Rules for schemes whose keys have 16 bytes
------------------------------------------
1. A key of up to 15 bytes is padded with zeros, and the last byte is 0xF0 | length.
2. A key of 16 bytes whose last byte is below 0xF0 is not changed, so programs can use the keys of a
   load.
3. All other keys (longer ones, and those with the prefix of the stores' own records) become 15
   bytes of a BLAKE2b digest and the byte 0xF0, which is not the last byte of any key of rule 1. The
   key itself is stored before the value (one byte for its length, then the key) and compared when
   the value is read: two keys with the same digest cause an error, never a wrong value.

So different keys of rules 1 and 2 stay different. With rule 3 the stored key and the value together
have up to 1,024 bytes.
"""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from netkv.client.errors import Rejected
from netkv.model.topology import KEY_BYTES, owner_index

if TYPE_CHECKING:
    from netkv.schemes import Scheme

MAX_VALUE_BYTES = 1024
MAX_KEY_BYTES = 255
"""Limit of a key with rule 3, since its length has one byte."""
_TAG = 0xF0
_RESERVED = b"netkv:"


@dataclass(frozen=True, slots=True)
class Name:
    """A key."""

    shown: str
    """The key in messages to users."""
    wire: bytes
    prefix: bytes = b""
    """Bytes that are stored before its value."""

    def pack(self, value: bytes | str) -> bytes:
        """The value as it is stored."""
        data = _bytes(value, "value")
        most = MAX_VALUE_BYTES - len(self.prefix)
        if len(data) > most:
            why = f" of a key of {self.prefix[0]} bytes" if self.prefix else ""
            raise Rejected(
                f"A value{why} has up to {most:,} bytes; that of {self.shown} has {len(data):,}."
            )
        return self.prefix + data

    def unpack(self, stored: bytes) -> bytes:
        """The value from what was stored."""
        if not stored.startswith(self.prefix):
            raise Rejected(
                f"The record of {self.shown} belongs to another key with the same digest; "
                f"use another key."
            )
        return stored[len(self.prefix) :]


class Keys(ABC):
    """The key encoding of a scheme."""

    reports_deletes: bool
    """Whether a delete reports if there was a value."""
    max_keys_per_read: int
    """Keys that one operation may read; more keys are read by several operations."""

    @abstractmethod
    def name(self, key: bytes | str) -> Name:
        """The encoded key; raises `Rejected` for an invalid one."""

    @abstractmethod
    def server(self, name: Name, servers: int) -> int:
        """The number of the server that owns the key, among `servers` servers."""


class FixedKeys(Keys):
    """Keys of 16 bytes on the wire; see the rules above."""

    reports_deletes = False
    max_keys_per_read = 1 << 16

    def name(self, key: bytes | str) -> Name:
        data = _bytes(key, "key")
        if not 1 <= len(data) <= MAX_KEY_BYTES:
            raise Rejected(f"A key has 1 to {MAX_KEY_BYTES} bytes, not {len(data):,}.")
        shown = repr(key)
        if not data.startswith(_RESERVED):
            if len(data) < KEY_BYTES:
                return Name(shown, data.ljust(KEY_BYTES - 1, b"\0") + bytes([_TAG | len(data)]))
            if len(data) == KEY_BYTES and data[-1] < _TAG:
                return Name(shown, data)
        digest = blake2b(data, digest_size=KEY_BYTES - 1).digest()
        return Name(shown, digest + bytes([_TAG]), bytes([len(data)]) + data)

    def server(self, name: Name, servers: int) -> int:
        return owner_index(name.wire, servers)


class NamedKeys(Keys):
    """Keys of 4 to 64 bytes, which are not changed on the wire."""

    reports_deletes = False
    max_keys_per_read = 128

    def name(self, key: bytes | str) -> Name:
        data = _bytes(key, "key")
        if not 4 <= len(data) <= 64:
            raise Rejected(f"With this scheme a key has 4 to 64 bytes, not {len(data):,}.")
        return Name(repr(key), data)

    def server(self, name: Name, servers: int) -> int:
        return zlib.crc32(name.wire) % servers


def of_scheme(scheme: Scheme) -> Keys:
    """The key encoding of `scheme`."""
    return NamedKeys() if scheme.traits.multigets else FixedKeys()


def _bytes(data: bytes | str, what: str) -> bytes:
    if isinstance(data, str):
        return data.encode()
    if not isinstance(data, bytes):
        raise Rejected(f"A {what} is bytes or str, not {type(data).__name__}.")
    return data
