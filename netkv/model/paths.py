"""Paths between the switches of a network, also while some of them are out of service.

Rules
-----
1. Each switch passes a frame to a switch that is nearer to the goal, by its position among the
   nearest ones: the switch's own position if it is in a layer, else that of the goal, else the
   number of the destination host.
2. No frame passes a switch that is out of service, except to and from its own hosts. If the switch
   at the position of rule 1 cannot be used, the next one that can takes its place. So all frames
   whose chain of switches is whole keep it. If none of the nearest can be used, the frame makes a
   detour: it takes a shortest path through the switches in service.
3. If a chain between a switch without a position (of clients) and one in a layer is not whole,
   frames to the layer take the chain of the frames from there, in reverse. Frames from a layer
   depend on their goal only, so two of them that meet go on together, and only the other direction
   can follow.
4. If there is no path at all, the frame takes the one that it has without failures.

So no frame passes a switch twice: every hop of rules 2 and 3 is nearer to the goal through the
switches in service. Every hop of rule 4 is nearer without failures and leads to another switch
without a path, or to one out of service, where the frame is lost as a rule.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from netkv.model.link import Link


class _Cable(NamedTuple):
    """A cable, seen from one of its ends."""

    port: int
    to: str
    """The switch at the other end."""
    far_port: int


class Paths:
    """The paths between switches."""

    def __init__(
        self,
        switches: Sequence[str],
        links: Sequence[Link],
        positions: Mapping[str, int],
        down: Collection[str] = (),
    ) -> None:
        """`positions`: those of the switches that are in a layer; `down`: the switches that are
        out of service."""
        self._positions = positions
        self._down = frozenset(down)
        self._cables: dict[str, list[_Cable]] = {name: [] for name in switches}
        for link in links:
            self._cables[link.a].append(_Cable(link.a_port, link.b, link.b_port))
            self._cables[link.b].append(_Cable(link.b_port, link.a, link.a_port))
        self._distances: dict[tuple[str, frozenset[str]], dict[str, int]] = {}
        self._reversed: dict[str, dict[str, int]] = {}

    def port(self, switch: str, goal: str, number: int) -> int:
        """The port of `switch` that leads towards `goal`, for host `number` there."""
        port = self._reversed_ports(goal).get(switch)
        return self._next(switch, goal, number).port if port is None else port

    def _next(self, switch: str, goal: str, number: int) -> _Cable:
        """The cable by rules 1, 2 and 4."""
        whole = self._distances_to(goal, frozenset())
        if switch not in whole:
            raise ValueError(f"No cables lead from switch '{switch}' to '{goal}'.")
        cables = self._cables[switch]
        nearer = [cable for cable in cables if whole[cable.to] < whole[switch]]
        position = self._positions.get(switch, self._positions.get(goal, number))
        first = position % len(nearer)
        left = self._distances_to(goal, self._down)
        if switch not in left:
            return nearer[first]

        def usable(cable: _Cable) -> bool:
            passes = cable.to == goal or cable.to not in self._down
            return passes and cable.to in left and left[cable.to] < left[switch]

        for cable in nearer[first:] + nearer[:first]:
            if usable(cable):
                return cable
        detours = list(filter(usable, cables))
        return detours[position % len(detours)]

    def _reversed_ports(self, goal: str) -> dict[str, int]:
        """By switch, the port towards `goal` by rule 3."""
        if not self._down or goal not in self._positions:
            return {}
        ports = self._reversed.get(goal)
        if ports is None:
            ports = self._reversed[goal] = {}
            for switch in self._distances_to(goal, self._down):
                if switch not in self._positions:
                    for name, port in self._back(goal, switch):
                        ports.setdefault(name, port)
        return ports

    def _back(self, start: str, end: str) -> list[tuple[str, int]]:
        """For each switch on the chain from `start` to `end`, the port back. Empty if the chain
        leaves the layers on its way."""
        found: list[tuple[str, int]] = []
        here = start
        while here != end:
            if here not in self._positions:
                return []
            cable = self._next(here, end, 0)
            found.append((cable.to, cable.far_port))
            here = cable.to
        return found

    def _distances_to(self, goal: str, down: frozenset[str]) -> dict[str, int]:
        """The distance to `goal`, in cables, of each switch with a path through none of `down`."""
        distance = self._distances.get((goal, down))
        if distance is None:
            distance = self._distances[goal, down] = {goal: 0}
            queue = deque([goal])
            while queue:
                here = queue.popleft()
                if here in down and here != goal:
                    continue
                for cable in self._cables[here]:
                    if cable.to not in distance:
                        distance[cable.to] = distance[here] + 1
                        queue.append(cable.to)
        return distance
