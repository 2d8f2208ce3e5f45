"""Estimates of the wall time of a scenario on this machine, in seconds.

1. Measured: the store has, for each planned run, runs of this machine with the same settings. Their
   median duration counts.
2. Estimated: otherwise. A live run takes the time of its load, and some seconds to start the rack,
   fill its caches, verify, and stop the rack. A simulated run takes the number of its requests,
   divided by the speed of the simulator here, and the time to fill its caches and to read back what
   was written. If some planned runs are stored, their error corrects the others.

The builds of FPGA designs that the runs wait for are added to both (`netkv.runs.design_builds`).

Simulated runs are concurrent, one on each core, if that is worth the start of processes. More
processes than cores gain nothing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Literal

from netkv import schemes
from netkv.errors import NetkvError
from netkv.machine import same_machine
from netkv.model.nodes import Card, client_shares
from netkv.model.scheme_options import CardOptions, ClientCardOptions
from netkv.runs import default_store
from netkv.runs.compare import flatten
from netkv.runs.design_builds import DesignBuilds
from netkv.runs.records import Timing
from netkv.scenarios import capacity
from netkv.scenarios.model import Scenario
from netkv.scenarios.run_plan import PlannedRun, Point, plan
from netkv.scenarios.schedule import makespan
from netkv.schemes.spec import RackSpec
from netkv.sim import speed
from netkv.worker_process import cores

_NEWEST = 5
"""Number of the newest runs for the median."""
_LIVE_EXTRA = {"starting": 1.0, "drain": 0.3, "verify": 0.4, "stopping": 0.3}
"""Seconds of a live run besides its load."""
_LIVE_PRELOAD_S = 2e-4
"""Seconds of a live control plane for a key that is cached before the load begins, in each layer of
switches."""
_SIM_EXTRA = {"starting": 0.3, "stopping": 0.2}
"""Seconds to compile, set up and free a simulated rack."""
_PRELOAD_S = 6e-5
"""The same as `_LIVE_PRELOAD_S` for a simulated control plane."""
_CARD_S = 1.7e-4
"""Seconds of a simulated card before a server for a request that is alone in it: its hardware
design is simulated by clock cycles."""
_FUNCTION_S = 2.2e-4
"""Seconds of a simulated card in clients for a request that is alone in it, for each of its
functions: all of them have a clock cycle when one has. Measured in processor time, with scenarios
of such cards and 1 request outstanding: 170 to 300 us with 1 function, 430 to 550 us with 2, 790
to 950 us with 4, 1,480 to 1,870 us with 8."""
_CROWDED_CARD_S = 8e-4
"""The most of such a card for a request: requests of several functions share clock cycles.
Measured with 32 and 128 requests outstanding: 570 to 1,060 us with 4 functions, 650 to 910 us with
8."""
_CYCLE_S = 1e-6
"""Seconds of a simulated card for a clock cycle, in clients for each function; its clock stands
still while it has no request."""
_WRITE_COST = 2.0
"""Cost of a simulated write in requests, in addition to its own: its record and its history."""
_READ_BACK_COST = 1.0
"""Cost of the verification of a simulated run in requests, for each write."""
_WORTH_PROCESSES_S = 10.0
"""Seconds of work below which all simulated runs have one process: a start takes a second."""
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
    build_seconds: float
    """The part of `wall_seconds` in which FPGA designs are built that were not built yet."""


class History:
    """Durations of successful runs of this machine."""

    def __init__(self, timings: Iterable[Timing]) -> None:
        """`timings`: newest first, of any machine."""
        self._kinds: dict[str, list[Timing]] = {}
        self._of_any_machine: dict[str, list[Timing]] = {}
        self._found: dict[tuple[int, int, str], tuple[Scenario, list[Timing]]] = {}
        """What `_alike` has found; repeats of a point have one scenario, which lives as long."""
        for timing in timings:
            kind = _kind(timing.scenario, timing.scheme, timing.params, timing.mode, timing.target)
            self._of_any_machine.setdefault(kind, []).append(timing)
            if same_machine(timing.host):
                self._kinds.setdefault(kind, []).append(timing)

    def seconds(self, item: PlannedRun) -> float | None:
        """Median duration of stored runs like a planned one; None if there are none."""
        found = [each.seconds for each in self._alike(self._kinds, item)]
        return median(found[:_NEWEST]) if found else None

    def memory(self, item: PlannedRun) -> int | None:
        """The most memory of stored runs like a planned one, of any machine, in bytes; None if it
        is not known."""
        found = [each.peak_memory for each in self._alike(self._of_any_machine, item)]
        return max((each for each in found[:_NEWEST] if each is not None), default=None)

    def _alike(self, kinds: Mapping[str, Sequence[Timing]], item: PlannedRun) -> list[Timing]:
        """The runs with the settings of a planned one, newest first."""
        scenario = item.scenario
        key = id(kinds), id(scenario), item.scheme
        if key not in self._found:
            of = scenario.name, item.scheme, item.params, scenario.mode, scenario.lab.target
            alike = kinds.get(_kind(*of), ())
            own = _settings(scenario.model_dump(mode="json")) if alike else {}
            found = [timing for timing in alike if _same(own, _settings(timing.parameters))]
            self._found[key] = scenario, found
        return self._found[key][1]


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
    (found,) = of_scenarios([scenario], history, jobs)
    return found


def of_scenarios(
    scenarios: Iterable[Scenario], history: History, jobs: int | None = None
) -> list[WallTime]:
    """As `of_scenario`, for scenarios that run one after the other: the first one that needs a
    design builds it."""
    builds = DesignBuilds()
    return [_of_scenario(each, history, jobs, builds) for each in scenarios]


def _of_scenario(
    scenario: Scenario, history: History, jobs: int | None, builds: DesignBuilds
) -> WallTime:
    planned = plan(scenario)
    measured = [history.seconds(item) for item in planned]
    simulated = scenario.mode == "sim"
    seconds = _seconds(planned, measured)
    if not simulated:
        jobs = 1
    elif jobs is None:
        jobs = cores() if sum(seconds) >= _WORTH_PROCESSES_S else 1
    # A build has all cores, so whatever runs beside it takes as much longer.
    build_s = math.fsum(map(builds.seconds, planned))
    return WallTime(
        runs=len(planned),
        wall_seconds=build_s + makespan(seconds, [0.0] * min(jobs, cores())),
        source="estimated" if None in measured else "measured",
        virtual_seconds=sum(map(_load_seconds, planned)) if simulated else None,
        jobs=jobs,
        build_seconds=build_s,
    )


def of_runs(scenario: Scenario, history: History) -> list[float]:
    """The seconds of each planned run on this machine, in the order of the plan; builds of designs
    are not part of them."""
    planned = plan(scenario)
    return _seconds(planned, [history.seconds(item) for item in planned])


def phases_of_runs(
    scenario: Scenario, history: History, points: Sequence[Point] | None = None
) -> list[dict[str, float]]:
    """The seconds of each phase of each planned run (`netkv.scenarios.schedule`)."""
    planned, builds = plan(scenario, points), DesignBuilds()
    found = _phases(planned, [history.seconds(item) for item in planned])
    for phases, item in zip(found, planned, strict=True):
        phases["starting"] += builds.seconds(item)
    return found


def memory_of_runs(
    scenario: Scenario, history: History, points: Sequence[Point] | None = None
) -> list[int | None]:
    """The bytes of memory that each planned run needs; None where it is not known."""
    return [history.memory(item) for item in plan(scenario, points)]


def _seconds(planned: Sequence[PlannedRun], measured: Sequence[float | None]) -> list[float]:
    return [
        math.fsum(phases.values()) if seconds is None else seconds
        for phases, seconds in zip(_phases(planned, measured), measured, strict=True)
    ]


def _phases(
    planned: Sequence[PlannedRun], measured: Sequence[float | None]
) -> list[dict[str, float]]:
    """Seconds of the phases of each run; without a measurement, corrected estimates.

    The load of a live run takes as long as the scenario says; only the rest is corrected.
    """
    estimates = [_estimate(item) for item in planned]
    fixed = [_load_seconds(item) if item.scenario.mode == "live" else 0.0 for item in planned]
    rests = [math.fsum(each.values()) - load for each, load in zip(estimates, fixed, strict=True)]
    pairs = list(zip(measured, rests, fixed, strict=True))
    known = [(seconds - load, rest) for seconds, rest, load in pairs if seconds is not None]
    error = sum(s for s, _ in known) / sum(e for _, e in known) if known else 1.0
    return [
        _scaled(
            phases,
            max(error, 0.0) if seconds is None else (seconds - load) / rest,
            () if load == 0 else ("warmup", "measure"),
        )
        for phases, (seconds, rest, load) in zip(estimates, pairs, strict=True)
    ]


def _scaled(phases: Mapping[str, float], by: float, except_for: Sequence[str]) -> dict[str, float]:
    """Phases of which all but some take longer by a factor; all of them, if it is negative."""
    if by < 0:
        whole = math.fsum(phases.values())
        kept = math.fsum(phases[name] for name in except_for)
        by, except_for = (kept + by * (whole - kept)) / whole, ()
    return {name: s if name in except_for else s * by for name, s in phases.items()}


def _kind(scenario: str, scheme: str, params: Mapping[str, Any], mode: str, target: str) -> str:
    return json.dumps([scenario, scheme, params, mode, target], sort_keys=True, default=str)


def _settings(parameters: Mapping[str, Any]) -> dict[str, Any]:
    ignored = (*_IGNORED, *_TEXTS)
    return flatten({name: value for name, value in parameters.items() if name not in ignored})


def _same(own: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether settings are equal; the other run may lack some, from another version of netkv."""
    return all(value == other[path] for path, value in own.items() if path in other)


def _estimate(item: PlannedRun) -> dict[str, float]:
    """Estimated seconds of the phases of one run."""
    scenario = item.scenario
    spec = scenario.rack(item.scheme, item.seed)
    keys = schemes.get(item.scheme).preloaded(spec.lab)
    topology = spec.lab.topology
    entries = keys * (topology.layers if topology.kind == "spine-leaf" else 1)
    if scenario.mode == "live":
        load = {"warmup": scenario.warmup, "measure": scenario.duration}
        return {**_LIVE_EXTRA, "preload": entries * _LIVE_PRELOAD_S, **load}
    writes = capacity.writes(spec)
    requests = capacity.requests_per_s(spec)
    rack = requests / speed.requests_per_core_s()
    each_s = rack * (1 + _WRITE_COST * writes) + _cards_s(spec, requests)
    return {
        **_SIM_EXTRA,
        "preload": entries * _PRELOAD_S,
        "warmup": each_s * scenario.warmup,
        "measure": each_s * scenario.duration,
        "verify": rack * _READ_BACK_COST * writes * _load_seconds(item),
    }


def _cards_s(spec: RackSpec, requests: float) -> float:
    """Seconds of the FPGA cards of a simulated rack for a virtual second with so many requests."""
    scheme = schemes.get(spec.scheme)
    if scheme.card is None:
        return 0.0
    clock_s = CardOptions.of(spec.lab).clock_mhz * 1e6 * _CYCLE_S
    if scheme.has(Card):
        return min(requests * _CARD_S, spec.lab.servers * clock_s)
    shares = client_shares(spec.lab)
    functions = ClientCardOptions.of(spec.lab).card_functions
    # All clients have the same load, but some may have no card.
    passing = requests * sum(map(len, shares)) / spec.lab.clients
    each_s = min(functions * _FUNCTION_S, _CROWDED_CARD_S)
    return min(passing * each_s, len(shares) * functions * clock_s)


def _load_seconds(item: PlannedRun) -> float:
    return item.scenario.warmup + item.scenario.duration
