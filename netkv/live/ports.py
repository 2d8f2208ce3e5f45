"""Free ports for the cables of a rack.

Ports come from below the kernel's range of ephemeral ports, so that no outgoing connection of
another program takes one between the choice and the bind, or while a node is down.
"""

from __future__ import annotations

import contextlib
import random
import socket
from pathlib import Path

from netkv.errors import NetkvError

_LOWEST = 10_240
_TRIES_PER_PORT = 200


def _highest() -> int:
    try:
        text = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text()
        return max(int(text.split()[0]), _LOWEST + 4096)
    except (OSError, ValueError, IndexError):
        return 32_768


def free_ports(count: int, address: str = "127.0.0.1") -> list[int]:
    """`count` different ports of an address that were free, for UDP and TCP, a moment ago.

    "0.0.0.0" is all addresses of this machine.

    All are bound until the last one is found. Another process may bind one afterwards, so the
    caller must retry with others. Raises `NetkvError` if there are too few.
    """
    # The only random draw without the seed: two racks must not choose the same ports.
    choose = random.SystemRandom()
    with contextlib.ExitStack() as held:
        found: list[int] = []
        for _ in range(count * _TRIES_PER_PORT):
            if len(found) == count:
                break
            port = choose.randrange(_LOWEST, _highest())
            try:
                for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
                    held.enter_context(socket.socket(socket.AF_INET, kind)).bind((address, port))
            except OSError:
                continue
            found.append(port)
    if len(found) < count:
        raise NetkvError(f"There are fewer than {count} free ports on {address}.")
    return found
