"""Which switches of a rack are in service, and the routes that follow from it, for both drivers.

Rules
-----
1. A switch goes out of service when its controller notices that it does not run, and when its
   tables are to be filled again. It returns when its control plane is ready (`ControlPlane.ready`),
   so it gets no traffic of others before it has routes.
2. After each change all control planes get their new topology (`Network.without`), also that of a
   switch out of service: it needs routes around the others.
3. New controllers know nothing of the past. For them all switches are in service until they notice
   something else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from netkv.model import layout

if TYPE_CHECKING:
    from netkv.model.network import Network
    from netkv.model.topology import Topology


class Rerouting:
    """The present routes of a network. It belongs to one set of controllers (rule 3)."""

    def __init__(
        self,
        network: Network,
        on_change: Callable[[str, Topology], object],
        on_note: Callable[[str], object],
    ) -> None:
        """`on_change` is called with the name of a switch (`layout.names`) and its new topology;
        `on_note`, before that, with a text for the list of events."""
        self._network = network
        self._plans = dict(
            zip(layout.names(network), (plan.name for plan in network.switches), strict=True)
        )
        """Name of the node → name in the network."""
        self._on_change = on_change
        self._on_note = on_note
        self.out_of_service: set[str] = set()
        """The switches that are out of service."""

    def topology(self, switch: str) -> Topology:
        """The present topology of a switch."""
        return self._network.switch(self._plans[switch]).topology

    def set_service(self, switch: str, in_service: bool) -> None:
        """A switch goes out of service, or is in service again; no effect if it was so before."""
        if in_service and switch in self.out_of_service:
            self.out_of_service.remove(switch)
            self._update(f"{switch} is in service again")
        elif not in_service and switch not in self.out_of_service:
            self.out_of_service.add(switch)
            self._update(f"{switch} is out of service")

    def _update(self, what: str) -> None:
        before = {switch: self.topology(switch) for switch in self._plans}
        self._network = self._network.without(
            [self._plans[switch] for switch in self.out_of_service]
        )
        changed = [switch for switch, old in before.items() if self.topology(switch) != old]
        if changed:
            self._on_note(f"{what}: routes of {len(changed)} other switches change")
        for switch in changed:
            self._on_change(switch, self.topology(switch))
