"""The control channel under a hot load: its queues are bounded and do not delay recoveries.

The channel is slow, so that few operations cause more reports than it can carry.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest

from netkv.control import base
from netkv.model.messages import Message, Op, Stamp, encode
from netkv.model.profile import ControlModel
from netkv.model.spec import WorkloadSpec
from netkv.schemes.farreach.control_plane import FarReach
from netkv.schemes.netcache.control_plane import NetCache
from netkv.schemes.spec import LabSpec, RackSpec
from netkv.sim import profiles
from netkv.sim.rack import SECOND, SimRack
from tests.sim.driving import advance, started

CONTROL = ControlModel(latency=100, rate=1000, report_queue=64)
COLD = 30_000
"""More than the requests of any key in an epoch."""
LIMIT = 30 * SECOND


@dataclass(frozen=True)
class Outcome:
    tables: float
    """Seconds from the start of the switch until all its tables are written."""
    complete: float
    """Seconds until the recovery is complete."""
    lost: int
    dropped: int
    max_queued: int
    """Largest number of queued messages in one direction."""


def make(scheme: str, *, threshold: int = COLD, outstanding: int = 8, seed: int = 1) -> SimRack:
    spec = RackSpec(
        scheme=scheme,
        seed=seed,
        deadline=5,
        lab=LabSpec(servers=8, cache_entries=50, hot_threshold=threshold, snapshot_period=0.1),
        workload=WorkloadSpec.model_validate(
            {"keys": 5000, "writes": 0.5, "arrivals": {"outstanding": outstanding}}
        ),
    )
    profile = profiles.get("farreach-testbed").model_copy(update={"control": CONTROL})
    return started(spec, profile=profile)


def restart(scheme: str, *, threshold: int, outstanding: int, seed: int) -> Outcome:
    rack = make(scheme, threshold=threshold, outstanding=outstanding, seed=seed)
    rack.command({"do": "phase", "name": "measure"})
    advance(rack, 0.15)
    asyncio.run(rack.node("switch").kill())
    advance(rack, 0.2)
    asyncio.run(rack.node("switch").start())
    began, tables = rack.now, 0.0
    plane = rack.control[0].control_plane
    assert isinstance(plane, FarReach | NetCache)
    while not rack.ready and rack.now < began + LIMIT:
        advance(rack, 0.01)
        if not tables and plane.forwarding.installed:
            tables = rack.now - began
    complete = rack.now - began
    sample = rack.take_sample()
    counts = sample.switch
    max_queued = counts["control_waiting_peak"]
    return Outcome(tables, complete, sample.client.lost, sample.reports_dropped, max_queued)


@pytest.mark.parametrize(("outstanding", "seed"), [(4, 1), (16, 2)])
def test_farreach_recovers_under_a_hot_load(outstanding: int, seed: int) -> None:
    cold = restart("farreach", threshold=COLD, outstanding=outstanding, seed=seed)
    hot = restart("farreach", threshold=5, outstanding=outstanding, seed=seed)
    assert hot.dropped > 100, "more reports than the channel can carry"
    assert cold.dropped == 0
    assert hot.tables <= cold.tables + 0.02
    assert hot.complete <= 3 * cold.complete
    assert hot.lost == cold.lost == 0
    assert hot.max_queued < CONTROL.report_queue + 1000


def test_netcache_restarts_under_a_hot_load() -> None:
    cold = restart("netcache", threshold=COLD, outstanding=16, seed=1)
    hot = restart("netcache", threshold=5, outstanding=16, seed=1)
    assert hot.tables <= cold.tables + 0.02
    assert hot.complete <= 3 * cold.complete
    assert hot.lost == cold.lost == 0


def offer(number: int) -> bytes:
    """A packet-out with a controller header that acknowledges a report."""
    return bytes(2) + encode(Message(Op.OFFER_REPLY, b"k" * 16, number, stamp=Stamp()))


def test_control_channel_is_bounded_and_emptied_by_restarts() -> None:
    rack = make("nocache")
    engine = rack.simulation
    advance(rack, 1)
    for number in range(500):
        engine.packet_out(0, offer(number))
    assert rack.statistics["control_waiting"] == CONTROL.report_queue
    assert rack.statistics["reports_dropped"] == 500 - CONTROL.report_queue - 1, "one is being sent"
    asyncio.run(rack.node("switch").kill())
    assert rack.statistics["control_waiting"] == 0
    asyncio.run(rack.node("switch").start())
    advance(rack, 2)
    for number in range(500):
        engine.packet_out(0, offer(number))
    asyncio.run(rack.node("controller").kill())
    asyncio.run(rack.node("controller").start())
    control_plane = rack.control[0].control_plane
    assert isinstance(control_plane, base.SwitchControlPlane)
    tables = sum(1 for _ in control_plane.tables())
    assert rack.statistics["control_waiting"] <= tables + 1, "only those of the new controller"


def test_table_writes_beyond_the_limit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    rack = make("nocache")
    engine, controller = rack.simulation, rack.controllers[0]
    first = 1 << 32
    taken = [engine.write(0, first + number) for number in range(base.MAX_WRITES + 2)]
    assert taken == [True] * base.MAX_WRITES + [False] * 2
    handled: list[base.Event] = []

    def handle(_now: int, event: base.Event) -> list[base.Action]:
        handled.append(event)
        return [base.CloneSession(7, session=9, port=3)] if event == base.Timer() else []

    monkeypatch.setattr(controller.control_plane, "handle", handle)
    controller.handle(base.Timer())
    assert handled[1:] == [base.TableWritten(7, ok=False, error=base.TOO_MANY_WRITES)]
    asyncio.run(rack.node("switch").kill())
    asyncio.run(rack.node("switch").start())
    controller.handle(base.Timer())
    advance(rack, 0.1)
    assert handled[-1] == base.TableWritten(7, ok=True), "accepted after the restart"
