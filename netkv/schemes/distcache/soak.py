"""Random cases of `netkv soak` for DistCache.

Rules
-----
1. In a share of the cases, switches of one chain fail within milliseconds
   (`netkv.kits.cases.bursts`).
2. In a share of the cases, upper switches lose their connection to the controller and run on, and
   switches of clients do at the same time. The controller takes them for lost, and clients still
   send reads there.
3. In a share of the cases, server processes are killed again and again. While they start, their
   links lose frames, so they learn their upper copies one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netkv.events.actions.link import LinkFault
from netkv.events.case import Fault, GenericCase
from netkv.events.event import CaseEvent, TimelineEvent
from netkv.events.random_faults import QUIET, FaultKind
from netkv.kits.cases.bursts import with_bursts
from netkv.kits.cases.random_draw import RandomDraw
from netkv.model.network import names_of_layers
from netkv.model.nodes import Servers, partitions

SHARE = 0.5
"""Of the cases with two layers, for each of rules 2 and 3."""
_SOURCE = 2 << 32
"""Distance of the seed of these draws: a case has all its other draws without them, too."""
_DIGITS = 6


def adapt(draw: RandomDraw, case: GenericCase, kinds: Sequence[FaultKind]) -> GenericCase:
    """The case with the faults of the rules above, as far as these kinds permit them."""
    case = with_bursts(draw, case, kinds)
    topology = case.rack.lab.topology
    own = RandomDraw(case.seed + _SOURCE)
    if topology.layers < 2:
        return case
    found: list[Fault] = []
    if own.chance(SHARE) and "partition" in kinds:
        found += _disconnections(own, case)
    if own.chance(SHARE) and "kill" in kinds and "loss" in kinds:
        found += _restarts(own, case)
    found = [it for it in found if it.end and it.end.at < case.duration * (1 - QUIET)]
    taken = {event.action.target for it in found for event in it.events}
    others = [it for it in case.faults if it.begin.action.target not in taken]
    faults = sorted((*others, *found), key=lambda fault: fault.begin.at)
    return case.model_copy(update={"faults": tuple(faults)})


def _disconnections(draw: RandomDraw, case: GenericCase) -> Iterator[Fault]:
    """Upper switches and switches of clients lose their connections (rule 2)."""
    topology = case.rack.lab.topology
    edges, uppers, *_ = names_of_layers(topology.layers, topology.switches)
    last = 0.0
    while (begin := last + draw.scale(0.02, 0.2)) < case.duration:
        for name in (draw.one(uppers), *(name for name in edges if draw.chance(0.8))):
            at = round(begin + draw.scale(0.0001, 0.01), _DIGITS)
            end = round(at + draw.scale(0.05, 0.4), _DIGITS)
            last = max(last, end)
            yield Fault(
                begin=CaseEvent(at=at, disconnect=name),
                end=CaseEvent(at=end, connect=name),
            )


def _restarts(draw: RandomDraw, case: GenericCase) -> Iterator[Fault]:
    """Server processes are killed, and start behind a link that loses frames (rule 3)."""
    processes = [f"{Servers.NAME}{number}" for number in range(len(partitions(case.rack.lab)))]
    begin = 0.0
    while (begin := round(begin + draw.scale(0.05, 0.3), _DIGITS)) < case.duration:
        name = draw.one(processes)
        started = round(begin + draw.scale(0.001, 0.02), _DIGITS)
        end = round(started + draw.scale(0.02, 0.2), _DIGITS)
        loss = LinkFault(node=name, direction="to", loss=draw.between(0.2, 0.6))
        yield Fault(
            begin=TimelineEvent(at=begin, kill=name),
            end=TimelineEvent(at=started, start=name, storage="kept"),
        )
        yield Fault(
            begin=TimelineEvent(at=begin, link=loss),
            end=TimelineEvent(at=end, link=LinkFault(node=name, direction="to")),
        )
        begin = end
