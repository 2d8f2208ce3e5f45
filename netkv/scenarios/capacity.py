"""The load that a rack can serve, and warnings about loads that it cannot.

The rates are those of a model: servers with the times of the rack's profile, keys with a Zipf
distribution, and caches that have the hottest keys. `netkv.runs.walltime` estimates the requests of
simulated runs by it.

A live rack shares the cores of this machine. Its processes need at least the times of the profile
`this-machine`, which `netkv calibrate` measures, so no rack is faster than that. A warning is about
a load that is beyond such a bound; a load below it may still be too much.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from netkv import schemes
from netkv.model.nodes import Card
from netkv.model.profile import Profile
from netkv.model.scheme_options import SwitchCache
from netkv.model.spec import ClosedLoop, HeavyTail, MultigetSize, Poisson, Saturate, Throttled
from netkv.scenarios import popularity
from netkv.scenarios.model import Scenario
from netkv.scenarios.run_plan import PlannedRun, plan
from netkv.schemes.spec import RackSpec
from netkv.sim import profiles
from netkv.worker_process import cores

_MIX_WRITES = {"ycsb-a": 0.5, "ycsb-b": 0.05, "ycsb-d": 0.05, "ycsb-f": 0.5, "insert": 1.0}
"""Writes for each operation of a mix."""
_MAX_HITS = 0.98
"""Limit of the hit ratio: some requests always reach a server."""
_REACHED = 0.4
"""Largest share of what processor times allow that a live rack has reached, in runs on a machine of
two cores: the kernel has to carry frames from process to process, and packets do not always come in
batches."""
_UNMEASURED = 2.0
"""Factor of the bounds of a machine that was not calibrated."""
_BEYOND = 2.0
"""How far a closed loop must exceed what one node can do, until that node is called saturated."""


def warnings(scenario: Scenario) -> list[str]:
    """Why the load of a live scenario cannot be served, or measures this machine; a sentence each.

    A simulated rack takes as long as it needs, so it has none.
    """
    if scenario.mode != "live":
        return []
    found: dict[str, list[_Warning]] = {}
    for item in plan(scenario):
        if item.repeat == 0:
            for each in _of_run(item):
                found.setdefault(each.kind, []).append(each)
    return [_text(each) for each in found.values()]


@dataclass(frozen=True)
class _Warning:
    kind: str
    scheme: str
    excess: float
    """How far the load exceeds the bound."""
    text: Callable[[str], str]
    """The sentence, with the names of the schemes."""


def _text(alike: list[_Warning]) -> str:
    """One sentence for all runs with a warning of a kind: that of the largest excess."""
    names = list(dict.fromkeys(each.scheme for each in alike))
    return max(alike, key=lambda each: each.excess).text(", ".join(names))


def _of_run(item: PlannedRun) -> Iterator[_Warning]:
    spec = item.scenario.rack(item.scheme, item.seed)
    rate = _offered(item)
    lab, machine = spec.lab, _machine_per_s(spec)
    if rate is not None:
        served = _emulated_per_s(spec)
        if served is not None and rate > served:
            yield _Warning(
                "rate",
                item.scheme,
                rate / served,
                lambda names: (
                    f"A load of {rate:,.0f} operations/s cannot be served with {names}: servers "
                    f"with a 'lab.service_rate' of {lab.service_rate:,g} allow about {served:,.0f} "
                    f"operations/s at most for this skew. Queues will be full, and operations lost."
                ),
            )
        if rate > machine:
            yield _Warning(
                "machine",
                item.scheme,
                rate / machine,
                lambda names: (
                    f"A load of {rate:,.0f} operations/s is more than this machine can do with "
                    f"{names}: about {machine:,.0f} operations/s at most ('netkv calibrate' "
                    f"measures it). Use a lower rate, or the simulator ('--mode sim')."
                ),
            )
        return
    if lab.service_rate is not None:
        emulated = lab.service_rate * lab.servers
        if emulated > machine:
            yield _Warning(
                "emulation",
                item.scheme,
                emulated / machine,
                lambda names: (
                    f"With {names} this machine limits the throughput, and not the servers: their "
                    f"'lab.service_rate' allows {emulated:,.0f} operations/s together, this "
                    f"machine about {machine:,.0f} at most. Use a lower 'lab.service_rate'."
                ),
            )
        return
    arrivals = spec.workload.arrivals
    excess = math.inf
    if isinstance(arrivals, ClosedLoop):
        excess = arrivals.outstanding / _round_trip_s(spec) / _lone_per_s(spec)
    if excess > _BEYOND:
        yield _Warning(
            "saturated",
            item.scheme,
            excess,
            lambda names: (
                f"With {names} the load keeps this machine busy, because its servers have no "
                f"'lab.service_rate': the throughput shows how fast the processes are here, not "
                f"what a rack with such switches would do. 'lab.service_rate' limits the servers."
            ),
        )


def _offered(item: PlannedRun) -> float | None:
    """The largest rate of an open loop in a run; None if it has none."""
    arrivals = item.scenario.workload.arrivals
    actions = [event.action for event in item.scenario.events]
    rates = [action.offered for action in actions if action.offered is not None]
    if isinstance(arrivals, Poisson):
        rates.append(arrivals.rate)
    return max(rates, default=None)


def _emulated_per_s(spec: RackSpec) -> float | None:
    """Operations that servers with a service rate allow, at most; None if they have none.

    Of a scheme that caches, all operations on cached keys count as hits, writes, too.
    """
    if spec.lab.service_rate is None:
        return None
    return spec.lab.service_rate * _busy_servers(spec) / (1 - _cached(spec))


def _machine_per_s(spec: RackSpec) -> float:
    """Operations that the processes of a live rack can do on this machine, at most."""
    profile = _this_machine()
    packet = 1e6 / profile.switch.packet_rate
    server = _server_work(spec, profile)
    work = profile.client.receive.mean + profile.client.send.mean
    # A hit passes the switch once, a miss twice, and the server sees misses only.
    work += packet + (1 - _cached(spec)) * (packet + server)
    bound = _REACHED * cores() / (work * 1e-6)
    return bound if profiles.is_measured() else _UNMEASURED * bound


def _lone_per_s(spec: RackSpec) -> float:
    """Operations of the slowest node of a live rack here, if packets arrive one by one."""
    profile = _this_machine()
    switch, server = 2 * profile.switch.latency, _server_work(spec, profile)
    client = profile.client.receive.mean + profile.client.send.mean
    bound = min(1 / max(switch, server, client), cores() / (switch + server + client)) * 1e6
    return bound if profiles.is_measured() else _UNMEASURED * bound


def _round_trip_s(spec: RackSpec) -> float:
    """Seconds of an operation of a live rack here, without queues."""
    profile = _this_machine()
    cables = profile.client_link.delay + profile.server_link.delay + profile.switch.latency
    client = profile.client.receive.mean + profile.client.send.mean
    return (2 * cables + client + _server_work(spec, profile)) * 1e-6


def _this_machine() -> Profile:
    return profiles.get(profiles.THIS_MACHINE)


def _server_work(spec: RackSpec, profile: Profile) -> float:
    """Microseconds of a server for a read."""
    store = profile.backends.get(spec.lab.backend, profile.server)
    return profile.server.receive.mean + profile.server.send.mean + store.get.mean


def _cached(spec: RackSpec) -> float:
    """Share of operations on keys that the switch may have cached; below 1."""
    if not schemes.get(spec.scheme).traits.caches:
        return 0.0
    return _MAX_HITS * popularity.of(spec.workload).of_top(SwitchCache.of(spec.lab).cache_entries)


def requests_per_s(spec: RackSpec) -> float:
    """Requests to servers in a virtual second: the offered rate, or the rate that the rack can
    reach."""
    arrivals = spec.workload.arrivals
    if isinstance(arrivals, Poisson):
        return arrivals.rate * _fan_out(spec)
    lab = spec.lab
    profile = profiles.get(lab.profile)
    client, server = profile.client, profile.server
    work = _server_work(spec, profile)
    rate = _per_second(server.cores, work, lab.scale)
    served = min(rate, lab.service_rate or rate) * _busy_servers(spec)
    asked = lab.clients * _per_second(
        client.cores, client.receive.mean + client.send.mean, lab.scale
    )
    possible = min(served / (1 - _hits(spec)), asked * _fan_out(spec))
    if isinstance(arrivals, Saturate):
        return possible
    way = profile.client_link.delay + profile.switch.latency + profile.server_link.delay
    round_trip = 2 * (way + profile.client_delay) + client.receive.mean + client.send.mean
    if not _answered_before_servers(spec):
        round_trip += 2 * profile.host_delay + work
    round_trip *= 1e-6 * lab.scale
    if isinstance(arrivals, Throttled):
        asked = min(arrivals.threads / round_trip, arrivals.rate)
    else:
        asked = arrivals.outstanding / round_trip
    return min(possible, asked * _fan_out(spec))


def writes(spec: RackSpec) -> float:
    """Writes for each operation of the load."""
    workload = spec.workload
    if workload.mix is not None:
        return _MIX_WRITES.get(workload.mix, 0.0)
    return workload.writes + workload.deletes


def _per_second(cores: int, microseconds: float, scale: float) -> float:
    """Operations per second of these cores, if each operation takes so long."""
    return cores / (max(microseconds, 1e-3) * 1e-6 * scale)


def _busy_servers(spec: RackSpec) -> float:
    """Number of busy servers. Without a cache, the server of the hottest key limits the rate."""
    servers = 2 if spec.workload.rotation else spec.lab.servers
    if schemes.get(spec.scheme).traits.caches:
        return servers
    return min(servers, 1 / popularity.of(spec.workload).of_top(1))


def _hits(spec: RackSpec) -> float:
    """Share of requests that the switch answers if the hottest keys are cached; below 1."""
    reads = 1.0 if schemes.get(spec.scheme).traits.answers_writes else 1 - min(writes(spec), 1.0)
    return _cached(spec) * reads


def _answered_before_servers(spec: RackSpec) -> bool:
    """Whether FPGA cards before the servers answer the requests that they can."""
    scheme = schemes.get(spec.scheme)
    return scheme.has(Card)


def _fan_out(spec: RackSpec) -> float:
    """Servers that a request reaches, at most."""
    size = spec.workload.multiget
    if isinstance(size, HeavyTail):
        keys = size.mean
    elif isinstance(size, MultigetSize):
        keys = (size.min + size.max) / 2
    else:
        keys = size or 1
    return min(keys, spec.lab.servers)
