"""Conditional writes in virtual time: refused if the key has changed, and never read then."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from netkv import schemes
from netkv.errors import MisfitError
from netkv.model.spec import ClosedLoop, WorkloadSpec
from netkv.schemes import checks
from netkv.schemes.spec import LabSpec, RackSpec
from netkv.sim.rack import SimRack
from tests.sim.driving import run, run_phases, started


def rack(conditional: float, *, seed: int = 1) -> SimRack:
    """Two servers of memcached, few keys."""
    return started(
        RackSpec(
            scheme="memcached",
            seed=seed,
            deadline=0.05,
            lab=LabSpec(servers=2, clients=4),
            workload=WorkloadSpec(
                keys=20,
                writes=0.4,
                deletes=0.05,
                conditional=conditional,
                value_size=64,
                arrivals=ClosedLoop(outstanding=16),
            ),
        )
    )


def impair(rack: SimRack, links: Mapping[str, Mapping[str, float]]) -> None:
    for node, impairment in links.items():
        for direction in ("to", "from"):
            asyncio.run(rack.link(node).impair(direction, impairment))


def test_writes_of_changed_keys_are_refused() -> None:
    conditional = rack(0.5)
    client = run(conditional, 0.05).client
    assert client.writes > 500
    assert 0.02 * client.writes < client.counts["conflicts"] < 0.5 * client.writes
    assert client.counts["errors"] == 0
    refused = sum(server["conflicts"] for server in conditional.statistics["servers"])
    assert abs(refused - client.counts["conflicts"]) < 20, "some replies are on their way"
    end = run_phases(conditional, "drain", "verify").client_statistics
    assert (end["acked_writes_lost"], end["linearizable"], end["violation_count"]) == (0, True, 0)
    assert run(rack(0.0), 0.02).client.counts["conflicts"] == 0


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_lossy_links_of_conditional_writes_cause_no_violation(seed: int) -> None:
    lossy = rack(0.5, seed=seed)
    impair(lossy, {"client": {"loss": 0.02, "duplicate": 0.1, "reorder": 0.2}})
    impair(lossy, {"servers-0": {"loss": 0.02, "duplicate": 0.1}})
    client = run(lossy, 0.2).client
    assert client.counts["conflicts"] > 20
    assert client.lost > 5
    impair(lossy, {"client": {}, "servers-0": {}})
    end = run_phases(lossy, "drain", "verify").client_statistics
    assert (end["acked_writes_lost"], end["violation_count"]) == (0, 0)


def test_a_scheme_without_conditional_writes_refuses_them() -> None:
    load = WorkloadSpec(conditional=0.1, writes=0.5)
    checks.check(schemes.get("lake"), LabSpec(), load)
    with pytest.raises(MisfitError) as error:
        checks.check(schemes.get("netcache"), LabSpec(), load)
    assert "has no conditional writes, but 'workload.conditional' is 0.1" in str(error.value)
    assert "lake, memcached" in str(error.value) or "memcached, lake" in str(error.value)
    assert error.value.path == ("workload", "conditional")
