"""Free addresses for the cables and P4Runtime servers of a rack.

Both ends of a cable are on the loopback of one machine, or are addresses of two machines to each
other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from netkv.live import ports
from netkv.live.machine import HERE, LOOPBACK, Machine


@dataclass(frozen=True)
class Addresses:
    """Addresses that are handed out once each."""

    machine_of: Callable[[str], Machine]
    """The machine of a node."""
    free: Mapping[Machine, Iterator[int]]
    """Free ports of each machine."""
    reached: Mapping[str, tuple[str, str]]
    """For switches on other machines: where their P4Runtime servers are reached from here, and what
    they bind."""

    def cable(self, one: str, other: str) -> tuple[str, str]:
        """The ends of a cable between two nodes."""
        a, b = self.machine_of(one), self.machine_of(other)
        if a is b:
            return self._free(a, LOOPBACK), self._free(b, LOOPBACK)
        return self._free(a, a.address or b.near_end), self._free(b, b.address or a.near_end)

    def p4runtime(self, switch: str) -> tuple[str, str]:
        """Where the P4Runtime server of a switch is reached from here, and what it binds."""
        if switch in self.reached:
            return self.reached[switch]
        own = self._free(HERE, LOOPBACK)
        return own, own

    def _free(self, machine: Machine, address: str) -> str:
        return f"{address}:{next(self.free[machine])}"


def here(count: int) -> Addresses:
    """Addresses for a rack that is on this machine alone."""
    return Addresses(lambda _: HERE, {HERE: iter(ports.free_ports(count))}, {})
