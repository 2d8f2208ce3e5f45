"""Generates a case from a seed: all its sizes, times and faults are random draws.

Rules
-----
1. The same scheme, seed and kinds of faults give the same case on every machine. The same seed
   gives all schemes the same rack, load and faults, within the limits of the scheme: a scheme for
   one switch gets one switch, no scheme gets more pipelines than it supports, and clients crash
   only if they keep records. A scheme for several switches (`Scheme.topology`) gets a network of
   its kind in every case, and faults of these switches. A scheme may have a share of cases of its
   own (`netkv.schemes.parts.Soak`). A mutant changes no draw.
2. Keys are few and hot, the cache is small, thresholds are low and epochs short. So conflicts,
   admissions, evictions and moves are frequent.
3. A run has some thousand operations, whether links are fast or slow. Faults are frequent enough to
   overlap, and each ends before the load does.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from netkv import schemes
from netkv.events import random_faults as faults
from netkv.events.action import Target
from netkv.events.case import Fault
from netkv.events.catalogue import FAULT_KINDS, FAULTS
from netkv.events.event import TimelineEvent
from netkv.events.random_faults import FaultKind
from netkv.kits.cases.corruption import with_corruption
from netkv.kits.cases.random_draw import RandomDraw
from netkv.model.hardware import TopologySpec
from netkv.model.messages import MAX_CACHED_BYTES
from netkv.model.profile import (
    ControlModel,
    HostModel,
    LinkModel,
    Profile,
    ServerModel,
    SwitchModel,
    Time,
)
from netkv.model.spec import (
    ClosedLoop,
    HeavyTail,
    MultigetSize,
    Poisson,
    Shift,
    UniformSize,
    WorkloadSpec,
)
from netkv.schemes import parts
from netkv.schemes.spec import LabSpec, RackSpec
from netkv.soak.case import Case

GUARD = 2.05
"""Seconds after which a started server accepts writes without cache metadata as current
(engine/roles)."""
USUAL_KINDS = tuple(kind for kind in FAULT_KINDS if FAULTS[kind][0].NEED is None)
"""The default kinds of a search: those that all schemes support."""
MAX_VALUE_BYTES = 200
"""More than a cache entry holds, so some values do not fit."""
_SEEDS = 1 << 32
"""More than the seeds of a search."""


def generate(
    scheme: str,
    seed: int,
    kinds: Sequence[FaultKind] = USUAL_KINDS,
    *,
    program: Path | None = None,
    mutant: str | None = None,
) -> Case:
    """The case of a seed. `kinds` may be empty; `program` replaces the scheme's P4 program, and
    `mutant` names a defect of the scheme."""
    draw = RandomDraw(seed)
    duration = draw.between(0.5, 2.5)
    operations = draw.scale(2_000, 40_000)
    lab = _fit(_lab(draw, operations / duration, slow="slow" in kinds), scheme, seed)
    workload = _workload(draw, operations / duration)
    profile = _profile(draw, lab, workload, operations / duration)
    # In most cases the first retry comes after the round trip; in the others, slow replies cause
    # retransmissions.
    round_trip = 4e-6 * profile.server_link.delay
    retry = draw.scale(0.001, 0.05) + (round(4 * round_trip, 6) if draw.chance(0.8) else 0)
    rack = RackSpec(
        scheme=scheme,
        lab=lab,
        workload=workload,
        seed=draw.seed(),
        retry=retry,
        deadline=max(draw.scale(0.1, 1.0), round(20 * retry, 6)),
    )
    # Most cases begin after the guard time of the servers, some within it.
    idle = GUARD if draw.chance(0.75) else draw.between(0, 0.1)
    case = Case(
        seed=seed,
        rack=rack,
        profile=profile,
        program=program,
        mutant=mutant,
        idle=idle,
        duration=duration,
        faults=_faults(draw, rack, duration, kinds),
    )
    case = _with_later_draws(draw, case, schemes.get(scheme).limits.pipelines)
    if "corrupt" in kinds:
        case = with_corruption(case, schemes.get(scheme).node_kinds)
    if (adapt := parts.soak(schemes.get(scheme)).adapt) is not None:
        adapted = adapt(draw, case, kinds)
        assert isinstance(adapted, Case), "a copy of the case"
        case = adapted
    return _with_detection_time(draw, case)


def _fit(lab: LabSpec, scheme: str, seed: int) -> LabSpec:
    """The lab, without options that the scheme does not support, and with its kind of network."""
    chosen = schemes.get(scheme)
    if chosen.limits.one_switch:
        return lab.model_copy(update={"cache_rows": None, "topology": TopologySpec(kind="rack")})
    kind = chosen.topology.kind
    if kind == "rack":
        return lab
    # A source of its own: other schemes of the same seed have the same draws after this one.
    draw = RandomDraw(seed + _SEEDS)
    drawn = (
        TopologySpec(kind="racks", racks=draw.count(1, 3))
        if kind == "racks"
        else TopologySpec(kind="spine-leaf", layers=draw.count(1, 3), switches=draw.count(1, 3))
    )
    return lab.model_copy(update={"topology": drawn})


def _lab(draw: RandomDraw, rate: float, *, slow: bool) -> LabSpec:
    servers = draw.count(1, 8)
    emulated = draw.chance(0.5) and slow
    service_rate = round(rate / servers * draw.scale(0.8, 8), 1)
    entries = draw.scale_count(2, 64)
    topology = TopologySpec(kind="rack")
    if draw.chance(0.25):
        several = (
            TopologySpec(kind="racks", racks=draw.count(2, 3)),
            TopologySpec(kind="spine-leaf", layers=draw.count(1, 2), switches=draw.count(1, 2)),
        )
        topology = draw.one(several)
    return LabSpec(
        servers=servers,
        server_processes=draw.count(1, 4),
        clients=draw.count(1, 8),
        service_rate=service_rate if emulated else None,
        queue_limit=draw.scale_count(4, 256),
        cache_entries=entries,
        # With few rows, values contend for cells and must be moved to make room.
        cache_rows=draw.count(1, max(2 * entries // 3, 1)) if draw.chance(0.7) else None,
        hot_threshold=draw.count(1, 4),
        epoch=draw.scale(0.02, 0.3),
        preload=draw.chance(0.5),
        topology=topology,
    )


def _workload(draw: RandomDraw, rate: float) -> WorkloadSpec:
    keys = draw.scale_count(3, 200)
    writes = draw.scale(0.05, 0.9)
    deletes = round(min(draw.between(0, 0.2), 0.95 - writes), 3) if draw.chance(0.5) else 0.0
    fixed = draw.one((16, 48, 64, MAX_CACHED_BYTES, MAX_CACHED_BYTES + 1))
    low = draw.count(16, MAX_CACHED_BYTES)
    sizes = UniformSize(min=low, max=draw.count(low, MAX_VALUE_BYTES))
    closed = ClosedLoop(outstanding=draw.scale_count(1, 64))
    shift = Shift(
        kind=draw.one(("hot-in", "hot-out", "random")),
        keys=draw.count(1, max(keys // 3, 1)),
        top=max(keys // 2, 1),
        every=draw.scale(0.05, 0.5),
    )
    return WorkloadSpec(
        keys=keys,
        zipf=draw.one((0.0, 0.5, 0.9, 0.99, 1.2)),
        writes=writes,
        deletes=max(deletes, 0.0),
        value_size=fixed if draw.chance(0.4) else sizes,
        arrivals=closed if draw.chance(0.6) else Poisson(rate=round(rate, 1)),
        shift=shift if draw.chance(0.4) else None,
    )


def _profile(draw: RandomDraw, lab: LabSpec, workload: WorkloadSpec, rate: float) -> Profile:
    """Hosts, links and switches for a throughput of about `rate` operations a second."""
    delay = draw.scale(0.5, 1_000)
    if isinstance(workload.arrivals, ClosedLoop):
        # A round trip passes at least four cables. Their delay limits a closed loop to this rate.
        round_trip = workload.arrivals.outstanding / rate * 1e6
        delay = float(f"{min(max(round_trip / 4, 0.5), 5_000):.3g}")
    # At most 60% of the capacity of all servers, for evenly distributed keys.
    busiest = min(0.6 * lab.servers / rate * 1e6, 200)
    host = HostModel(receive=_time(draw, 2), send=_time(draw, 2))
    link = LinkModel(
        bandwidth_gbps=draw.scale(0.1, 100), delay=delay, queue_kib=draw.scale_count(16, 1024)
    )
    return Profile(
        title="drawn",
        client=host,
        server=ServerModel(
            receive=_time(draw, busiest / 4),
            send=_time(draw, busiest / 4),
            get=_time(draw, busiest / 4),
            put=_time(draw, busiest / 2),
            delete=_time(draw, busiest / 2),
            cores=draw.one((1, 1, 2, 4)),
            queue=draw.scale_count(64, 4096),
        ),
        client_link=link,
        server_link=link,
        switch_link=LinkModel(
            bandwidth_gbps=draw.scale(0.2, 100), delay=draw.scale(0.3, max(delay, 1.0))
        ),
        switch=SwitchModel(latency=draw.scale(0.3, 30), packet_rate=draw.scale(3e5, 1e9)),
        control=ControlModel(latency=draw.scale(20, 20_000), rate=draw.scale(1_000, 50_000)),
    )


def _with_later_draws(draw: RandomDraw, case: Case, most: int) -> Case:
    """Adds the options that are drawn last, so that seeds of earlier versions keep their draws.

    Half of all cases have switches of several pipelines, if the scheme supports them. Most have
    snapshots, some of them back to back.
    """
    pipelines = min(draw.one((1, 1, 2, 4)), most)
    switch = case.profile.switch.model_copy(update={"table_write_gap": draw.scale(1, 20_000)})
    period = draw.scale(0.005, 0.5) if draw.chance(0.9) else 0.0
    update = {"pipelines": pipelines, "snapshot_period": period}
    if draw.chance(0.5):
        update["sample_rate"] = draw.scale(0.2, 1.0)
    lab = case.rack.lab.model_copy(update=update)
    rack = case.rack.model_copy(update={"lab": lab})
    if schemes.get(rack.scheme).traits.multigets:
        rack = _with_multigets(draw, rack)
    return case.model_copy(
        update={
            "rack": rack,
            "profile": case.profile.model_copy(update={"switch": switch}),
        }
    )


def _with_detection_time(draw: RandomDraw, case: Case) -> Case:
    """Most faults of switches are shorter than the usual time, so they would never be routed
    around. Drawn last, and with several switches only: other seeds keep their draws. The scheme
    may have chosen it."""
    profile = case.profile
    chosen = "detection_time" in profile.control.model_fields_set
    if case.rack.lab.topology.kind == "rack" or chosen:
        return case
    control = profile.control.model_copy(update={"detection_time": draw.scale(100, 200_000)})
    return case.model_copy(update={"profile": profile.model_copy(update={"control": control})})


def _with_multigets(draw: RandomDraw, rack: RackSpec) -> RackSpec:
    """Adds reads of several keys; some fit a packet, some do not."""
    low = draw.count(1, 16)
    drawn = MultigetSize(min=low, max=draw.count(low, 48))
    size = draw.one((2, 8, 16, drawn, HeavyTail(mean=8.6), None))
    workload: dict[str, Any] = {"multiget": size, "key_size": draw.one((4, 8, 15, 16, 17, 40, 64))}
    if isinstance(arrivals := rack.workload.arrivals, Poisson):
        # Each multiget is work for several servers.
        fan_out = min(_mean(size), rack.lab.servers)
        workload["arrivals"] = Poisson(rate=round(arrivals.rate / fan_out, 1))
    lab = {
        "coordinator_workers": draw.count(1, 4),
        "coordinator_queue": draw.scale_count(4, 4096),
    }
    return rack.model_copy(
        update={
            "workload": rack.workload.model_copy(update=workload),
            "lab": rack.lab.model_copy(update=lab),
        }
    )


def _mean(size: int | HeavyTail | MultigetSize | None) -> float:
    """Keys of a multiget on average."""
    match size:
        case None:
            return 1
        case int():
            return size
        case HeavyTail():
            return size.mean
        case MultigetSize():
            return (size.min + size.max) / 2


def _time(draw: RandomDraw, most: float) -> Time:
    """A processor time in microseconds, with a mean of at most `most`."""
    mean = draw.scale(most / 100, most)
    return draw.one(
        (
            Time(mean=mean),
            Time(kind="exponential", mean=mean),
            Time(kind="lognormal", mean=mean, spread=0.8),
            Time(kind="uniform", mean=mean, spread=mean),
        )
    )


def _faults(
    draw: RandomDraw, rack: RackSpec, duration: float, kinds: Sequence[FaultKind]
) -> tuple[Fault, ...]:
    every, last = draw.scale(0.02, 0.5), draw.scale(0.005, 0.4)
    seed = draw.seed()
    possible = [
        kind for kind in kinds if kind != "corrupt" and faults.is_possible(kind, rack.lab, "kept")
    ]
    if not possible:
        return ()
    events = faults.random_schedule(
        seed,
        duration,
        rack.lab,
        possible,
        every=every,
        last=last,
        storage="kept",
        optional=schemes.get(rack.scheme).node_kinds,
    )
    found: list[Fault] = []
    open_faults: dict[Target, TimelineEvent] = {}
    traits = schemes.get(rack.scheme).traits
    for event in events:
        action = event.action
        # Faults are drawn for all schemes, so that all have the same other faults.
        if action.NEED is not None and not getattr(traits, action.NEED.trait):
            continue
        if not action.parts:
            found.append(Fault(begin=event))
            continue
        assert action.target is not None, "every drawn event has a target"
        begun = open_faults.pop(action.target, None)
        if begun is None:
            open_faults[action.target] = event
        else:
            found.append(Fault(begin=begun, end=event))
    return tuple(sorted(found, key=lambda fault: fault.begin.at))
