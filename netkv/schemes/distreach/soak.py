"""What `netkv soak` does to a rack with DistReach.

Rules
-----
1. A fault after which no switch of a chain has records is left out (`tolerates`).
2. In a share of the cases, switches of one chain fail within milliseconds
   (`netkv.kits.cases.bursts`).
3. In a share of the cases, switches above the last layer fail for so long that their chain opens
   without a cache, and all keys are admitted again under load. In half of them cables lose frames:
   writes are repeated that have passed the chain when only some switches had the entry. In the
   other half the links of servers hold requests back and lose replies: writes that have passed the
   chain before the admission arrive after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from netkv.events.actions.link import LinkFault
from netkv.events.case import GenericCase
from netkv.events.random_faults import FaultKind
from netkv.kits.cases.bursts import with_bursts
from netkv.kits.cases.races import held_back, killed, loaded, whole, with_faults
from netkv.kits.cases.random_draw import RandomDraw
from netkv.model import layout
from netkv.model.hardware import TopologySpec
from netkv.model.network import names_of_layers
from netkv.schemes.distreach.control_plane import DistReach

if TYPE_CHECKING:
    from netkv.kits.cases.played import PlayedRack

RACES = 0.7
"""Share of rule 3 in the cases with several layers."""
_SOURCE = 2 << 32
"""Distance of the seed of these draws: a case has all its other draws without them, too."""


def tolerates(rack: PlayedRack, switch: str) -> bool:
    """Whether the scheme tolerates the failure of a switch now: n layers tolerate that n - 1
    switches of a chain have lost their state at a time (the paper's IV-D)."""
    (controller,) = rack.controllers
    plane = controller.control_plane
    assert isinstance(plane, DistReach)
    kept = {it.name for it in rack.control if it.runs and not it.blank}
    return plane.tolerates(rack.control[rack.switches.index(switch)].name, kept)


def adapt(draw: RandomDraw, case: GenericCase, kinds: Sequence[FaultKind]) -> GenericCase:
    """The case with rules 2 and 3, as far as these kinds of faults permit them."""
    case = with_bursts(draw, case, kinds)
    own = RandomDraw(case.seed + _SOURCE)
    needed = ("kill", "loss", "reorder")
    if case.rack.lab.topology.layers < 2 or not own.chance(RACES):
        return case
    return _race(own, case) if all(kind in kinds for kind in needed) else case


def _race(draw: RandomDraw, case: GenericCase) -> GenericCase:
    """The case as a race of frames with admissions (rule 3).

    A key is read often, and written about once while it is admitted, or while it is not cached.
    """
    case = case.model_copy(update={"duration": draw.between(3, 5)})
    # Requests pass around a switch that is down, so that all other writes are at the servers.
    layers = draw.one((2, 2, 3))
    topology = TopologySpec(kind="spine-leaf", layers=layers, switches=draw.count(2, 3))
    case = case.with_lab({"topology": topology})
    # Times follow from the latency of a message of the controller: a key is written some times
    # while it is admitted, and seldom from then to the next failure.
    latency = draw.scale(0.0015, 0.004)
    admission = 20 * latency
    lossy = draw.chance(0.5)
    case = loaded(
        case,
        latency,
        keys=draw.count(30, 60),
        written=draw.scale(0.5, 2) / admission,
        read=draw.scale(2, 4) / admission,
        retry=draw.scale(0.003, 0.01) if lossy else draw.scale(0.1, 0.3),
    )
    lab = case.rack.lab
    if lossy:
        loss = draw.scale(0.1, 0.35)
        links = [LinkFault(node=name, loss=loss) for name in layout.cables(lab)]
    else:
        share, loss = draw.scale(0.2, 0.6), draw.scale(0.1, 0.5)
        requests = held_back(case, share, 4 * admission)
        replies = [LinkFault(node=it.node, direction="from", loss=loss) for it in requests]
        links = [*requests, *replies]
    impaired = [whole(case, link) for link in links]
    _, *uppers, _ = names_of_layers(topology.layers, topology.switches)
    kills = killed(draw, case, lambda: draw.one(draw.one(uppers)), 2 * admission)
    return with_faults(case, [*impaired, *kills])
