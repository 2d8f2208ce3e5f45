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
from netkv.schemes.farreach.options import FarReachOptions
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
    chosen: dict[str, Any] = {
        "cache_entries": 77,
        "hot_threshold": 9,
        "epoch": 0.5,
        "snapshot_period": 2.5,
        "sample_rate": 0.25,
    }
    control = control_plane("farreach", pipelines=4, **chosen)
    assert control.options == FarReachOptions(**chosen)
    assert control.parameters == FarReachParameters(pipelines=4, seed=5)


def test_times_are_nanoseconds_in_control_planes() -> None:
    options = FarReachOptions(epoch=0.5, snapshot_period=2.5)
    assert (options.epoch_ns, options.snapshot_period_ns) == (SECOND // 2, 5 * SECOND // 2)
    assert FarReachOptions(epoch=1e-12).epoch_ns == 1


def test_cache_without_entries_counts_no_requests() -> None:
    assert FarReachOptions(cache_entries=0, sample_rate=0.5).counted_share == 0.0


def test_defaults_are_those_of_the_papers() -> None:
    options = control_plane("farreach").options
    assert isinstance(options, FarReachOptions)
    assert (options.counted_share, options.snapshot_period) == (0.5, 10)
    assert control_plane("netcache").options.counted_share == 1.0
    assert control_plane("netcache", sample_rate=0.1).options.counted_share == 0.1


@pytest.mark.parametrize("scheme", ["netcache", "farreach"])
def test_timeouts_follow_the_scale_of_the_lab(scheme: str) -> None:
    bounds, slow = Timeouts(), control_plane(scheme, scale=100).parameters.timeouts
    assert control_plane(scheme).parameters.timeouts == bounds
    assert (slow.first, slow.longest) == (100 * bounds.first, 100 * bounds.longest)
    assert slow.shortest == bounds.shortest, "the controller is not slower"


def test_collect_patience_follows_the_scale_of_the_lab() -> None:
    parameters = control_plane("farreach", scale=100).parameters
    assert isinstance(parameters, FarReachParameters)
    assert parameters.collect_patience == 100 * FarReachParameters().collect_patience


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
    "option",
    [
        {"cache_entries": -1},
        {"sample_rate": 1.5},
        {"hot_threshold": 0},
        {"snapshot_period": -1},
        {"pipelines": 3},
        {"epoch": 0},
    ],
)
def test_impossible_option_is_refused(option: dict[str, Any]) -> None:
    (name,) = option
    with pytest.raises(ValueError, match=name):
        LabSpec(**option)


@pytest.mark.parametrize("parameter", [{"collect_patience": 0}, {"max_bulk": 0}])
def test_impossible_parameter_is_refused(parameter: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        FarReachParameters(**parameter)
