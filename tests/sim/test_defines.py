"""Programs are compiled with the macros for their lab: live, simulated and in soak runs."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from netkv import schemes
from netkv.errors import NetkvError
from netkv.live.rack import LiveRack
from netkv.model.spec import WorkloadSpec
from netkv.schemes import Scheme
from netkv.schemes.scheme import P4Programs
from netkv.schemes.spec import LabSpec, RackSpec
from netkv.sim import profiles
from netkv.sim.rack import SimRack
from netkv.soak.case import Case
from netkv.soak.run import play

SPEC = RackSpec(
    scheme="nocache",
    lab=LabSpec(servers=3, profile="farreach-testbed"),
    workload=WorkloadSpec(keys=100),
)


@pytest.fixture
def scheme(tmp_path: Path) -> Scheme:
    """NoCache with a program that compiles only with the macro for 3 servers."""
    program = tmp_path / "three_servers.p4"
    source = schemes.get("nocache").program_path.read_text()
    program.write_text(f"#if SERVERS != 3\n#error SERVERS should be 3\n#endif\n{source}")
    programs = P4Programs(str(program), defines=lambda lab: {"SERVERS": str(lab.servers)})
    return replace(schemes.get("nocache"), programs=programs)


def test_program_without_the_macros_does_not_compile(scheme: Scheme) -> None:
    with pytest.raises(NetkvError, match="SERVERS should be 3"):
        scheme.compile(LabSpec(servers=4))
    programs = replace(scheme.programs, defines=lambda _: {})
    with pytest.raises(NetkvError, match="SERVERS"):
        replace(scheme, programs=programs).compile(LabSpec(servers=3))


def test_a_simulated_rack_compiles_its_program_for_its_lab(scheme: Scheme) -> None:
    asyncio.run(SimRack(SPEC, scheme=scheme).compile())


def test_a_live_rack_compiles_its_program_for_its_lab(scheme: Scheme, tmp_path: Path) -> None:
    rack = LiveRack(SPEC, tmp_path / "rack")
    rack.scheme = scheme
    asyncio.run(rack.compile())
    assert rack.program_hash


def test_a_soak_run_compiles_its_program_for_its_lab(scheme: Scheme) -> None:
    case = Case(seed=1, rack=SPEC, profile=profiles.get("farreach-testbed"), duration=0.01)
    outcome = play(case, scheme=scheme)
    assert outcome.violations == ()
    assert outcome.operations > 0
