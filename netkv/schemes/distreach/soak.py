"""What `netkv soak` may do to a rack with DistReach."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netkv.schemes.distreach.control_plane import DistReach

if TYPE_CHECKING:
    from netkv.sim.rack import SimRack


def tolerates(rack: SimRack, switch: str) -> bool:
    """Whether the scheme tolerates the failure of a switch now: n layers tolerate that n - 1
    switches of a chain have lost their state at a time (the paper's IV-D)."""
    (controller,) = rack.controllers
    plane = controller.control_plane
    assert isinstance(plane, DistReach)
    kept = {it.name for it in rack.control if it.runs and not it.blank}
    return plane.tolerates(rack.control[rack.switches.index(switch)].name, kept)
