"""The rack of a case while `netkv soak` plays it, as far as checks of schemes look at it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from netkv.control.base import ControlPlane
from netkv.model.spec import GenericRack


class PlayedController(Protocol):
    """A controller of the rack."""

    @property
    def control_plane(self) -> ControlPlane: ...


class PlayedSwitch(Protocol):
    """A switch, as its control plane knows it."""

    @property
    def name(self) -> str: ...

    @property
    def runs(self) -> bool: ...

    @property
    def blank(self) -> bool:
        """Whether it has lost its state and got none since."""


class PlayedRack(Protocol):
    """A simulated rack (`netkv.sim.rack.SimRack`)."""

    @property
    def spec(self) -> GenericRack: ...

    @property
    def nanoseconds(self) -> int:
        """The virtual time."""

    @property
    def statistics(self) -> Mapping[str, Any]:
        """Counters of all nodes."""

    @property
    def controllers(self) -> Sequence[PlayedController]: ...

    @property
    def control(self) -> Sequence[PlayedSwitch]:
        """In the order of `switches`."""

    @property
    def switches(self) -> Sequence[str]:
        """Names of the switches."""

    def advance(self, until: int) -> None:
        """Lets the virtual time pass, up to this one in nanoseconds."""
