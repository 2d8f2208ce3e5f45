"""The example of docs/add-a-scheme.md compiles, counts, and serves a load in the simulator."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from netkv import schemes
from netkv.control.forwarding import ForwardingOnly
from netkv.control.messages import Message, Op
from netkv.control.network import rack
from netkv.lab.spec import ClosedLoop, LabSpec, RackSpec, WorkloadSpec
from netkv.schemes import Scheme
from netkv.sim.rack import SECOND, SimRack
from tests.control.fabric import Fabric
from tests.docs.documents import ROOT, blocks
from tests.schemes.netcache.netcache_rack import key_of

DOCUMENT = ROOT / "docs/add-a-scheme.md"
(PROGRAM,) = blocks("p4", DOCUMENT)
(ENTRY,) = blocks("python", DOCUMENT)
SPEC = RackSpec(
    scheme="nocache",
    lab=LabSpec(servers=3, profile="farreach-testbed"),
    workload=WorkloadSpec(keys=100, writes=0.2, arrivals=ClosedLoop(outstanding=8)),
)


@pytest.fixture
def scheme(tmp_path: Path) -> Scheme:
    (tmp_path / "counted.p4").write_text(PROGRAM.text)
    names: dict[str, Any] = {}
    exec(ENTRY.text, names)
    found: Scheme = names["COUNTED"]
    assert found.program == "counted.p4"
    return replace(found, program=str(tmp_path / "counted.p4"))


def test_example_serves_a_load_as_nocache_does(scheme: Scheme) -> None:
    served = []
    for each in (scheme, schemes.get("nocache")):
        simulated = SimRack(SPEC, scheme=each)
        asyncio.run(simulated.compile())
        simulated.bring_up()
        simulated.command({"do": "phase", "name": "measure"})
        simulated.advance(simulated.nanoseconds + SECOND // 50)
        served.append(simulated.take_sample().server_load)
    assert served[0] == served[1]
    assert min(served[0]) > 0


def test_example_counts_the_requests_of_each_server(scheme: Scheme) -> None:
    fabric = Fabric(rack(clients=1, servers=3), scheme.program.removesuffix(".p4"), ForwardingOnly)
    for number in range(30):
        assert fabric.ask("client-1", Message(Op.GET, key_of(number), number + 1, 1))
    (switch,) = fabric.switches.values()
    counter = fabric.schema.counters.named("NetkvIngress.count_requests.requests")
    counted = {cell: packets for cell, packets, _ in switch.read_counter(counter.id) if packets}
    assert counted == {server.host.index: len(server.served) for server in fabric.servers.values()}
    assert sum(counted.values()) == 30


def test_example_differs_from_nocache_by_its_count_only() -> None:
    ours = {line.strip() for line in PROGRAM.text.splitlines()}
    theirs = {line.strip() for line in schemes.get("nocache").program_path.read_text().splitlines()}
    more = {line for line in ours - theirs if "ount" in line or "requests" in line}
    assert len(ours - theirs - more) < 12


def test_fields_of_the_table_are_those_of_a_scheme() -> None:
    text = DOCUMENT.read_text()
    table = text[text.index("| field | say") : text.index("Options are a model")]
    required = {"name", "title", "program", "server_role", "client_role", "caches", "paper"}
    for name in set(Scheme.__dataclass_fields__) - required - {"summary", "control_plane"}:
        assert f"`{name}`" in table, name
