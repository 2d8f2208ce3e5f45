"""The programs of docs/use/p4runtime.md run with the switch of a live lab; its statements are
true."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from netkv.control.base import InsertEntry
from netkv.control.forwarding import ROUTE, ForwardingTables
from netkv.labs import daemon
from netkv.live import state
from netkv.model.spec import WorkloadSpec
from netkv.model.topology import Topology
from netkv.schemes.spec import LabSpec, RackSpec
from tests.docs.documents import ROOT, blocks, run_python

pytestmark = pytest.mark.live

DOCUMENT = ROOT / "docs/use/p4runtime.md"
FINSY, SHELL = blocks("python", DOCUMENT)


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of the P4Runtime server of a live lab."""
    monkeypatch.setenv("NETKV_HOME", str(tmp_path / "home"))
    lab = LabSpec(servers=2, cache_entries=16, external_clients=0)
    daemon.up("lab", RackSpec(scheme="netcache", lab=lab, workload=WorkloadSpec(keys=100)))
    try:
        found = daemon.status("lab").to_json()
        address = listening(found["nodes"]["switch"]["pid"])
        if controller := found.get("controller"):
            switch = controller["switches"]["switch"]
            shown = [switch[name] for name in ("p4runtime", "device_id", "election_id")]
            assert shown == [address, 1, 1]
        yield address
        assert daemon.status("lab").state == "ready"
    finally:
        daemon.down("lab")
    assert state.names() == []


def listening(pid: int) -> str:
    """The address of the only TCP socket on which a process listens."""
    sockets = {os.readlink(entry) for entry in Path(f"/proc/{pid}/fd").iterdir() if entry.exists()}
    ports = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
                ports.add(int(fields[1].rpartition(":")[2], 16))
    (port,) = ports
    return f"127.0.0.1:{port}"


def run(python: Path | str, program: str, address: str) -> list[str]:
    return run_python(program, address, python=python).splitlines()


def test_finsy_example_reads_a_lab(address: str) -> None:
    *routes, dropped = run(sys.executable, FINSY.text, address)
    (output,) = blocks("text", DOCUMENT)
    assert [dropped] == output.text.splitlines()
    assert len(routes) > 3
    assert all(" leaves at port " in route for route in routes)


def test_shell_example_reads_the_same_routes(address: str, shell_python: Path) -> None:
    routes = [line.split() for line in run(sys.executable, FINSY.text, address)[:-1]]
    rows = [line.split() for line in run(shell_python, SHELL.text, address)]
    found = sorted((int(dst, 16), int(port, 16)) for dst, port in rows)
    assert found == sorted((int(route[0], 16), int(route[-1])) for route in routes)


def test_numbers_of_the_document_are_those_of_the_code() -> None:
    from netkv.p4rt import API_VERSION, digests, read, server, stream
    from netkv.p4rt.arbitration import Arbitration
    from netkv.p4rt.client import P4RuntimeClient
    from netkv.p4rt.errors import DETAILS_LIMIT

    text = DOCUMENT.read_text()
    assert f"announces `{API_VERSION}`" in text
    assert f"(0: {digests.LIST_LIMIT:,})" in text
    assert f"Up to {read.CHUNK:,} entities" in text
    assert f"{server.MESSAGE_LIMIT >> 20} MiB" in text
    assert f"Up to {stream.OUTBOX_LIMIT:,} packet-ins" in text
    assert f"up to {DETAILS_LIMIT:,} bytes" in text
    assert f"looks every {server.IDLE_SCAN_S * 1000:.0f} ms" in text
    assert Arbitration(1).device_id == P4RuntimeClient("127.0.0.1:1").device_id == 1
    assert "CPU port (510)" in text
    (write, *_) = ForwardingTables(Topology.of_ports([1], [2])).routes()
    assert isinstance(write, InsertEntry)
    assert write.table == ROUTE == "NetkvIngress.route.ipv4"


def test_each_requirement_names_tests_that_exist() -> None:
    table = DOCUMENT.read_text().partition("## Requirements of the specification")[2]
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    folder = ROOT / "tests/p4rt"
    sources = "".join(path.read_text() for path in folder.glob("test_*.py"))
    defined = set(re.findall(r"def (test_\w+)\(", sources))
    for row in rows:
        named = set(re.findall(r"`(test_\w+)`", row.rsplit(" | ", 1)[1]))
        assert named, row
        assert named <= defined, named - defined
