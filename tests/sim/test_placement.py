"""`workload.placement: ycsb`: records lie where FarReach's artefact has them, whatever the seed."""

from __future__ import annotations

import asyncio

import pytest

from netkv import schemes
from netkv._engine import key_of_record, owner_index
from netkv.errors import UsageError
from netkv.model.spec import WorkloadSpec
from netkv.rack.base import hottest_keys
from netkv.scenarios import popularity
from netkv.scenarios.rotation import busiest
from netkv.schemes import checks
from netkv.schemes.spec import LabSpec, RackSpec
from netkv.sim.rack import SimRack
from tests.sim import driving

WORKLOAD = WorkloadSpec(keys=100_000_001, placement="ycsb", writes=0.5)


def rack(scheme: str, seed: int) -> SimRack:
    lab = LabSpec(servers=16, clients=4, cache_entries=100, profile="farreach-testbed", scale=10)
    return driving.started(RackSpec(scheme=scheme, seed=seed, lab=lab, workload=WORKLOAD))


def test_hot_records_and_their_servers_do_not_depend_on_the_seed() -> None:
    lists = [
        hottest_keys(rack("nocache", seed).command({"do": "hottest", "n": 50_000}))
        for seed in (1, 2)
    ]
    assert lists[0] == lists[1]
    law = popularity.of(WORKLOAD)
    # The servers that the artefact's scripts name as the busiest.
    found = {servers: busiest(lists[0], law, servers) for servers in (16, 32, 64, 128)}
    assert found == {16: 14, 32: 29, 64: 59, 128: 118}


def test_load_of_servers_is_what_the_artefact_has() -> None:
    simulated = rack("nocache", 1)
    served = driving.run(simulated, 2.0).server_served
    # Normalised throughput of 16 servers without a cache: 11.10 by the artefact's rules.
    assert served.index(max(served)) == 14
    assert sum(served) / max(served) == pytest.approx(11.10, rel=0.05)


def test_caches_find_the_records_and_reads_are_right() -> None:
    simulated = rack("farreach", 1)
    sample = driving.run(simulated, 0.5)
    assert sample.client_statistics["hits"] > 0.1 * sample.client_statistics["reads"]
    assert sample.client_statistics["not_found"] == 0
    assert sample.client_statistics["linearizable"] is True
    asyncio.run(simulated.stop())


def test_record_has_one_key_for_each_placement() -> None:
    assert key_of_record(7) != key_of_record(7, "ycsb")
    assert owner_index(key_of_record(7, "ycsb"), 16) in range(16)
    with pytest.raises(ValueError, match="'seed' or 'ycsb'"):
        key_of_record(7, "ycbs")
    with pytest.raises(ValueError, match="below 1000000000000"):
        key_of_record(10**12, "ycsb")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"zipf": 1.0}, "needs 'zipf' below 1, not 1"),
        ({"key_size": 20}, "needs keys of 16 bytes, not 20"),
    ],
)
def test_impossible_placement_is_refused(changes: dict[str, float], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        WorkloadSpec.model_validate({"placement": "ycsb", **changes})


def test_multigets_have_another_hash_and_so_no_placement() -> None:
    with pytest.raises(UsageError, match=r"'workload\.placement' is 'ycsb': it must be 'seed'"):
        checks.check(schemes.get("netmc"), LabSpec(), WorkloadSpec(placement="ycsb"))
