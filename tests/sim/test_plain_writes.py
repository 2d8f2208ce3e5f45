"""Plain table writes are carried out by the engine; observed ones by Python, with the same effect.
The same holds for messages that the engine passes to control planes.

Observers (`SimRack(on_write=...)`) are for replays of soaks, which must show the same run.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from netkv import schemes
from netkv.control import base
from netkv.model.spec import WorkloadSpec
from netkv.schemes.spec import LabSpec, RackSpec
from netkv.sim.rack import SimRack
from tests.sim.driving import advance, kill, start

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from netkv import _engine

SCHEMES = [
    (scheme.name, pipelines)
    for scheme in schemes.all_schemes()
    if scheme.card is None
    for pipelines in {1, min(scheme.limits.pipelines, 2)}
]


class PythonDriven(SimRack):
    """Python passes each message to its control plane."""

    def _run_engine(
        self,
        simulation: _engine.Simulation,
        until: int,
        deliver: bool,  # noqa: ARG002 (SimRack)
    ) -> list[_engine.Notice]:
        return super()._run_engine(simulation, until, deliver=False)


def history(
    scheme: str, pipelines: int, *, observed: bool, kind: type[SimRack] = SimRack
) -> tuple[str, list[str]]:
    """All that a run shows, and its table writes, if they are observed.

    The switch and the controller are killed and started while writes are under way."""
    writes: list[str] = []
    events: list[Any] = []

    def on_write(switch: str, write: base.TableWrite, error: str) -> None:
        writes.append(f"{rack.nanoseconds} {switch} {write} {error}")

    lab = {"servers": 4, "clients": 4, "cache_entries": 60, "hot_threshold": 4}
    more = {"profile": "farreach-testbed", "executor": "interpreter", "pipelines": pipelines}
    rack = kind(
        RackSpec(
            scheme=scheme,
            seed=3,
            retry=0.01,
            deadline=2,
            lab=LabSpec.model_validate({**lab, **more}),
            workload=WorkloadSpec(keys=2000, writes=0.2),
        ),
        on_event=lambda event: events.append((event.time, event.kind, event.node, event.text)),
        on_write=on_write if observed else None,
    )
    asyncio.run(rack.compile())
    rack.bring_up()
    rack.command({"do": "phase", "name": "measure"})
    advance(rack, 0.02)
    for node, length in ((rack.switch_nodes[0].name, 0.0021), ("controller", 0.0013)):
        for restart in range(3):
            kill(rack, node)
            advance(rack, 0.001)
            start(rack, node)
            advance(rack, length * (1 + restart))
    rack.simulation.cut_channel(0, True)
    advance(rack, 0.002)
    rack.simulation.cut_channel(0, False)
    advance(rack, 0.1)
    counts = [each.bytes for each in rack.control]
    seen = [rack.statistics, rack.control_statistics(), rack.take_sample(), counts, events]
    return json.dumps(seen, default=str), writes


@pytest.mark.parametrize(("scheme", "pipelines"), SCHEMES)
def test_observed_writes_have_the_same_effect(scheme: str, pipelines: int) -> None:
    observed, writes = history(scheme, pipelines, observed=True)
    plain, none = history(scheme, pipelines, observed=False)
    assert observed == plain
    assert len(writes) > 20
    assert not none


@pytest.mark.parametrize(("scheme", "pipelines"), SCHEMES)
def test_messages_that_the_engine_delivers_have_the_same_effect(
    scheme: str, pipelines: int
) -> None:
    delivered, _ = history(scheme, pipelines, observed=False)
    driven, _ = history(scheme, pipelines, observed=False, kind=PythonDriven)
    assert delivered == driven


class CountingRack(SimRack):
    """Counts the table writes that Python is asked to carry out, and messages that it passes on."""

    asked = passed = 0

    def _run_engine(
        self, simulation: _engine.Simulation, until: int, deliver: bool
    ) -> list[_engine.Notice]:
        notices = super()._run_engine(simulation, until, deliver)
        self.asked += sum(notice[0] == "write" for notice in notices)
        self.passed += sum(notice[0] in ("packet-in", "written") for notice in notices)
        return notices


def test_python_driver_gets_no_message_about_an_entry_of_a_cache() -> None:
    asked = []
    for entries in (10, 60):
        lab = LabSpec(servers=4, clients=4, cache_entries=entries, executor="interpreter")
        rack = CountingRack(RackSpec(scheme="netcache", lab=lab, workload=WorkloadSpec(keys=2000)))
        asyncio.run(rack.compile())
        rack.bring_up()
        assert len(rack.cached_keys()) == entries
        asked.append((rack.asked, rack.passed))
    assert asked[0] == asked[1]
