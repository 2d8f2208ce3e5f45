"""Schemes with a program for each tier of a network, in plans, simulated and live."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from netkv import schemes
from netkv.cli.scheme import app
from netkv.live.rack import LiveRack
from netkv.model import network
from netkv.model.hardware import TopologySpec
from netkv.schemes.description import describe
from netkv.schemes.programs import Programs
from netkv.schemes.spec import LabSpec, RackSpec
from tests.lab.racks import running, serves, spec, verify
from tests.sim.driving import run, started

LEAVES = TopologySpec(kind="spine-leaf", layers=2, switches=2)
# Programs with other tables than the main one, which forward as it does while nothing is cached.
OTHERS: dict[network.Tier, str] = {"between": "netcache/netcache.p4"}
NETCACHE_ONLY = "NetkvIngress.sampling.settings"


def tiers(net: network.Network) -> dict[str, str]:
    return {plan.name: plan.tier for plan in net.switches}


def test_place_of_a_switch_follows_from_its_hosts() -> None:
    hosts: Any = {"clients": 2, "servers": 4}
    assert tiers(network.rack(**hosts)) == {"tor": "servers"}
    assert tiers(network.racks(3, **hosts)) == {
        "core": "between",
        "tor-0": "clients",
        "tor-1": "servers",
        "tor-2": "servers",
    }
    assert tiers(network.racks(2, **hosts, client_racks=0)) == {
        "core": "between",
        "tor-0": "servers",
        "tor-1": "servers",
    }
    layers = tiers(network.spine_leaf(3, 1, **hosts))
    assert layers == {
        "edge-0": "clients",
        "spine1-0": "between",
        "spine2-0": "between",
        "leaf-0": "servers",
    }
    assert tiers(network.spine_leaf(2, 2, **hosts).without(["spine-0"]))["spine-0"] == "between"


def test_hash_of_several_programs_covers_each() -> None:
    lab = LabSpec()
    one, two = (schemes.get(name).compile(lab) for name in ("nocache", "netcache"))
    assert Programs(one).at("between") == one
    assert Programs(one, {"between": two}).at("between") == two
    assert Programs(one, {"between": two}).at("servers") == one
    variants = [
        Programs(one),
        Programs(two),
        Programs(one, {"between": two}),
        Programs(one, {"clients": two}),
        Programs(two, {"between": one}),
    ]
    assert len({each.source_hash for each in variants}) == len(variants)
    assert Programs(one).source_hash.encode() in one


def with_others(scheme: schemes.Scheme) -> schemes.Scheme:
    return replace(scheme, programs=replace(scheme.programs, others=OTHERS))


def test_another_file_replaces_the_program_with_its_name() -> None:
    scheme = with_others(schemes.get("distnocache"))
    changed = scheme.with_program(Path("/x/netcache.p4"))
    assert changed.other_paths == {"between": Path("/x/netcache.p4")}
    assert changed.program_path == scheme.program_path
    main = scheme.with_program(Path("/x/mine.p4"))
    assert (main.program_path, main.other_paths) == (Path("/x/mine.p4"), scheme.other_paths)


@pytest.fixture
def mixed(monkeypatch: pytest.MonkeyPatch) -> str:
    """A scheme whose spines run another program."""
    known = schemes.registry.catalogue()
    scheme = with_others(known.schemes["distnocache"])
    monkeypatch.setitem(known.schemes, "distnocache", scheme)
    return scheme.name


def test_simulated_switches_run_the_program_of_their_tier(mixed: str) -> None:
    lab = LabSpec(servers=4, topology=LEAVES, profile="farreach-testbed")
    rack = started(RackSpec(scheme=mixed, lab=lab))
    assert len(rack.program_hash) == 64
    own = {
        name: NETCACHE_ONLY in {table.name for table in control.tables._names.schema.tables}
        for name, control in zip(rack.switches, rack.control, strict=True)
    }
    assert own == {
        "edge-0": False,
        "spine-0": True,
        "spine-1": True,
        "leaf-0": False,
        "leaf-1": False,
    }
    assert run(rack, 0.02).client.completed > 500
    # A restarted switch gets its own program again.
    spine = rack.switch_nodes[rack.switches.index("spine-0")]
    asyncio.run(spine.kill())
    asyncio.run(spine.start())
    sample = run(rack, 0.5)
    assert sample.client.completed > 500
    assert sample.client_statistics["linearizable"] is not False
    assert rack.ready


def test_scheme_show_names_all_programs(mixed: str) -> None:
    about = describe(schemes.get(mixed))
    assert about["other_programs"] == OTHERS
    shown = CliRunner().invoke(app, ["show", mixed])
    assert shown.exit_code == 0
    assert "forwarding/forwarding.p4, netcache/netcache.p4" in " ".join(shown.output.split())


@pytest.mark.live
async def test_live_switches_run_the_program_of_their_tier(mixed: str, tmp_path: Path) -> None:
    rack = LiveRack(spec(mixed, topology=LEAVES, server_processes=2), tmp_path)
    async with running(rack):
        await serves(rack)
        own = {}
        for controller in rack.controller._controllers:
            (connection,) = controller.connections.values()
            session = connection._session
            assert session is not None
            tables = {each.name for each in session._names.schema.tables}
            own[connection.node] = NETCACHE_ONLY in tables
        assert {name for name, has in own.items() if has} == {"spine-0", "spine-1"}
        sample = await verify(rack)
        assert sample.client_statistics["linearizable"] is True
    assert rack.failed is None
