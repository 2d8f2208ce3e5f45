"""Table writes in a simulated switch with several pipelines: their order and times."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from netkv import _engine, resources, schemes
from netkv.control import base
from netkv.errors import UsageError
from netkv.schemes.spec import LabSpec, RackSpec
from netkv.sim import config, profiles
from netkv.sim.controller import Controller, SwitchControl
from netkv.sim.disk import Disk
from netkv.sim.rack import SimRack
from netkv.sim.tables import Tables
from tests.sim.driving import started

MICROSECOND = 1000
GAP = 300 * MICROSECOND
ROUTE = "NetkvIngress.route.ipv4"


@pytest.fixture(scope="module")
def bundle() -> bytes:
    return _engine.compile_p4(str(schemes.get("nocache").program_path), [str(resources.path("p4"))])


class Writer(base.SwitchControlPlane):
    """Sends the given writes at the start, and records events."""

    name = "writer"

    def __init__(self, *writes: base.TableWrite) -> None:
        self.writes = list(writes)
        self.answers: list[tuple[int, base.TableWritten]] = []

    def tables(self) -> Iterator[base.TableWrite]:
        yield from self.writes

    def ready(self) -> bool:
        return True

    def on_table_written(
        self, now: base.Nanoseconds, written: base.TableWritten
    ) -> Iterator[base.Action]:
        self.answers.append((now, written))
        return iter(())


def route(write: int, ip: int, port: int = 1) -> base.InsertEntry:
    return base.InsertEntry(write, ROUTE, {"dst": ip}, "NetkvIngress.route.forward", {"port": port})


def no_route(write: int, ip: int) -> base.DeleteEntry:
    return base.DeleteEntry(write, ROUTE, {"dst": ip})


@dataclass
class SwitchUnderTest:
    """A switch and its controller, without load."""

    simulation: _engine.Simulation
    switch: _engine.Switch
    controller: Controller
    control: SwitchControl
    writer: Writer
    states: list[tuple[int, list[int]]] = field(default_factory=list)
    """After each write that reaches the switch: time, and number of entries by pipeline."""

    def run(self, seconds: float = 0.1) -> None:
        until = self.simulation.now() + round(seconds * 1e9)
        while self.simulation.now() < until:
            for notice in self.simulation.run(until):
                if notice[0] == "write":
                    self.controller.arrived(self.control, notice[2], notice[3])
                    self.states.append((self.simulation.now(), self.entries()))
                elif notice[0] == "answered":
                    self.controller.answered(self.control, notice[2])

    def entries(self) -> list[int]:
        pipelines = range(self.switch.pipelines)
        return [len(self.switch.read_entries(pipeline=pipeline)) for pipeline in pipelines]


@pytest.fixture
def make_switch(bundle: bytes) -> Callable[[int, Writer], SwitchUnderTest]:
    def make(pipelines: int, writer: Writer) -> SwitchUnderTest:
        lab = LabSpec(servers=1, clients=1, pipelines=pipelines)
        spec = RackSpec(scheme="nocache", lab=lab)
        profile = profiles.get("farreach-testbed")
        model = profile.switch.model_copy(update={"table_write_gap": GAP / MICROSECOND})
        profile = profile.model_copy(update={"switch": model})
        switch = _engine.Switch(bundle, 1, "interpreter", pipelines)
        document = config.rack_config(spec, schemes.get("nocache"), config.lay_out(spec), profile)
        simulation = _engine.Simulation(json.dumps(document), [switch])
        tables = Tables(switch, bundle)
        controller = Controller(simulation, Disk(profile.control), lambda: writer, lambda _: None)
        control = SwitchControl(
            0, "", tables, controller, lambda *_: None, lambda: switch.load(bundle)
        )
        return SwitchUnderTest(simulation, switch, controller, control, writer)

    return make


def test_table_write_is_answered_after_the_last_pipeline(
    make_switch: Callable[[int, Writer], SwitchUnderTest],
) -> None:
    alone, four = (make_switch(pipelines, Writer(route(1, ip=7))) for pipelines in (1, 4))
    for each in (alone, four):
        each.controller.start([])
        each.run()
    (first, _), *_ = four.states
    assert four.states == [
        (first, [1, 0, 0, 0]),
        (first + GAP, [1, 1, 0, 0]),
        (first + 2 * GAP, [1, 1, 1, 0]),
        (first + 3 * GAP, [1, 1, 1, 1]),
    ]
    ((answered_alone, _),) = alone.writer.answers
    ((answered, written),) = four.writer.answers
    assert written.ok
    assert alone.states == [(first, [1])]
    assert answered == answered_alone + 3 * GAP


def test_each_pipeline_gets_table_writes_in_order(
    make_switch: Callable[[int, Writer], SwitchUnderTest],
) -> None:
    writes: list[base.TableWrite] = [
        route(1, ip=7),
        no_route(2, ip=7),
        route(3, ip=7, port=2),
        route(4, ip=8),
    ]
    found = make_switch(2, Writer(*writes))
    found.controller.start([])
    found.run()
    answers = found.writer.answers
    assert [(each.write, each.ok) for _, each in answers] == [
        (1, True),
        (2, True),
        (3, True),
        (4, True),
    ]
    for pipeline in (0, 1):
        actions = [entry["action"] for entry in found.switch.read_entries(pipeline=pipeline)]
        ports = sorted(
            int.from_bytes(action[2][0], "big") for action in actions if action[0] == "action"
        )
        assert ports == [1, 2]


def test_write_refused_by_the_first_pipeline_reaches_none(
    make_switch: Callable[[int, Writer], SwitchUnderTest],
) -> None:
    found = make_switch(4, Writer(route(1, ip=7), route(2, ip=7, port=2)))
    found.controller.start([])
    found.run()
    assert found.entries() == [1, 1, 1, 1]
    answers = {each.write: each for _, each in found.writer.answers}
    assert answers[1].ok
    assert "has an entry with these matches already" in answers[2].error


def test_switch_killed_between_two_pipelines_starts_empty(
    make_switch: Callable[[int, Writer], SwitchUnderTest], bundle: bytes
) -> None:
    found = make_switch(2, Writer(route(1, ip=7)))
    found.controller.start([])
    while not found.states:
        found.run(10e-6)
    assert found.entries() == [1, 0]
    found.simulation.stop_switch(0)
    found.controller.switch_stopped(found.control)
    found.run()
    assert found.entries() == [1, 0], "a stopped switch"
    found.switch.load(bundle)
    found.simulation.start_switch(0)
    found.writer.writes.clear()
    found.controller.switch_started(found.control)
    found.run()
    assert found.entries() == [0, 0]


def test_table_write_is_in_all_pipelines_or_none_after_a_kill(
    make_switch: Callable[[int, Writer], SwitchUnderTest],
) -> None:
    found = make_switch(4, Writer(route(1, ip=7)))
    found.controller.start([])
    while not found.states:
        found.run(10e-6)
    found.controller.stopped()
    found.run()
    assert found.entries() == [1, 1, 1, 1]
    assert found.writer.answers == []


def test_a_rack_of_several_pipelines_serves_every_key() -> None:
    lab = LabSpec(servers=4, server_processes=4, clients=4, pipelines=4, profile="farreach-testbed")
    rack = started(RackSpec(scheme="nocache", lab=lab))
    rack.command({"do": "phase", "name": "measure"})
    rack.advance(rack.nanoseconds + 50_000_000)
    sample = rack.take_sample()
    assert sample.client.completed > 1_000
    assert sample.client_statistics["linearizable"] is not False
    assert sample.client_statistics["lost"] == 0


def test_unsupported_number_of_pipelines_is_refused() -> None:
    lab = LabSpec(pipelines=2)
    with pytest.raises(UsageError) as caught:
        SimRack(RackSpec(scheme="netcache", lab=lab))
    assert "'netcache' runs on switches of 1 pipeline, but 'lab.pipelines' is 2" in str(
        caught.value
    )
    assert "Schemes that run on 2: nocache" in str(caught.value)


def test_a_model_that_does_not_fit_the_program_is_refused(bundle: bytes) -> None:
    spec = RackSpec(scheme="nocache", lab=LabSpec(servers=1, clients=1, pipelines=2))
    profile = profiles.get("farreach-testbed")
    document = json.dumps(
        config.rack_config(spec, schemes.get("nocache"), config.lay_out(spec), profile)
    )
    with pytest.raises(ValueError, match="gives switch 0 2 pipelines, but its program runs in 1"):
        _engine.Simulation(document, [_engine.Switch(bundle)])
