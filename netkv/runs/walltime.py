"""Estimates of the wall time of a scenario on this machine, in seconds.

1. Measured: the store has, for each planned run, runs of this machine with the same settings. Their
   median duration counts.
2. Estimated: otherwise. A live run takes the time of its load, and some seconds to start and stop
   the rack. A simulated run takes the number of requests that reach its servers, divided by the
   speed of the simulator here, and the time to fill its caches. If some planned runs are stored,
   their error corrects the others.

Simulated runs are concurrent, one on each core, if that is worth the start of processes.
"""

from __future__ import annotations

import heapq
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Literal

from netkv import schemes
from netkv.errors import NetkvError
from netkv.lab.spec import ClosedLoop, HeavyTail, MultigetSize, RackSpec, Saturate
from netkv.runs import default_store
from netkv.runs.compare import flatten
from netkv.runs.records import Timing
from netkv.scenarios.model import Scenario
from netkv.scenarios.provenance import same_machine
from netkv.scenarios.run_plan import PlannedRun, plan
from netkv.schemes.options import SwitchCache
from netkv.sim import profiles, speed
from netkv.worker_process import cores

_NEWEST = 5
"""Number of the newest runs for the median."""
_LIVE_EXTRA = 3.0
"""Seconds to start a rack, complete requests, verify, and stop the rack."""
_SIM_EXTRA = 0.5
"""Seconds to compile and set up a simulated rack."""
_PRELOAD_S = 3e-4
"""Seconds of a simulated control plane for a key that is cached before the load begins, in each
layer of switches."""
_WORTH_PROCESSES_S = 10.0
"""Seconds of work below which all simulated runs have one process: a start takes a second."""
_MAX_HITS = 0.98
"""Limit of the hit ratio: some requests always reach a server."""
_IGNORED = ("events", "random_faults", "seed", "repeat", "sweep", "schemes", "expect", "plots")
"""Settings that hardly affect the duration of a run, or that the plan contains."""
_TEXTS = ("name", "title", "description")


@dataclass(frozen=True)
class WallTime:
    """The wall time of a scenario and the number of its runs."""

    runs: int
    wall_seconds: float
    source: Literal["measured", "estimated"]
    """From stored runs of this machine, or from the sizes of rack and load."""
    virtual_seconds: float | None
    """Virtual time of the warm-ups and measured parts of all runs; None for a live scenario."""
    jobs: int
    """How many runs are executed at a time."""


class History:
    """Durations of successful runs of this machine."""

    def __init__(self, timings: Iterable[Timing]) -> None:
        """`timings`: newest first, of any machine."""
        self._kinds: dict[str, list[Timing]] = {}
        for timing in timings:
            if same_machine(timing.host):
                kind = _kind(
                    timing.scenario, timing.scheme, timing.params, timing.mode, timing.target
                )
                self._kinds.setdefault(kind, []).append(timing)

    def seconds(self, item: PlannedRun) -> float | None:
        """Median duration of stored runs like a planned one; None if there are none."""
        scenario = item.scenario
        kind = _kind(scenario.name, item.scheme, item.params, scenario.mode, scenario.lab.target)
        alike = self._kinds.get(kind)
        if alike is None:
            return None
        own = _settings(scenario.model_dump(mode="json"))
        found = [timing.seconds for timing in alike if _same(own, _settings(timing.parameters))]
        return median(found[:_NEWEST]) if found else None


def stored(*scenarios: str) -> History:
    """The history of scenarios in the default store; empty if the store is unreadable."""
    finished = default_store.finished()
    known = [name for name in scenarios if finished is None or name in finished]
    if not known:
        return History(())
    from netkv.runs.store import Store

    try:
        with Store() as store:
            return History(timing for name in known for timing in store.timings(name))
    except NetkvError:
        return History(())


def of_scenario(scenario: Scenario, history: History, jobs: int | None = None) -> WallTime:
    """The wall time of a scenario on this machine, with so many runs at a time.

    `jobs`: None for what is usual.
    """
    planned = plan(scenario)
    measured = [history.seconds(item) for item in planned]
    simulated = scenario.mode == "sim"
    seconds = _completed(planned, measured)
    if not simulated:
        jobs = 1
    elif jobs is None:
        jobs = cores() if sum(seconds) >= _WORTH_PROCESSES_S else 1
    return WallTime(
        runs=len(planned),
        wall_seconds=_makespan(seconds, jobs),
        source="estimated" if None in measured else "measured",
        virtual_seconds=sum(map(_load_seconds, planned)) if simulated else None,
        jobs=jobs,
    )


def _completed(planned: Sequence[PlannedRun], measured: Sequence[float | None]) -> list[float]:
    """Seconds of each run; for runs without a measurement, corrected estimates."""
    if None not in measured:
        return [seconds for seconds in measured if seconds is not None]
    estimates = [_estimate(item) for item in planned]
    pairs = list(zip(measured, estimates, strict=True))
    known = [(seconds, estimate) for seconds, estimate in pairs if seconds is not None]
    error = sum(s for s, _ in known) / sum(e for _, e in known) if known else 1.0
    return [error * estimate if seconds is None else seconds for seconds, estimate in pairs]


def _kind(scenario: str, scheme: str, params: Mapping[str, Any], mode: str, target: str) -> str:
    return json.dumps([scenario, scheme, params, mode, target], sort_keys=True, default=str)


def _settings(parameters: Mapping[str, Any]) -> dict[str, Any]:
    ignored = (*_IGNORED, *_TEXTS)
    return flatten({name: value for name, value in parameters.items() if name not in ignored})


def _same(own: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether settings are equal; the other run may lack some, from another version of netkv."""
    return all(value == other[path] for path, value in own.items() if path in other)


def _estimate(item: PlannedRun) -> float:
    """Estimated seconds of one run."""
    if item.scenario.mode == "live":
        return _load_seconds(item) + _LIVE_EXTRA
    spec = item.scenario.rack(item.scheme, item.seed)
    requests = _requests_per_s(spec) * _load_seconds(item)
    keys = schemes.get(item.scheme).preloaded(spec.lab)
    topology = spec.lab.topology
    layers = topology.layers if topology.kind == "spine-leaf" else 1
    return _SIM_EXTRA + keys * layers * _PRELOAD_S + requests / speed.requests_per_core_s()


def _load_seconds(item: PlannedRun) -> float:
    return item.scenario.warmup + item.scenario.duration


def _requests_per_s(spec: RackSpec) -> float:
    """Requests to servers in a virtual second: the offered rate, or the rate that the rack can
    reach."""
    arrivals = spec.workload.arrivals
    if not isinstance(arrivals, ClosedLoop | Saturate):
        return arrivals.rate * _fan_out(spec)
    lab = spec.lab
    profile = profiles.get(lab.profile)
    client, server = profile.client, profile.server
    store = profile.backends.get(lab.backend, server)
    work = server.receive.mean + server.send.mean + store.get.mean
    rate = _per_second(server.cores, work, lab.scale)
    served = min(rate, lab.service_rate or rate) * _busy_servers(spec)
    asked = lab.clients * _per_second(
        client.cores, client.receive.mean + client.send.mean, lab.scale
    )
    capacity = min(served / (1 - _hits(spec)), asked * _fan_out(spec))
    if isinstance(arrivals, Saturate):
        return capacity
    cables = profile.client_link.delay + profile.switch.latency + profile.server_link.delay
    round_trip = (2 * cables + work) * 1e-6 * lab.scale
    return min(capacity, arrivals.outstanding * _fan_out(spec) / round_trip)


def _per_second(cores: int, microseconds: float, scale: float) -> float:
    """Operations per second of these cores, if each operation takes so long."""
    return cores / (max(microseconds, 1e-3) * 1e-6 * scale)


def _busy_servers(spec: RackSpec) -> float:
    """Number of busy servers. Without a cache, the server of the hottest key limits the rate."""
    servers = spec.lab.servers
    if schemes.get(spec.scheme).caches:
        return servers
    return min(servers, 1 / _popularity(spec, 1))


def _hits(spec: RackSpec) -> float:
    """Share of requests that the switch answers if the hottest keys are cached; below 1."""
    if not schemes.get(spec.scheme).caches:
        return 0.0
    entries = SwitchCache.of(spec.lab).cache_entries
    return _MAX_HITS * _popularity(spec, entries) * (1 - spec.workload.writes)


def _popularity(spec: RackSpec, hottest: int) -> float:
    """Share of requests for the `hottest` most popular keys (Zipf)."""
    keys, skew = spec.workload.keys, spec.workload.zipf
    return _zipf_sum(min(hottest, keys), skew) / _zipf_sum(keys, skew)


def _zipf_sum(keys: int, skew: float) -> float:
    """Sum of `rank ** -skew` over the ranks 1 to `keys`: the first exactly, the rest as an integral
    (0.5% off at most)."""
    exact = min(keys, 100)
    total = math.fsum(rank**-skew for rank in range(1, exact + 1))
    if keys == exact:
        return total
    low, high = exact + 0.5, keys + 0.5
    if math.isclose(skew, 1.0):
        return total + math.log(high / low)
    rest = (math.pow(high, 1 - skew) - math.pow(low, 1 - skew)) / (1 - skew)
    return total + rest


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


def _makespan(seconds: Iterable[float], jobs: int) -> float:
    """When the last run ends, if each starts as soon as one of `jobs` processes is free."""
    free = [0.0] * jobs
    for each in seconds:
        heapq.heapreplace(free, free[0] + each)
    return max(free)
