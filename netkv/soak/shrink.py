"""Simpler cases than a given one: each leaves out or reduces one property."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from netkv.events.action import Target, less
from netkv.events.case import AnyEvent, Fault
from netkv.model import layout
from netkv.model.hardware import TopologySpec
from netkv.model.network import names_of_layers
from netkv.model.nodes import Servers, Switch, kind_of, partitions
from netkv.model.profile import HostModel, Profile, Time
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
    for servers in less(lab.servers, 1):
        yield _lab(case, servers=servers, server_processes=min(lab.server_processes, servers))
    if lab.server_processes > 1:
        yield _lab(case, server_processes=1)
    if isinstance(workload.arrivals, ClosedLoop):
        for outstanding in less(workload.arrivals.outstanding, 1):
            yield _load(case, arrivals=ClosedLoop(outstanding=outstanding))
    else:
        yield _load(case, arrivals=ClosedLoop(outstanding=1))
        yield _load(case, arrivals=ClosedLoop(outstanding=8))
        yield _load(case, arrivals=Poisson(rate=round(workload.arrivals.rate / 2, 1)))
    for clients in less(lab.clients, 1):
        yield _lab(case, clients=clients)
    for keys in less(workload.keys, 1):
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
    if lab.service_rate is not None and _no_server_slows(case):
        yield _lab(case, service_rate=None)
    cache = SwitchCache.of(lab)
    if cache.preload:
        yield _lab(case, preload=False)
    for entries in less(cache.cache_entries, 1):
        yield _lab(case, cache_entries=entries)
    if case.idle:
        yield case.model_copy(update={"idle": 0.0})
    yield from _sooner(case)
    yield from _steady(case)
    for place, fault in enumerate(case.faults):
        for other in _smaller_faults(fault):
            faults = (*case.faults[:place], other, *case.faults[place + 1 :])
            yield case.model_copy(update={"faults": faults})


def _no_server_slows(case: Case) -> bool:
    return all(fault.begin.action.slowdown is None for fault in case.faults)


def _fewer_switches(case: Case) -> Iterator[Case]:
    """All hosts at one switch; fewer layers, or fewer switches in each."""
    topology = case.rack.lab.topology
    if topology.kind == "rack":
        return
    names = dict.fromkeys(layout.switches(case.rack.lab), Switch.NAME)
    yield _with_switches(case, TopologySpec(kind="rack"), names)
    if topology.kind != "spine-leaf":
        return
    sizes = [{"layers": layers} for layers in less(topology.layers, 1)]
    sizes += [{"switches": switches} for switches in less(topology.switches, 1)]
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
        node = fault.begin.action.node
        return node is None or node not in cables or moved(node) in left

    faults = (
        _changed(fault, lambda event: event.of(event.at, event.action.moved(moved)))
        for fault in case.faults
        if exists(fault)
    )
    return smaller.model_copy(update={"faults": tuple(_one_at_a_time(faults))})


def _one_at_a_time(faults: Iterable[Fault]) -> Iterator[Fault]:
    """Faults in the order of their beginnings, without those that meet an open one of a target."""
    ends: dict[Target, float] = {}
    for fault in faults:
        target = fault.begin.action.target
        assert target is not None, "every fault has a target"
        if fault.begin.at >= ends.get(target, 0.0):
            ends[target] = fault.begin.at if fault.end is None else fault.end.at
            yield fault


def _sooner(case: Case) -> Iterator[Case]:
    """The faults begin earlier, with a shorter load before them."""
    first = min((fault.begin.at for fault in case.faults), default=case.duration)
    for sooner in (first * 0.9, first / 2):
        if sooner > 0.001:
            yield case.model_copy(
                update={
                    "duration": round(case.duration - sooner, 6),
                    "faults": tuple(_moved(fault, sooner) for fault in case.faults),
                }
            )


def _moved(fault: Fault, sooner: float) -> Fault:
    return _changed(fault, lambda event: event.of(round(event.at - sooner, 6), event.action))


def _changed(fault: Fault, change: Callable[[AnyEvent], AnyEvent]) -> Fault:
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


def _smaller_faults(fault: Fault) -> Iterator[Fault]:
    """Simpler faults, as the action with which it begins has them; then a shorter duration."""
    begin, end = fault.begin, fault.end
    for beginning, ending in begin.action.simpler(None if end is None else end.action):
        yield Fault(
            begin=begin.of(begin.at, beginning),
            end=None if end is None or ending is None else end.of(end.at, ending),
        )
    if end is None:
        return
    lasts = end.at - begin.at
    if lasts > 0.01:
        half = round(begin.at + lasts / 2, 6)
        yield Fault(begin=begin, end=end.of(half, end.action))


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
