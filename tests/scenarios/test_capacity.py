"""Warnings about loads that cannot be served, or that measure the machine and not the scheme."""

from __future__ import annotations

import pytest

from netkv import resources
from netkv.scenarios import capacity, loader
from netkv.sim import profiles

TEXT = """\
name: mine
schemes: [nocache, netcache]
lab: {servers: 4, service_rate: 1000, cache_entries: 100}
workload: {keys: 10000, zipf: 0.99, arrivals: {rate: 1000}}
"""


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two cores that were calibrated, with the figures of the shipped machine."""
    monkeypatch.setattr(capacity, "cores", lambda: 2)
    monkeypatch.setattr(profiles, "is_measured", lambda: True)
    known = profiles.get(profiles.FALLBACK)
    monkeypatch.setattr(profiles, "get", lambda _: known)


def warnings(*changes: str) -> list[str]:
    return capacity.warnings(loader.loads(TEXT, "mine.yaml", changes))


def test_rate_that_the_servers_allow_has_no_warning() -> None:
    assert warnings() == []


def test_rate_beyond_the_servers_is_named_with_its_schemes() -> None:
    """Without a cache, the server of the hottest key limits the rate; a cache takes its load."""
    (only,) = warnings("workload.arrivals={rate: 6000}")
    assert "A load of 6,000 operations/s cannot be served with nocache:" in only
    assert "allow about 4,000 operations/s" in only
    (both,) = warnings("workload.arrivals={rate: 500000}")
    assert "with nocache, netcache:" in both
    assert warnings("workload.arrivals={rate: 6000}", "lab.service_rate=4000") == []


def test_skew_limits_servers_without_a_cache() -> None:
    assert warnings("workload.arrivals={rate: 3900}", "workload.zipf=0") == []
    (found,) = warnings("workload.arrivals={rate: 3900}", "workload.keys=20")
    assert "with nocache:" in found


def test_rate_of_an_event_and_of_a_point_of_the_sweep_count() -> None:
    assert warnings("events=[{at: 1, rate: 9000}]")
    assert warnings("sweep={workload.arrivals.rate: [100, 9000]}")
    assert not warnings("sweep={workload.arrivals.rate: [100, 900]}", "repeat=3")


def test_rate_beyond_the_machine_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = ("lab.service_rate=null", "workload.arrivals={rate: 1000000}")
    (found,) = warnings(*fast)
    assert "is more than this machine can do with nocache, netcache" in found
    monkeypatch.setattr(capacity, "cores", lambda: 64)
    assert warnings(*fast) == []


def test_closed_loop_without_a_service_rate_measures_the_machine() -> None:
    closed = "workload.arrivals={outstanding: 64}"
    assert warnings(closed) == []
    (found,) = warnings(closed, "lab.service_rate=null")
    assert "With nocache, netcache the load keeps this machine busy" in found
    assert warnings("workload.arrivals={outstanding: 1}", "lab.service_rate=null") == [], "latency"
    (found,) = warnings(closed, "lab.service_rate=100000000")
    assert "this machine limits the throughput" in found
    adapted = "workload.arrivals={loss: 0.01, rate: 1000, every: 5}"
    assert warnings(adapted, "lab.service_rate=null")


def test_simulated_rack_takes_the_time_that_it_needs() -> None:
    assert warnings("mode=sim", "workload.arrivals={rate: 50000000}") == []


def test_shipped_scenarios_with_a_warning() -> None:
    """One compares the processing of requests on this machine on purpose; its text says so."""
    shipped = resources.scenarios().items()
    found = {name for name, file in shipped if capacity.warnings(loader.load(file))}
    assert found == {"multiget-size-sweep"}
