"""Simpler cases than a given one: each leaves out or reduces one property."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from netkv.model import layout
from netkv.model.case import Fault
from netkv.model.events import LinkFault, TimelineEvent
from netkv.model.hardware import TopologySpec
from netkv.model.network import names_of_layers
from netkv.model.nodes import Servers, Switch, kind_of, partitions
from netkv.model.profile import HostModel, Profile, Time
from netkv.model.random_faults import Target, target_of
from netkv.model.scheme_options import SwitchCache
from netkv.model.spec import ClosedLoop, Poisson, WorkloadSpec
from netkv.schemes.spec import LabSpec
from netkv.soak.case import Case


def candidates(case: Case) -> Iterator[Case]:
    """Simpler cases, the most effective simplifications first. They need not show the violation."""
    lab, workload = case.rack.lab, case.rack.workload
    yield from _fewer_switches(case)
    if lab.pipelines > 1:
        yield _lab(case, pipelines=1)
    if lab.pipelines > 2:
        yield _lab(case, pipelines=2)
    for servers in _less(lab.servers, 1):
        yield _lab(case, servers=servers, server_processes=min(lab.server_processes, servers))
    if lab.server_processes > 1:
        yield _lab(case, server_processes=1)
    if isinstance(workload.arrivals, ClosedLoop):
        for outstanding in _less(workload.arrivals.outstanding, 1):
            yield _load(case, arrivals=ClosedLoop(outstanding=outstanding))
    else:
        yield _load(case, arrivals=ClosedLoop(outstanding=1))
        yield _load(case, arrivals=ClosedLoop(outstanding=8))
        yield _load(case, arrivals=Poisson(rate=round(workload.arrivals.rate / 2, 1)))
    for clients in _less(lab.clients, 1):
        yield _lab(case, clients=clients)
    for keys in _less(workload.keys, 1):
        yield _load(case, keys=keys, shift=None)
    if workload.shift is not None:
        yield _load(case, shift=None)
    if workload.deletes:
        yield _load(case, deletes=0.0)
    if workload.conditional:
        yield _load(case, conditional=0.0)
    if workload.value_size != 16:
        yield _load(case, value_size=16)
    if workload.zipf:
        yield _load(case, zipf=0.0)
    if lab.service_rate is not None and not any(fault.begin.slow for fault in case.faults):
        yield _lab(case, service_rate=None)
    cache = SwitchCache.of(lab)
    if cache.preload:
        yield _lab(case, preload=False)
    for entries in _less(cache.cache_entries, 1):
        yield _lab(case, cache_entries=entries)
    if case.idle:
        yield case.model_copy(update={"idle": 0.0})
    yield from _sooner(case)
    yield from _steady(case)
    for place, fault in enumerate(case.faults):
        for other in _smaller_faults(fault):
            faults = (*case.faults[:place], other, *case.faults[place + 1 :])
            yield case.model_copy(update={"faults": faults})


def _less(value: int, least: int) -> Iterator[int]:
    """Smaller values, at least `least`: `least` itself, half of the value, one less."""
    for other in dict.fromkeys((least, value // 2, value - 1)):
        if least <= other < value:
            yield other


def _fewer_switches(case: Case) -> Iterator[Case]:
    """All hosts at one switch; fewer layers, or fewer switches in each."""
    topology = case.rack.lab.topology
    if topology.kind == "rack":
        return
    names = dict.fromkeys(layout.switches(case.rack.lab), Switch.NAME)
    yield _with_switches(case, TopologySpec(kind="rack"), names)
    if topology.kind != "spine-leaf":
        return
    sizes = [{"layers": layers} for layers in _less(topology.layers, 1)]
    sizes += [{"switches": switches} for switches in _less(topology.switches, 1)]
    for size in sizes:
        smaller = topology.model_copy(update=size)
        yield _with_switches(case, smaller, _replacements(topology, smaller))


def _replacements(topology: TopologySpec, smaller: TopologySpec) -> dict[str, str]:
    """Name of each switch of a spine-leaf network → that of the switch in a smaller one."""
    rows = names_of_layers(topology.layers, topology.switches)
    kept = names_of_layers(smaller.layers, smaller.switches)
    # Layers are left out above the last, which has the servers; the switch of clients stays.
    left_out = len(rows) - len(kept)
    found = {name: name for name in rows[0]}
    for layer, row in enumerate(rows[1:], start=1):
        into = kept[max(layer - left_out, 1)]
        found |= {name: into[min(place, len(into) - 1)] for place, name in enumerate(row)}
    return found


def _with_switches(case: Case, topology: TopologySpec, names: Mapping[str, str]) -> Case:
    """The case with other switches; `names`: switch → the one that gets its faults.

    Server processes may become fewer, too: the last one then gets the faults of the others. Of two
    faults of one node at a time, the first is kept. Faults of cables that do not exist are left
    out.
    """
    smaller = _lab(case, topology=topology)
    last = len(partitions(smaller.rack.lab)) - 1
    cables = layout.cables(case.rack.lab)
    left = layout.cables(smaller.rack.lab)

    def moved(node: str) -> str:
        if kind_of(node) is Servers:
            return f"{Servers.NAME}{min(int(node.removeprefix(Servers.NAME)), last)}"
        if node in cables:
            return layout.cable_name(*(names.get(end, end) for end in node.split(":")))
        return names.get(node, node)

    def exists(fault: Fault) -> bool:
        link = fault.begin.link
        return link is None or link.node not in cables or moved(link.node) in left

    faults = (
        _changed(fault, functools.partial(_at_node, moved=moved))
        for fault in case.faults
        if exists(fault)
    )
    return smaller.model_copy(update={"faults": tuple(_one_at_a_time(faults))})


def _at_node(event: TimelineEvent, moved: Callable[[str], str]) -> TimelineEvent:
    """The event at another node."""
    update: dict[str, Any] = {}
    if event.node is not None:
        update[event.action] = moved(event.node)
    if event.link is not None:
        update["link"] = event.link.model_copy(update={"node": moved(event.link.node)})
    if event.slow is not None:
        update["slow"] = event.slow.model_copy(update={"node": moved(event.slow.node)})
    return event.model_copy(update=update)


def _one_at_a_time(faults: Iterable[Fault]) -> Iterator[Fault]:
    """Faults in the order of their beginnings, without those that meet an open one of a target."""
    ends: dict[Target, float] = {}
    for fault in faults:
        target = target_of(fault.begin)
        assert target is not None, "every fault has a target"
        if fault.begin.at >= ends.get(target, 0.0):
            ends[target] = fault.begin.at if fault.end is None else fault.end.at
            yield fault


def _sooner(case: Case) -> Iterator[Case]:
    """The faults begin earlier, with a shorter load before them."""
    first = min((fault.begin.at for fault in case.faults), default=case.duration)
    for less in (first * 0.9, first / 2):
        if less > 0.001:
            yield case.model_copy(
                update={
                    "duration": round(case.duration - less, 6),
                    "faults": tuple(_moved(fault, less) for fault in case.faults),
                }
            )


def _moved(fault: Fault, sooner: float) -> Fault:
    return _changed(
        fault, lambda event: event.model_copy(update={"at": round(event.at - sooner, 6)})
    )


def _changed(fault: Fault, change: Callable[[TimelineEvent], TimelineEvent]) -> Fault:
    """The fault with its beginning and its end changed."""
    return Fault(begin=change(fault.begin), end=fault.end and change(fault.end))


def _steady(case: Case) -> Iterator[Case]:
    """Constant processor times instead of random ones."""
    constant = _constant(case.profile)
    if constant != case.profile:
        yield case.model_copy(update={"profile": constant})


def _constant(profile: Profile) -> Profile:
    def steady(host: HostModel) -> HostModel:
        times = {name: Time(mean=value.mean) for name, value in host if isinstance(value, Time)}
        return host.model_copy(update=times)

    return profile.model_copy(
        update={"client": steady(profile.client), "server": steady(profile.server)}
    )


def _one_way(event: TimelineEvent, direction: str) -> TimelineEvent:
    assert event.link is not None, "a fault of a link begins and ends at that link"
    return event.model_copy(update={"link": event.link.model_copy(update={"direction": direction})})


def _smaller_faults(fault: Fault) -> Iterator[Fault]:
    """Simpler faults: a kill after fewer actions, one direction only, without corruption or only
    with it, a shorter duration."""
    actions = fault.begin.after_actions
    if actions is not None:
        for fewer in (None, *_less(actions, 0)):
            begin = fault.begin.model_copy(update={"after_actions": fewer})
            yield fault.model_copy(update={"begin": begin})
    link = fault.begin.link
    if link is not None and link.direction == "both":
        for direction in ("to", "from"):
            yield _changed(fault, functools.partial(_one_way, direction=direction))
    if link is not None and link.corrupt:
        only = LinkFault(node=link.node, direction=link.direction, corrupt=link.corrupt)
        for other in (link.model_copy(update={"corrupt": 0.0}), only):
            if not other.heals and other != link:
                begin = fault.begin.model_copy(update={"link": other})
                yield fault.model_copy(update={"begin": begin})
    if fault.end is None:
        return
    lasts = fault.end.at - fault.begin.at
    if lasts > 0.01:
        half = round(fault.begin.at + lasts / 2, 6)
        yield fault.model_copy(update={"end": fault.end.model_copy(update={"at": half})})


def _lab(case: Case, **update: Any) -> Case:
    lab = LabSpec.model_validate(case.rack.lab.model_dump() | _plain(update))
    return case.model_copy(update={"rack": case.rack.model_copy(update={"lab": lab})})


def _load(case: Case, **update: Any) -> Case:
    load = WorkloadSpec.model_validate(case.rack.workload.model_dump() | _plain(update))
    return case.model_copy(update={"rack": case.rack.model_copy(update={"workload": load})})


def _plain(update: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value.model_dump() if hasattr(value, "model_dump") else value
        for name, value in update.items()
    }
