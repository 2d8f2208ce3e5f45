"""Notices in virtual time that switches stop and start, and changes the routes of the others.

Rules
-----
1. The controllers notice after the detection time (`ControlModel.detection_time`) that a switch has
   stopped, or is out of their reach. They notice a start at once: the switch connects to its
   controller.
2. A switch that has started is out of service until its control plane is ready (`Rerouting`), also
   if its stop was not noticed: it has lost its tables.
3. Without a running controller nothing is noticed. New controllers notice the switches that do not
   run one detection time after their own start.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from netkv.rack.rerouting import Rerouting

if TYPE_CHECKING:
    from netkv.model.network import Network
    from netkv.model.topology import Topology


class Failover:
    """The switches of a rack, as its controllers know them."""

    def __init__(
        self,
        network: Network,
        detection: int,
        is_ready: Callable[[str], bool],
        on_change: Callable[[str, Topology], object],
        on_note: Callable[[str], object],
        on_lost: Callable[[str], object],
    ) -> None:
        """`detection`: the detection time in nanoseconds. `is_ready` returns whether a switch is
        set up. `on_change` and `on_note`: as for `Rerouting`. `on_lost` is called when it is
        noticed that a switch has stopped."""
        self._detection = detection
        self._is_ready = is_ready
        self._on_lost = on_lost
        self._new = functools.partial(Rerouting, network, on_change, on_note)
        self._rerouting = self._new()
        self._due: dict[str, int] = {}
        """When it is noticed that a switch has stopped."""

    @property
    def deadline(self) -> int | None:
        """When to call `advance` at the latest."""
        return min(self._due.values()) if self._due else None

    @property
    def idle(self) -> bool:
        """Whether no switch has stopped or is out of service: `advance` has nothing to do."""
        return not self._due and not self._rerouting.out_of_service

    def topology(self, switch: str) -> Topology:
        """The present topology of a switch."""
        return self._rerouting.topology(switch)

    def switch_stopped(self, switch: str, now: int) -> None:
        """A switch has stopped while the controllers run."""
        self._due[switch] = now + self._detection

    def switch_found(self, switch: str) -> None:
        """A switch is within reach of the controllers again before they have noticed the loss."""
        self._due.pop(switch, None)

    def switch_started(self, switch: str) -> None:
        """A switch has started while the controllers run; its tables are empty."""
        self._due.pop(switch, None)
        self._rerouting.set_service(switch, False)

    def controllers_stopped(self) -> None:
        """The controllers have stopped."""
        self._due.clear()

    def controllers_started(self, down: Iterable[str], now: int) -> None:
        """New controllers start; `down`: the switches that do not run."""
        self._rerouting = self._new()
        self._due = dict.fromkeys(down, now + self._detection)

    def advance(self, now: int) -> None:
        """Handles what is due by now."""
        if self.idle:
            return
        for switch in [switch for switch, due in self._due.items() if due <= now]:
            if self._due.pop(switch, None) is None:
                continue  # the controllers were killed at an action that an earlier one led to
            self._on_lost(switch)
            self._rerouting.set_service(switch, False)
        for switch in sorted(self._rerouting.out_of_service):
            if self._is_ready(switch):
                self._rerouting.set_service(switch, True)
