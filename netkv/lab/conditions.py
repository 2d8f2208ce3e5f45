"""What links and servers of a rack are like for now: it stays so while nodes come and go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from netkv.lab.channel import ControlChannel

Direction = Literal["to", "from"]


class Conditions:
    """The faults that are at work on links, servers and the control channel."""

    def __init__(self) -> None:
        self.channel = ControlChannel()
        self._links: dict[tuple[str, Direction], dict[str, float]] = {}
        self._slow: dict[str, float] = {}

    def set_link(self, node: str, direction: Direction, impairment: Mapping[str, float]) -> None:
        """How the link of a node treats frames (`SwitchNode.impair`) in one direction."""
        self._links[node, direction] = dict(impairment)

    def links(self, ports: Mapping[str, int]) -> list[dict[str, Any]]:
        """What a switch that starts is told; `ports` are the switch ports of nodes."""
        return [
            {"port": ports[node], "direction": direction, "impairment": impairment}
            for (node, direction), impairment in self._links.items()
        ]

    def set_slow(self, node: str, factor: float) -> None:
        """By what the servers of a process are slower than their service rate."""
        self._slow[node] = factor

    def slow(self, node: str) -> float:
        """What a server process that starts is told."""
        return self._slow.get(node, 1.0)
