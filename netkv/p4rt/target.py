"""The target of the P4Runtime server: a switch of the engine, and its packet interface.

The control plane is `netkv._engine.Switch` itself; the CPU port is a protocol, so that a driver
other than the live one (or a test) can feed packets and digests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from netkv._engine import DigestMessage


class PacketPort(Protocol):
    """The CPU port of a running switch, and its digests; `SwitchNode` is one."""

    def packet_out(self, frame: bytes) -> None:
        """Inject a frame that begins with the program's packet_out header, if it has one."""

    def wait(self, timeout_s: float) -> tuple[list[bytes], list[DigestMessage]]:
        """CPU-port frames (packet_in header in front) and digests; empty lists after the timeout.

        Blocks; it is called from a thread of its own.
        """
