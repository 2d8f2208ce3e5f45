"""The incarnations of all chains: numbers that are given once, and saved before they are used.

    magic (16) | version (2) | the last incarnation given (4) | CRC-32 of the other fields (4)

All numbers are big-endian.
"""

import struct
import zlib
from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeAlias

from netkv.control.base import Action, Nanoseconds
from netkv.control.message_numbers import is_newer
from netkv.control.saves import Saves

_MAGIC = b"netkv DistReach\0"
_VERSION = 1
_FIELDS = struct.Struct("!16sHI")
_CHECKSUM = struct.Struct("!I")
_RANGE = 1 << 32

Taken: TypeAlias = Callable[[Nanoseconds, int], Iterable[Action]]
"""Called with an incarnation when it is saved."""


class SavedError(ValueError):
    """Bytes that are no saved state of a DistReach controller; the text has the reason."""


class Incarnations(Saves):
    """Gives incarnations to chains.

    Rules
    -----
    1. An incarnation is saved before any switch has it. So no controller gives one that an earlier
       controller has given.
    2. Chains that ask before the save of an incarnation is answered get the same one: sequences of
       different chains are never compared, and clients learn one number instead of several.
    3. A chain gets no number twice: one that asks again gets a later one. If a later one is found
       before the save is answered, the number is given up, and one above both is saved.
    4. 0 means "no incarnation" and is never given.
    """

    def __init__(self) -> None:
        super().__init__(self._bytes)
        self.last = 0
        """The last one given; 0 before the first."""
        self._asking: list[Taken] = []

    def restore(self, saved: bytes) -> None:
        """Continue after an earlier controller. Raises SavedError."""
        self.last = _decode(saved)

    def take(self, then: Taken) -> None:
        """Give a chain a new incarnation, and call `then` when it is saved."""
        self._asking.append(then)
        if len(self._asking) == 1:
            self._save_next()

    def go_above(self, incarnation: int) -> bool:
        """Continue above an incarnation that was found; returns whether it was above all."""
        later = is_newer(incarnation, self.last)
        if later:
            self.last = incarnation
        return later

    def _save_next(self) -> None:
        self.last = (self.last + 1) % _RANGE or 1
        self.save(partial(self._saved, self.last))

    def _saved(self, incarnation: int, now: Nanoseconds) -> Iterable[Action]:
        if incarnation != self.last:
            # A switch or a record with a later one was found meanwhile (`go_above`).
            self._save_next()
            return
        asking, self._asking = self._asking, []
        for then in asking:
            # This may ask again; the others get the incarnation that is saved, not the next one.
            yield from then(now, incarnation)

    def _bytes(self) -> bytes:
        fields = _FIELDS.pack(_MAGIC, _VERSION, self.last)
        return fields + _CHECKSUM.pack(zlib.crc32(fields))


def _decode(saved: bytes) -> int:
    if len(saved) != _FIELDS.size + _CHECKSUM.size or not saved.startswith(_MAGIC):
        raise SavedError(f"These {len(saved)} bytes were not saved by a controller of DistReach.")
    fields, checksum = saved[: _FIELDS.size], saved[_FIELDS.size :]
    _, version, last = _FIELDS.unpack(fields)
    if version != _VERSION:
        raise SavedError(f"Saved in layout {version}; this netkv reads layout {_VERSION}.")
    if _CHECKSUM.unpack(checksum)[0] != zlib.crc32(fields):
        raise SavedError("Damaged: the checksum does not match.")
    return int(last)
