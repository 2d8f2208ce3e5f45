"""Simulated controllers: saves, recoveries, crashes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest

from netkv.control import base
from netkv.control.base import MAX_SAVES
from netkv.control.forwarding import ROUTE
from netkv.errors import UsageError
from netkv.model.hardware import TopologySpec
from netkv.model.nodes import NodeError
from netkv.model.profile import ControlModel
from netkv.model.report import RackEvent
from netkv.model.spec import WorkloadSpec
from netkv.schemes.spec import LabSpec, RackSpec
from netkv.sim.disk import Disk
from netkv.sim.rack import SECOND, SimRack
from tests.lab.keeper import SESSION, Keeper, keeper_scheme
from tests.sim.driving import advance, started

MILLISECOND = SECOND // 1000
MODEL = ControlModel(latency=100, rate=10_000, save_time=5000, save_mib_per_s=100)
"""2.5 ms each for file and directory, 10 ms for a MiB."""


def make(
    topology: TopologySpec | None = None,
    on_write: Callable[[str, base.TableWrite, str], None] | None = None,
) -> tuple[SimRack, list[Keeper]]:
    made: list[Keeper] = []
    spec = RackSpec(
        scheme="keeper",
        lab=LabSpec(servers=2, topology=topology or TopologySpec(), profile="farreach-testbed"),
        workload=WorkloadSpec(keys=100),
    )
    return started(spec, scheme=keeper_scheme(made), on_write=on_write), made


def kill(rack: SimRack, node: str) -> None:
    asyncio.run(rack.node(node).kill())


def start(rack: SimRack, node: str) -> None:
    asyncio.run(rack.node(node).start())


def recovered(rack: SimRack) -> list[RackEvent]:
    return [event for event in rack.events if event.kind == "recovered"]


def test_writes_of_all_kinds_reach_the_switch_and_are_counted() -> None:
    rack, made = make()
    assert made[0].statistics()["writes_refused"] == 0
    (session,) = [engine.read_clone_sessions() for engine in rack.engines]
    assert session[SESSION]["replicas"] == [(510, 0)]
    assert rack.take_sample().control_plane_bytes > 0
    tables = rack.control[0].tables
    again = base.CloneSession(write=1, session=SESSION, port=3)
    forward = "NetkvIngress.route.forward"
    nowhere = base.ModifyEntry(2, ROUTE, {"dst": 1}, forward, {"port": 1})
    assert "already" in tables.carry_out(again, 0)
    assert "no such entry" in tables.carry_out(nowhere, 0)
    assert all(tables.write_message_bytes(write) > 0 for write in (again, nowhere))


def test_saves_survive_restarts_and_recoveries_are_events() -> None:
    rack, made = make()
    assert made[0].found is None
    kill(rack, "switch")
    advance(rack, 1)
    start(rack, "switch")
    began = rack.now
    advance(rack, 1)
    (event,) = recovered(rack)
    assert event.node == "switch"
    assert event.recovered is not None
    assert event.recovered.counts == {"records": 2}
    assert event.time - began == pytest.approx(event.recovered.seconds)
    assert 0.004 < event.recovered.seconds < 0.02
    kill(rack, "switch")
    kill(rack, "controller")
    start(rack, "controller")
    start(rack, "switch")
    assert made[-1].found == b"2"


def test_each_switch_has_a_controller_with_its_own_disk() -> None:
    rack, made = make(TopologySpec(kind="spine-leaf", layers=2, switches=2))
    kill(rack, rack.switches[1])
    start(rack, rack.switches[1])
    advance(rack, 1)
    assert [event.node for event in recovered(rack)] == [rack.switches[1]]
    kill(rack, "controller")
    start(rack, "controller")
    switches = len(rack.switches)
    assert [keeper.found for keeper in made[switches:]] == [
        b"2" if number == 1 else b"1" for number in range(switches)
    ]


def test_save_during_a_stop_is_answered_in_the_next_session() -> None:
    rack, made = make()
    kill(rack, "switch")
    start(rack, "switch")
    advance(rack, 0.001)
    assert [answer.save for answer in made[0].answers] == [1]
    kill(rack, "switch")
    advance(rack, 1)
    assert [answer.save for answer in made[0].answers] == [1], "the switch is down"
    start(rack, "switch")
    assert [answer.save for answer in made[0].answers] == [1, 2]
    advance(rack, 1)
    assert [answer.save for answer in made[0].answers] == [1, 2, 3]


@pytest.mark.parametrize(
    ("size", "crash_ms", "survives"),
    [
        (0, 2.4, False),
        (0, 2.6, True),
        (0, 4.9, True),
        (2**20, 12.4, False),
        (2**20, 12.6, True),
    ],
)
def test_save_takes_effect_before_its_answer(size: int, crash_ms: float, survives: bool) -> None:
    disk = Disk(MODEL)
    disk.save(0, base.Save(1, b"old"))
    assert disk.advance(SECOND) == [base.Saved(1, ok=True)]
    disk.save(SECOND, base.Save(2, bytes(size)))
    crash = SECOND + round(crash_ms * MILLISECOND)
    assert disk.advance(crash) == []
    disk.controller_stopped(crash)
    assert disk.saved == (bytes(size) if survives else b"old")
    assert disk.deadline is None
    assert disk.advance(2 * SECOND) == []


def test_saves_are_carried_out_in_order() -> None:
    disk = Disk(MODEL)
    for number in (1, 2):
        disk.save(0, base.Save(number, b""))
    assert disk.deadline == 5 * MILLISECOND
    assert [answer.save for answer in disk.advance(5 * MILLISECOND)] == [1]
    assert disk.deadline == 10 * MILLISECOND
    assert [answer.save for answer in disk.advance(10 * MILLISECOND)] == [2]


def test_pending_saves_are_limited() -> None:
    disk = Disk(MODEL)
    for number in range(MAX_SAVES + 3):
        disk.save(0, base.Save(number, b""))
    assert disk.deadline == 0, "a refusal is answered at once"
    refused = disk.advance(0)
    assert [answer.save for answer in refused] == [MAX_SAVES + 1, MAX_SAVES + 2]
    assert not any(answer.ok for answer in refused)
    done = disk.advance(SECOND)
    assert [answer.save for answer in done] == list(range(MAX_SAVES + 1))


def test_controller_can_be_killed_between_any_two_actions() -> None:
    """For each n, the first n actions of a restart take effect and the others do not."""
    arrived: list[base.TableWrite] = []
    rack, made = make(on_write=lambda _switch, write, _error: arrived.append(write))
    steps = [
        action
        for action in Keeper(made[0].topology).handle(0, base.SwitchRestarted())
        if not isinstance(action, base.Note | base.Recovering)
    ]
    writes = [step for step in steps if not isinstance(step, base.Save)]
    assert isinstance(steps[-1], base.Save)
    for actions in range(len(steps) + 1):
        kill(rack, "switch")
        saved = rack.controllers[0].disk.saved
        arrived.clear()
        rack.controller.kill_after(actions)
        start(rack, "switch")
        assert rack.running["controller"] is (actions == len(steps))
        advance(rack, 1)
        assert tables_of(arrived) == tables_of(writes[:actions])
        assert len(arrived) == min(actions, len(writes))
        assert (rack.controllers[0].disk.saved != saved) is (actions == len(steps))
        start(rack, "controller")
        advance(rack, 1)
        assert rack.ready


def tables_of(actions: Sequence[base.Action]) -> list[str]:
    entries = base.InsertEntry | base.ModifyEntry | base.DeleteEntry | base.SetDefault
    return [action.table for action in actions if isinstance(action, entries)]


def test_pending_kill_takes_effect_at_the_next_start() -> None:
    rack, made = make()
    rack.controller.kill_after(5)
    advance(rack, 1)
    assert rack.running["controller"]
    start(rack, "controller")
    assert len(made) == 2
    assert [e.kind for e in rack.events if e.node == "controller"][-2:] == ["killed", "started"]
    kill(rack, "controller")
    with pytest.raises(NodeError, match="is not running"):
        rack.controller.kill_after(1)
    start(rack, "controller")
    with pytest.raises(UsageError, match="running already"):
        start(rack, "controller")
