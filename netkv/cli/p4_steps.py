"""Display of a traced packet: every step, and the frames that are sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from netkv.cli.output import write

if TYPE_CHECKING:
    from netkv._engine import TracedPacket


def show(packet: TracedPacket) -> None:
    """Prints the steps on stdout."""
    write(packet["text"].rstrip())
    for port, frame in packet["out"]:
        print(f"leaves at port {port}: {frame.hex()}")
    if not packet["out"]:
        print("nothing leaves the switch")


def document(packet: TracedPacket) -> dict[str, Any]:
    """The document of `--json`."""
    return {
        "in": {"port": packet["port"], "frame": packet["frame"].hex()},
        "out": [{"port": port, "frame": frame.hex()} for port, frame in packet["out"]],
        "trace": packet["trace"],
    }
