"""Random cases of `netkv soak` for DistReach, and what they may do to a rack.

Rules
-----
1. In a share of the cases, switches of one chain fail within milliseconds: before others know, and
   during the recovery from an earlier failure. The controller fails within the same time, between
   two of its actions.
2. A fault begins only if the scheme tolerates it then (`tolerates`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from netkv.control.network import names_of_layers
from netkv.rack.nodes import Controller, Switch, kind_of
from netkv.scenarios.events import FaultKind, TimelineEvent
from netkv.scenarios.faults import QUIET
from netkv.schemes.distreach.control_plane import DistReach
from netkv.soak.case import Case, Fault
from netkv.soak.random_draw import RandomDraw

if TYPE_CHECKING:
    from netkv.sim.rack import SimRack

BURSTS = 0.5
"""Share of the cases with bursts of failures."""
_DIGITS = 6
_MAX_ACTIONS = 300


def adapt(draw: RandomDraw, case: Case, kinds: Sequence[FaultKind]) -> Case:
    """The case with bursts in place of its other failures of switches and controller, or as it
    is."""
    topology = case.rack.lab.topology
    ends = [kind for kind in kinds if kind in ("stop", "kill")]
    if topology.kind != "spine-leaf" or topology.layers < 2 or not ends or not draw.chance(BURSTS):
        return case
    rows = names_of_layers(topology.layers, topology.switches)[1:]
    others = [it for it in case.faults if not _is_failure(it)]
    bursts: list[Fault] = []
    every, free = draw.scale(0.05, 0.5), 0.0
    while (begin := round(free + draw.scale(0.01, every), _DIGITS)) < case.duration * (1 - QUIET):
        position = draw.count(0, topology.switches - 1)
        found = list(_burst(draw, begin, [row[position] for row in rows], ends, kinds))
        found = [it for it in found if it.end and it.end.at < case.duration * (1 - QUIET)]
        free = max((it.end.at for it in found if it.end), default=begin)
        bursts += found
    faults = sorted((*others, *bursts), key=lambda fault: fault.begin.at)
    return case.model_copy(update={"faults": tuple(faults)})


def _is_failure(fault: Fault) -> bool:
    node = fault.begin.node
    return node is not None and kind_of(node) in (Switch, Controller)


def _burst(
    draw: RandomDraw,
    begin: float,
    chain: Sequence[str],
    ends: Sequence[FaultKind],
    kinds: Sequence[FaultKind],
) -> Iterator[Fault]:
    """Failures of switches of a chain, and of the controller, one soon after the other."""
    failing = [name for name in chain if draw.chance(0.7)] or [draw.one(chain)]
    if "controller-restart" in kinds and draw.chance(0.6):
        failing.append(Controller.NAME)
    failing.sort(key=lambda _: draw.between(0, 1))
    at = begin
    for name in failing:
        end = round(at + draw.scale(0.0005, 0.2), _DIGITS)
        if name == Controller.NAME:
            actions = draw.scale_count(1, _MAX_ACTIONS) - 1
            kill = TimelineEvent(at=at, kill=name, after_actions=actions)
        else:
            kill = TimelineEvent.model_validate({"at": at, draw.one(ends): name})
        yield Fault(begin=kill, end=TimelineEvent(at=max(end, at + 0.001), start=name))
        at = round(at + draw.scale(0.00002, 0.05), _DIGITS)


def tolerates(rack: SimRack, switch: str) -> bool:
    """Whether the scheme tolerates the failure of a switch now: n layers tolerate that n - 1
    switches of a chain have lost their state at a time (the paper's IV-D)."""
    (controller,) = rack.controllers
    plane = controller.control_plane
    assert isinstance(plane, DistReach)
    kept = {it.name for it in rack.control if it.runs and not it.blank}
    return plane.tolerates(rack.control[rack.switches.index(switch)].name, kept)
