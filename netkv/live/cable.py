"""The addresses of a switch port and of a switch."""

from __future__ import annotations

from dataclasses import dataclass

from netkv.model.network import Tier
from netkv.model.nodes import Switch
from netkv.model.topology import Topology


@dataclass(frozen=True)
class Cable:
    """One switch port and its two addresses."""

    port: int
    switch: str
    """`IP:PORT`, bound by the switch; or its interface. Empty for a switch elsewhere to which the
    peer's interface is cabled."""
    peer: str
    """`IP:PORT`, bound by the node at the other end; or its interface."""
    ring: str | None = None
    """The ring of the interfaces; None for UDP sockets."""
    at: str = Switch.NAME
    """Name of the switch."""

    @property
    def switch_end(self) -> tuple[str, str]:
        """The switch's end, as in `_engine.SwitchNode`: bind and peer, or ring and interface."""
        return (self.switch, self.peer) if self.ring is None else (self.ring, self.switch)

    @property
    def peer_end(self) -> dict[str, str]:
        """The node's end, as in configurations of nodes."""
        if self.ring is None:
            return {"bind": self.peer, "peer": self.switch}
        return {"bind": self.ring, "peer": self.peer}


@dataclass(frozen=True)
class SwitchCabling:
    """The addresses of a switch."""

    name: str
    topology: Topology
    """For its control plane."""
    ports: tuple[tuple[int, str, str], ...]
    """Its ports, as in `_engine.SwitchNode`: number, bind and peer, or ring and interface."""
    p4runtime: str
    """Where its P4Runtime server is reached from here."""
    p4runtime_bind: str
    """What its P4Runtime server binds: the same, unless the switch is on another machine."""
    tier: Tier = "servers"
