"""Links that corrupt frames, in virtual time: no acknowledged write is lost or changed."""

from __future__ import annotations

import asyncio
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from netkv import resources, schemes
from netkv.model.spec import ClosedLoop, WorkloadSpec
from netkv.schemes import Scheme
from netkv.schemes.spec import LabSpec, RackSpec
from netkv.sim.rack import SimRack
from tests.sim.driving import run, run_phases, started

SCHEMES = {
    "write-through": "netcache",
    "write-back": "farreach",
    "replicated": "distreach",
    "multigets": "netmc",
    "memcached": "memcached",
}


def make(name: str, scheme: Scheme | None = None, **workload: Any) -> SimRack:
    """A small rack of a scheme, up and idle, whose links flip bits in every twentieth frame."""
    of_scheme = {"multiget": 6} if schemes.get(name).traits.multigets else {}
    cache = {"cache_entries": 50, "hot_threshold": 8} if name in ("netcache", "farreach") else {}
    load = {"keys": 200, "writes": 0.3, "deletes": 0.05, "value_size": 64, **of_scheme, **workload}
    spec = RackSpec(
        scheme=name,
        retry=0.01,
        # Requests of memcached are sent once.
        deadline=0.02 if name == "memcached" else 2,
        lab=LabSpec(servers=4, server_processes=4, clients=4, executor="interpreter", **cache),
        workload=WorkloadSpec(**load, arrivals=ClosedLoop(outstanding=16)),
    )
    rack = started(spec, scheme=scheme)
    for node in ("client", *(f"servers-{number}" for number in range(4))):
        for direction in ("to", "from"):
            asyncio.run(rack.link(node).impair(direction, {"corrupt": 0.05}))
    return rack


def heal(rack: SimRack) -> None:
    for node in ("client", *(f"servers-{number}" for number in range(4))):
        for direction in ("to", "from"):
            asyncio.run(rack.link(node).impair(direction, {}))


@pytest.mark.parametrize("name", SCHEMES.values(), ids=SCHEMES)
def test_corrupted_frames_change_nothing(name: str) -> None:
    rack = make(name)
    sample = run(rack, 0.3).client_statistics
    assert sample["completed"] > 500
    assert sample["phantom_reads"] == sample["violation_count"] == sample["errors"] == 0
    corrupted = rack.statistics["corrupted"]
    assert corrupted > 100
    heal(rack)
    end = run_phases(rack, "drain", "verify").client_statistics
    assert (end["acked_writes_lost"], end["linearizable"], end["violation_count"]) == (0, True, 0)
    refused = sample["malformed"] + sum(it["malformed"] for it in rack.statistics["servers"])
    assert 0 < refused < corrupted


CLEAR = "update_checksum(hdr.udp.isValid(), { 16w0xffff }, hdr.udp.checksum, HashAlgorithm.csum16);"
"""Of this data the checksum is 0: none."""


def without_checksums(scheme: str, folder: Path) -> Scheme:
    """A mutant: switches do not verify UDP checksums, and clear them, so that no end can verify."""
    sources = folder / "p4"
    shutil.copytree(resources.path("p4"), sources)
    changed = 0
    for file in sources.rglob("*.p4"):
        text = file.read_text()
        text, verified = re.subn(
            r"(verify_checksum_with_payload\([^,]*)&& hdr\.udp\.checksum != 0,",
            r"\1&& false,",
            text,
        )
        text, cleared = re.subn(r"update_checksum_with_payload\(.*?;", CLEAR, text, flags=re.DOTALL)
        text = text.replace("&& meta.udp_checksum != 0 && hdr.udp.checksum == 0,", "&& false,")
        changed += verified + cleared
        file.write_text(text)
    assert changed == 4, "of single keys and of multigets"
    known = schemes.get(scheme)
    # Includes are looked up beside the program first.
    program = shutil.copy(known.program_path, sources)
    return known.with_program(Path(program))


@pytest.mark.parametrize("name", ["netcache", "farreach", "netmc"])
def test_ends_that_cannot_verify_read_what_was_never_written(name: str, tmp_path: Path) -> None:
    rack = make(name, without_checksums(name, tmp_path))
    sample = run(rack, 0.3).client_statistics
    assert sample["phantom_reads"] > 0
