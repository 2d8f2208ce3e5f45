"""Helpers that start simulated racks and advance their time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from netkv.control import base
from netkv.model.nodes import Storage
from netkv.model.profile import Profile
from netkv.model.report import RackSample
from netkv.model.spec import WorkloadSpec
from netkv.schemes import Scheme
from netkv.schemes.spec import LabSpec, RackSpec
from netkv.sim.rack import SECOND, SimRack


def started(
    spec: RackSpec,
    *,
    profile: Profile | None = None,
    scheme: Scheme | None = None,
    on_write: Callable[[str, base.TableWrite, str], None] | None = None,
    threads: int = 1,
) -> SimRack:
    """A rack that is up and idle; `on_write` as in `SimRack`. `threads` are used even where that
    takes longer."""
    rack = SimRack(spec, profile=profile, scheme=scheme, on_write=on_write)
    rack.threads, rack.always_threads = threads, True
    asyncio.run(rack.compile())
    rack.bring_up()
    return rack


def small(scheme: str, *, seed: int = 1, workload: dict[str, Any], **lab: Any) -> SimRack:
    """A small rack with a small cache, up and idle; `lab` and `workload` are further options."""
    spec = RackSpec(
        scheme=scheme,
        seed=seed,
        retry=0.01,
        deadline=2,
        lab=LabSpec(
            **{
                "servers": 4,
                "server_processes": 4,
                "clients": 4,
                "cache_entries": 50,
                "hot_threshold": 8,
                "profile": "farreach-testbed",
                "executor": "interpreter",
                **lab,
            }
        ),
        workload=WorkloadSpec(**{"keys": 2000, "writes": 0.2, **workload}),
    )
    return started(spec)


def kill(rack: SimRack, node: str) -> None:
    asyncio.run(rack.node(node).kill())


def start(rack: SimRack, node: str, storage: Storage | None = None) -> None:
    asyncio.run(rack.node(node).start(storage))


def advance(rack: SimRack, seconds: float) -> None:
    rack.advance(rack.nanoseconds + round(seconds * SECOND))


def run(rack: SimRack, seconds: float) -> RackSample:
    """Run load for a time and return its sample."""
    rack.take_sample()
    rack.command({"do": "phase", "name": "measure"})
    advance(rack, seconds)
    return rack.take_sample()


def run_phases(rack: SimRack, *phases: str, limit_s: float = 10.0) -> RackSample:
    """Run phases that end by themselves, each within `limit_s`; return the last sample."""
    sample = rack.take_sample()
    for phase in phases:
        rack.command({"do": "phase", "name": phase})
        end = rack.now + limit_s
        while True:
            advance(rack, 0.01)
            sample = rack.take_sample()
            if sample.phase == "idle":
                break
            assert rack.now < end, f"{phase} does not end"
    return sample
