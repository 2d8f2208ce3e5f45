"""Reads of records that were written, and of others once some were: RocksDB's memtable."""

from __future__ import annotations

import pytest

from netkv.model.profile import Profile, StoreModel, constant
from netkv.model.spec import ClosedLoop, WorkloadSpec
from netkv.schemes.spec import LabSpec, RackSpec
from netkv.sim import profiles
from tests.sim.driving import run, started


def latency_us(store: StoreModel, writes: float, keys: int) -> float:
    """Mean latency of single operations in a rack whose network takes no time worth mentioning."""
    profile = profiles.get("farreach-testbed")
    server = profile.server.model_copy(
        update={**{name: getattr(store, name) for name in StoreModel.model_fields}}
    )
    changed: Profile = profile.model_copy(update={"server": server})
    spec = RackSpec(
        scheme="nocache",
        lab=LabSpec(servers=1, server_processes=1, clients=1, profile="farreach-testbed"),
        workload=WorkloadSpec(keys=keys, zipf=0, writes=writes, arrivals=ClosedLoop(outstanding=1)),
    )
    sample = run(started(spec, profile=changed), 0.5)
    return float(sample.client_statistics["latency_ns"]["mean"]) / 1000


STORE = StoreModel(get=constant(100), put=constant(100), delete=constant(100))
WITH_MEMTABLE = STORE.model_copy(update={"written_get": constant(40), "behind_writes": 200.0})


def test_without_writes_no_read_changes() -> None:
    assert latency_us(WITH_MEMTABLE, 0, 10) == pytest.approx(latency_us(STORE, 0, 10))


def test_written_records_are_read_from_the_memtable() -> None:
    # Of 10 keys all are soon written: half of the operations are reads of 40 instead of 100 us.
    saved = latency_us(STORE, 0.5, 10) - latency_us(WITH_MEMTABLE, 0.5, 10)
    assert saved == pytest.approx(30, rel=0.15)


def test_reads_of_other_records_search_the_memtable_first() -> None:
    # Of 100 million keys none is read again: half of the operations take 200 us more.
    added = latency_us(WITH_MEMTABLE, 0.5, 10**8) - latency_us(STORE, 0.5, 10**8)
    assert added == pytest.approx(100, rel=0.1)


def test_profile_of_the_artefact_follows_from_the_measurement_beside_it() -> None:
    server = profiles.get("farreach-artefact").server
    write = server.receive.mean + server.put.mean + server.send.mean
    assert 1e6 / write == pytest.approx(70_400, rel=1e-3)
    assert server.warm_get is not None
    assert server.written_get is not None
    assert server.written_get.mean < server.warm_get.mean < server.put.mean < server.get.mean
    assert server.get.mean - server.put.mean == pytest.approx(5.45 - 3.74, abs=0.01)
    assert server.behind_writes == pytest.approx(
        ((2.51 + 4.23 + 7.03) - (1.74 + 2.70 + 5.45)) / 3, abs=0.01
    )
