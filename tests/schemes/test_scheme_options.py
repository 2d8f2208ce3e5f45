"""Options of schemes with a cache, and their errors for unsuitable labs."""

from typing import Any

import pytest

from netkv import schemes
from netkv.control.base import SECOND
from netkv.control.roundtrip import Timeouts
from netkv.errors import UsageError
from netkv.model.hardware import TopologySpec
from netkv.model.spec import WorkloadSpec
from netkv.model.topology import Topology
from netkv.schemes import checks
from netkv.schemes.farreach.control_plane import FarReach
from netkv.schemes.farreach.parameters import FarReachParameters
from netkv.schemes.netcache.control_plane import NetCache
from netkv.schemes.spec import LabSpec, RackSpec

TOPOLOGY = Topology.of_ports([1], [2, 3])


def control_plane(scheme: str, **lab: Any) -> NetCache | FarReach:
    spec = RackSpec(scheme=scheme, lab=LabSpec(**lab), seed=5)
    control = schemes.get(scheme).control_plane(spec, TOPOLOGY)
    assert isinstance(control, NetCache | FarReach)
    return control


def test_farreach_takes_its_options_from_the_lab() -> None:
    options = control_plane(
        "farreach",
        cache_entries=77,
        hot_threshold=9,
        epoch=0.5,
        snapshot_period=2.5,
        sample_rate=0.25,
        pipelines=4,
    ).parameters
    assert options == FarReachParameters(
        capacity=77,
        hot_threshold=9,
        epoch=SECOND // 2,
        snapshot_period=5 * SECOND // 2,
        sample_rate=0.25,
        pipelines=4,
        seed=5,
    )


def test_defaults_are_those_of_the_papers() -> None:
    options = control_plane("farreach").parameters
    assert isinstance(options, FarReachParameters)
    assert (options.sample_rate, options.snapshot_period) == (0.5, 10 * SECOND)
    assert control_plane("netcache").parameters.sample_rate == 1.0
    assert control_plane("netcache", sample_rate=0.1).parameters.sample_rate == 0.1


@pytest.mark.parametrize("scheme", ["netcache", "farreach"])
def test_timeouts_follow_the_scale_of_the_lab(scheme: str) -> None:
    bounds, slow = Timeouts(), control_plane(scheme, scale=100).parameters.timeouts
    assert control_plane(scheme).parameters.timeouts == bounds
    assert (slow.first, slow.longest) == (100 * bounds.first, 100 * bounds.longest)
    assert slow.shortest == bounds.shortest, "the controller is not slower"


def test_collect_patience_follows_the_scale_of_the_lab() -> None:
    options = control_plane("farreach", scale=100).parameters
    assert isinstance(options, FarReachParameters)
    assert options.collect_patience == 100 * FarReachParameters().collect_patience


@pytest.mark.parametrize(
    ("scheme", "lab", "error"),
    [
        ("farreach", {"cache_entries": 32_769}, "supports 'lab.cache_entries' up to 32768"),
        ("farreach", {"topology": TopologySpec(kind="racks")}, "supports one switch only"),
        ("farreach", {"topology": TopologySpec(kind="spine-leaf")}, "must be 'rack'"),
    ],
)
def test_unsuitable_lab_is_refused(scheme: str, lab: dict[str, Any], error: str) -> None:
    with pytest.raises(UsageError, match=error):
        checks.check(schemes.get(scheme), LabSpec(**lab), WorkloadSpec())


def test_suitable_lab_is_accepted() -> None:
    load = WorkloadSpec()
    checks.check(schemes.get("farreach"), LabSpec(cache_entries=32_768, pipelines=4), load)
    racks = LabSpec(cache_rows=5, topology=TopologySpec(kind="racks"))
    checks.check(schemes.get("netcache"), racks, load)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"capacity": -1}, "0 to 32768"),
        ({"capacity": 32_769}, "0 to 32768"),
        ({"sample_rate": 1.5}, "within 0 and 1"),
        ({"hot_threshold": 0}, "1 to 65535"),
        ({"snapshot_period": -1}, "0 for no snapshots"),
        ({"pipelines": 3}, "1, 2 or 4"),
        ({"epoch": 0}, "at least 1 ns"),
        ({"collect_patience": 0}, "at least 1 ns"),
        ({"max_bulk": 0}, "at least 1"),
    ],
)
def test_impossible_option_is_refused(options: dict[str, Any], error: str) -> None:
    with pytest.raises(ValueError, match=error):
        FarReachParameters(**options)
