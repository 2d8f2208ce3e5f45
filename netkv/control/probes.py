"""Table entries and messages of a scheme with which `netkv calibrate` measures its switch."""

from __future__ import annotations

from typing import Protocol

from netkv.control.base import InsertEntry
from netkv.model.messages import Message


class Probes(Protocol):
    """Table entries and messages of a scheme (`netkv.schemes.parts.probes`)."""

    def entry(self, number: int, key: bytes) -> InsertEntry:
        """The lookup entry of a key (16 bytes) that is cached in entry `number`."""

    def install(self, number: int, key: bytes) -> Message:
        """The request that makes the server fill entry `number`; its request number is the same."""

    def echo(self, request: int) -> Message:
        """A request that the switch answers without a server."""
