"""Estimates of the wall time of a scenario on this machine, in seconds.

1. Measured: if the store has a run of this machine for each planned one, with the same settings,
   it is what those took.
2. Estimated: otherwise. A live run takes its load's time and some seconds to start and stop the
   rack. A simulated run takes the requests that reach its servers, by the speed of the simulator
   here. If some of the planned runs are stored, the others are corrected by the error of these.

Simulated runs go on side by side, one on each core.
"""

from __future__ import annotations

import heapq
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Literal

from netkv import schemes
from netkv.errors import NetkvError
from netkv.lab.spec import ClosedLoop, HeavyTail, MultigetSize, RackSpec, Saturate
from netkv.runs.compare import flatten
from netkv.runs.records import Timing
from netkv.runs.store import Store
from netkv.scenarios.model import Scenario
from netkv.scenarios.provenance import same_machine
from netkv.scenarios.run_plan import PlannedRun, plan
from netkv.schemes.options import SwitchCache
from netkv.sim import profiles, speed

_NEWEST = 5
"""Runs of one kind whose median counts."""
_LIVE_EXTRA = 3.0
"""Seconds to bring a rack up, to let requests end, to verify, and to take it down."""
_SIM_EXTRA = 0.5
"""Seconds to compile and set up a simulated rack."""
_MAX_HITS = 0.98
"""Some requests always reach a server."""
_IGNORED = ("events", "random_faults", "seed", "repeat", "sweep", "schemes", "expect", "plots")
"""What hardly changes how long a run takes, or stands in the plan; and texts."""
_TEXTS = ("name", "title", "description")


@dataclass(frozen=True)
class Takes:
    """How long a scenario takes."""

    runs: int
    wall_seconds: float
    source: Literal["measured", "estimated"]
    """From stored runs of this machine, or from the size of rack and load."""
    virtual_seconds: float | None
    """Warm-ups and measured parts of all runs together, in the simulator; None if it is live."""


class History:
    """Runs of this machine that succeeded."""

    def __init__(self, timings: Iterable[Timing]) -> None:
        """`timings`: the newest first, of any machine."""
        self._kinds: dict[str, list[Timing]] = {}
        for timing in timings:
            if same_machine(timing.host):
                kind = _kind(
                    timing.scenario, timing.scheme, timing.params, timing.mode, timing.target
                )
                self._kinds.setdefault(kind, []).append(timing)

    def seconds(self, item: PlannedRun) -> float | None:
        """What such runs took; None if there are none."""
        scenario = item.scenario
        kind = _kind(scenario.name, item.scheme, item.params, scenario.mode, scenario.lab.target)
        alike = self._kinds.get(kind)
        if alike is None:
            return None
        own = _settings(scenario.model_dump(mode="json"))
        found = [timing.seconds for timing in alike if _same(own, _settings(timing.parameters))]
        return median(found[:_NEWEST]) if found else None


def stored(scenario: str | None = None) -> History:
    """What the usual store has, of one scenario or of all; nothing if it cannot be read."""
    try:
        with Store() as store:
            return History(store.timings(scenario))
    except NetkvError:
        return History(())


def of_scenario(scenario: Scenario, history: History) -> Takes:
    """How long a scenario takes here."""
    planned = plan(scenario)
    measured = [history.seconds(item) for item in planned]
    simulated = scenario.mode == "sim"
    seconds = _completed(planned, measured)
    return Takes(
        runs=len(planned),
        wall_seconds=_side_by_side(seconds) if simulated else sum(seconds),
        source="estimated" if None in measured else "measured",
        virtual_seconds=sum(map(_load_seconds, planned)) if simulated else None,
    )


def _completed(planned: Sequence[PlannedRun], measured: Sequence[float | None]) -> list[float]:
    """Seconds of each run, with estimates for those that are not measured."""
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
    unimportant = (*_IGNORED, *_TEXTS)
    return flatten({name: value for name, value in parameters.items() if name not in unimportant})


def _same(own: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether settings agree; other versions of netkv may lack some."""
    return all(value == other[path] for path, value in own.items() if path in other)


def _estimate(item: PlannedRun) -> float:
    """Seconds of a run alone."""
    if item.scenario.mode == "live":
        return _load_seconds(item) + _LIVE_EXTRA
    spec = item.scenario.rack(item.scheme, item.seed)
    requests = _requests_per_s(spec) * _load_seconds(item)
    return _SIM_EXTRA + requests / speed.requests_per_core_s()


def _load_seconds(item: PlannedRun) -> float:
    return item.scenario.warmup + item.scenario.duration


def _requests_per_s(spec: RackSpec) -> float:
    """Requests in a virtual second, as far as servers see them: those offered, or what the rack
    can do."""
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
    """What so many cores do in a second, if each time takes them so long."""
    return cores / (max(microseconds, 1e-3) * 1e-6 * scale)


def _busy_servers(spec: RackSpec) -> float:
    """Servers that a load keeps busy. Without a cache that of the hottest key limits the others."""
    servers = spec.lab.servers
    if schemes.get(spec.scheme).caches:
        return servers
    return min(servers, 1 / _popularity(spec, 1))


def _hits(spec: RackSpec) -> float:
    """Share of requests that a switch answers, if the hottest keys are cached; below 1."""
    if not schemes.get(spec.scheme).caches:
        return 0.0
    entries = SwitchCache.of(spec.lab).cache_entries
    return _MAX_HITS * _popularity(spec, entries) * (1 - spec.workload.writes)


def _popularity(spec: RackSpec, hottest: int) -> float:
    """Share of requests that are for so many of the hottest keys (Zipf)."""
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


def _side_by_side(seconds: Iterable[float]) -> float:
    """When the last of these runs ends, if each begins on the first core that is free."""
    free = [0.0] * len(os.sched_getaffinity(0))
    for each in seconds:
        heapq.heapreplace(free, free[0] + each)
    return max(free)
