"""The interface of FarReach's switch to its controller: tables, counters, snapshot point."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from netkv.control import base
from netkv.control.forwarding import ForwardingOnly
from netkv.control.pipelines import pipeline_of
from netkv.model.messages import Bit, Message, Op, Stamp
from netkv.model.topology import CPU_PORT, Topology
from netkv.p4rt.schema import Field
from tests.schemes.farreach.programs.write_back import INCARNATION, about, owned_by, read, write
from tests.schemes.farreach.programs.write_back_switch import SETTINGS, FarReachSwitch

DOCUMENT = Path(__file__).parents[4] / "docs/schemes/farreach.md"
DROPS, LATE_DROPS = "NetkvIngress.drop.reasons", "NetkvEgress.drop.reasons"


def test_the_tables_are_those_of_the_document() -> None:
    """Names and widths of tables, keys, actions and parameters. Controllers rely on them."""
    schema = FarReachSwitch(1).names.schema
    section = DOCUMENT.read_text().split("## Tables\n")[1].split("\n## ")[0].replace("`", "")
    rows = [line.split("|")[1:-1] for line in section.splitlines() if line.startswith("| Netkv")]
    assert {row[0].strip() for row in rows} == {table.name for table in schema.tables}
    for name, key, actions, default, size in ([cell.strip() for cell in row] for row in rows):
        table = schema.tables.named(name)
        assert (
            key == ", ".join(f"{written(field)} {field.kind}" for field in table.keys)
            or key == "none"
        )
        assert bool(table.keys) == (key != "none")
        for call in re.split(r"(?<=\)), ", actions):
            action = schema.actions.named(call.split(" ")[0])
            assert action.id in table.actions
            assert call == f"{action.name} ({', '.join(map(written, action.params))})"
        assert default
        assert not table.keys or table.size == int(size.replace(",", ""))


def written(field: Field) -> str:
    return f"{field.name} [{field.width}]"


def test_drops_are_counted_by_reason() -> None:
    switch = FarReachSwitch(2)  # closed by default
    key = owned_by(0, 0)
    for message in (read(key), write(key, b"v", 1), write(key, None, 2)):
        assert switch.ask(1, message) == []
    assert switch.drops(DROPS) == {6: 3}
    switch.open()
    assert len(switch.ask(1, write(key, b"v", 1 + 1024))) == 1
    assert switch.ask(2, write(key, b"v", 1)) == []
    assert switch.drops(LATE_DROPS) == {7: 1}
    fill = about(Op.FILL, key, 0, Stamp(generation=1))
    assert switch.ask(1, fill) == []
    assert switch.ask(1, replace(read(key), stamp=None)) == []
    assert switch.control(about(Op.FILL, key, 32768, Stamp(generation=1))) == []
    assert switch.drops(DROPS) == {1: 2, 5: 1, 6: 3}


class Rack:
    """A switch with hosts in all pipelines, and the table writes of a snapshot."""

    def __init__(self, pipelines: int) -> None:
        self.pipelines = pipelines
        self.clients = [*range(1, 9)]
        topology = Topology.of_ports(self.clients, [101 + i for i in range(8)])
        self.topology = topology
        ports = [*self.clients, *range(101, 109), CPU_PORT]
        writes: list[base.TableWrite] = list(ForwardingOnly(topology).tables())
        for port in ports:
            params = {"pipeline": pipeline_of(port, pipelines)}
            control = "NetkvIngress.ingress_pipeline"
            table, action = f"{control}.ports", f"{control}.of_pipeline"
            writes.append(base.InsertEntry(0, table, {"port": port}, action, params))
            writes.append(base.CloneSession(0, port, port))
        for pipeline in range(pipelines):
            writes.append(self.entry(base.InsertEntry, pipeline, "idle"))
        self.switch = FarReachSwitch(pipelines, writes).open()

    @staticmethod
    def entry(
        kind: type[base.InsertEntry] | type[base.ModifyEntry],
        pipeline: int,
        action: str,
        **params: int,
    ) -> base.TableWrite:
        name = f"NetkvIngress.snapshot.{action}"
        match = {"pipeline": pipeline}
        return kind(0, "NetkvIngress.snapshot.snapshot", match, name, params)

    def phase(self, number: int, *steps: tuple[int, str]) -> Iterator[int]:
        """Modify snapshot entries, each in all pipelines in turn; yield each pipeline after it."""
        for pipeline, action in steps:
            params = {"number": number} if action == "taking" else {}
            write = self.entry(base.ModifyEntry, pipeline, action, **params)
            for reached in range(self.pipelines):
                self.switch.write_in(reached, write)
                yield reached


@pytest.mark.parametrize("pipelines", [1, 2, 4])
@pytest.mark.parametrize("seed", range(3))
def test_a_snapshot_is_the_state_at_one_moment_in_all_pipelines(pipelines: int, seed: int) -> None:
    """Through all phases, with writes by all ports in between (docs/schemes/farreach.md,
    "Controller")."""
    random, rack = Random(seed), Rack(pipelines)
    switch = rack.switch
    keys = [number.to_bytes(16) for number in range(1, 25)]
    for entry, key in enumerate(keys):
        switch.cached(key, entry, 1 + entry)
        for op in (Op.FILL, Op.VALIDATE):
            stamp = Stamp(INCARNATION, 1, 1 + entry)
            ((port, _),) = switch.control(about(op, key, entry, stamp, b""))
            assert port == CPU_PORT
    state = dict.fromkeys(keys, b"")
    originals: dict[int, dict[bytes, Message]] = {}
    requests = 0

    def traffic(count: int) -> None:
        nonlocal requests
        for _ in range(count):
            requests += 1
            key, client = random.choice(keys), random.choice(rack.clients)
            value = random.choice([None, random.randbytes(random.randrange(129))])
            message = write(key, value, requests, client, Stamp(INCARNATION))
            out = switch.ask(client, message)
            assert out[-1][0] == client
            assert out[-1][1].op == message.op + 1
            reported = [copy for at, copy in out[:-1] if at == CPU_PORT]
            assert len(reported) == len(out) - 1
            assert reported in ([], [reported[0]] * 3) if reported else True
            for copy in reported[:1]:
                assert copy.slot
                first = originals.setdefault(copy.slot.number, {})
                assert key not in first, "only the first write after the snapshot point reports"
                first[key] = copy
            state[key] = value or b""

    others = range(1, pipelines)
    for number in range(1, 5):
        traffic(40)
        shuffled = random.sample(others, len(others))
        for _ in rack.phase(number, *((pipeline, "redirect") for pipeline in shuffled)):
            traffic(3)
        for reached in rack.phase(number, (0, "taking")):
            if reached == 0:
                point = dict(state)
            traffic(3)
        shuffled = random.sample(others, len(others))
        for _ in rack.phase(number, *((pipeline, "taking") for pipeline in shuffled)):
            traffic(3)
        snapshot = {}
        for entry, key in random.sample([*enumerate(keys)], len(keys)):
            traffic(1)
            load = about(Op.LOAD, key, entry, Stamp(generation=1 + entry), snapshot=number)
            ((_, record),) = switch.control(load)
            assert record.stamp
            if record.stamp.bits & Bit.OVERWRITTEN:
                record = originals[number][key]
            snapshot[key] = record.value
        traffic(20)
        assert snapshot == point
        for _ in rack.phase(number, *((pipeline, "idle") for pipeline in range(pipelines))):
            traffic(2)
    recirculated = switch.engine.statistics()["recirculated"]
    assert bool(recirculated) == (pipelines > 1)


def test_pipeline_without_the_entry_forwards_requests_for_it() -> None:
    """The controller deletes lookup entries one pipeline at a time, after RETIRE."""
    rack = Rack(2)
    switch = rack.switch
    key = (7).to_bytes(16)
    switch.cached(key, 3, 5)
    for op in (Op.FILL, Op.VALIDATE):
        switch.control(about(op, key, 3, Stamp(INCARNATION, 1, 5)))
    ((_, applied),) = switch.ask(1, write(key, b"one", 1, stamp=Stamp(INCARNATION)))
    assert applied.cache_hit
    for op in (Op.EVICT, Op.RETIRE):
        switch.control(about(op, key, 3, Stamp(generation=5)))
    table = switch.names.schema.tables.named("NetkvIngress.lookup.cache")
    switch.engine.delete_entry(table.id, [(1, "exact", key)], pipeline=0)
    owner = rack.topology.owner(key).port
    for port in (1, 2):
        request = write(key, b"two", 10 + port, stamp=Stamp(INCARNATION))
        ((at, forwarded),) = switch.ask(port, request)
        assert (at, forwarded.op) == (owner, Op.PUT)
        ((at, missed),) = switch.ask(port, read(key, 20 + port, stamp=Stamp(INCARNATION)))
        assert (at, missed.op, missed.stamp) == (owner, Op.GET, Stamp(INCARNATION))


def test_switch_without_an_incarnation_applies_nothing() -> None:
    switch = FarReachSwitch(1)
    switch.settings()
    key = owned_by(0, 0)
    switch.cached(key, 1, 1)
    for op in (Op.FILL, Op.VALIDATE):
        switch.control(about(op, key, 1, Stamp(generation=1)))
    for request, incarnation in enumerate((0, 1)):
        ((_, forwarded),) = switch.ask(1, write(key, b"v", request, stamp=Stamp(incarnation)))
        assert forwarded.op == Op.PUT


def test_frame_recirculates_once_if_all_pipelines_redirect() -> None:
    rack = Rack(2)
    assert list(rack.phase(1, (0, "redirect"), (1, "redirect"))) == [0, 1, 0, 1]
    for port in (1, 2):
        assert len(rack.switch.ask(port, write((1).to_bytes(16), b"v", port))) == 1
    assert rack.switch.engine.statistics()["recirculated"] == 2


def test_every_row_of_the_sketch_counts() -> None:
    switch = FarReachSwitch(1).open()
    switch.settings(sample_below=65_536)
    for number in range(100):
        switch.ask(1, read(number.to_bytes(16)))
    for row in range(4):
        register = switch.names.schema.registers.named(f"NetkvEgress.sketch.row{row}.cells")
        cells = [int.from_bytes(cell) for _, cell in switch.engine.read_register(register.id)]
        assert sum(cell & 0xFFFF for cell in cells) == 100
        assert {cell >> 16 for cell in cells} == {0, SETTINGS["epoch"]}


def test_answer_without_a_clone_session_is_dropped_and_counted() -> None:
    switch = FarReachSwitch(1).open()
    key = owned_by(0, 0)
    switch.cached(key, 1, 1)
    for op in (Op.FILL, Op.VALIDATE):
        switch.control(about(op, key, 1, Stamp(INCARNATION, 1, 1)))
    switch.engine.delete_clone_session(1)
    assert switch.ask(1, write(key, b"v", 1, stamp=Stamp(INCARNATION))) == []
    assert switch.engine.statistics()["unknown_clone_sessions"] == 1
    ((port, answer),) = switch.ask(2, write(key, b"v", 1, stamp=Stamp(INCARNATION)))
    assert (port, answer.stamp) == (2, Stamp(INCARNATION, 1))
