"""Cases of `netkv soak` in which the switches of one chain fail together.

In a share of the cases, switches of one chain fail within milliseconds: before others know, and
while the consequences of an earlier failure are handled. The servers at its end and the controller
may fail within the same time, the controller between two of its actions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from netkv.events.case import Fault, GenericCase
from netkv.events.event import TimelineEvent
from netkv.events.random_faults import QUIET, FaultKind
from netkv.kits.cases.random_draw import RandomDraw
from netkv.model import layout
from netkv.model.network import names_of_layers
from netkv.model.nodes import Controller, Servers, Storage, Switch, kind_of, partitions

SHARE = 0.5
"""Of the cases with several layers."""
_DIGITS = 6
_MAX_ACTIONS = 300


@dataclass(frozen=True)
class _Chain:
    """What may fail together."""

    switches: Sequence[str]
    servers: Sequence[str]


def with_bursts(draw: RandomDraw, case: GenericCase, kinds: Sequence[FaultKind]) -> GenericCase:
    """The case with bursts in place of its other failures of nodes, or as it is."""
    topology = case.rack.lab.topology
    ends = [kind for kind in kinds if kind in ("stop", "kill")]
    if topology.kind != "spine-leaf" or topology.layers < 2 or not ends or not draw.chance(SHARE):
        return case
    chains = _chains(case)
    others = [it for it in case.faults if not _is_failure(it)]
    bursts: list[Fault] = []
    limit = case.duration * (1 - QUIET)
    every, free = draw.scale(0.05, 0.5), 0.0
    while (begin := round(free + draw.scale(0.01, every), _DIGITS)) < limit:
        found = list(_burst(draw, begin, draw.one(chains), ends, kinds))
        found = [it for it in found if it.end and it.end.at < limit]
        free = max((it.end.at for it in found if it.end), default=begin)
        bursts += found
    faults = sorted((*others, *bursts), key=lambda fault: fault.begin.at)
    return case.model_copy(update={"faults": tuple(faults)})


def _chains(case: GenericCase) -> list[_Chain]:
    lab = case.rack.lab
    rows = names_of_layers(lab.topology.layers, lab.topology.switches)[1:]
    network = layout.of_lab(lab, clients=lab.clients, coordinator=False)
    switch_of = {at.host.index: at.switch for at in network.hosts if at.is_server}
    processes = enumerate(partitions(lab))
    at = {f"{Servers.NAME}{number}": switch_of[servers[0]] for number, servers in processes}
    return [
        _Chain(chain, [name for name, switch in at.items() if switch == chain[-1]])
        for chain in zip(*rows, strict=True)
    ]


def _is_failure(fault: Fault) -> bool:
    node = fault.begin.action.goes_down
    return node is not None and kind_of(node) in (Switch, Controller, Servers)


def _burst(
    draw: RandomDraw,
    begin: float,
    chain: _Chain,
    ends: Sequence[FaultKind],
    kinds: Sequence[FaultKind],
) -> Iterator[Fault]:
    """Failures of nodes of a chain, and of the controller, one soon after the other."""
    failing = [name for name in chain.switches if draw.chance(0.7)] or [draw.one(chain.switches)]
    failing += [name for name in chain.servers if draw.chance(0.3)]
    if "controller-restart" in kinds and draw.chance(0.6):
        failing.append(Controller.NAME)
    failing.sort(key=lambda _: draw.between(0, 1))
    at = begin
    for name in failing:
        end = max(round(at + draw.scale(0.0005, 0.2), _DIGITS), round(at + 0.001, _DIGITS))
        storage: Storage | None = "kept" if kind_of(name) is Servers else None
        if name == Controller.NAME:
            actions = draw.scale_count(1, _MAX_ACTIONS) - 1
            kill = TimelineEvent(at=at, kill=name, after_actions=actions)
        else:
            kill = TimelineEvent.model_validate({"at": at, draw.one(ends): name})
        yield Fault(begin=kill, end=TimelineEvent(at=end, start=name, storage=storage))
        at = round(at + draw.scale(0.00002, 0.05), _DIGITS)
