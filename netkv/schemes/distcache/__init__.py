"""DistCache: write-through caches of hot records in two layers of switches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from netkv.lab.hardware import TopologySpec
from netkv.schemes.distcache.options import DistCacheOptions
from netkv.schemes.scheme import PLAIN, Scheme

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netkv.control.base import NetworkControlPlane
    from netkv.control.network import Network
    from netkv.lab.spec import RackSpec
    from netkv.scenarios.events import FaultKind
    from netkv.schemes.scheme import Broken
    from netkv.soak.case import Case
    from netkv.soak.random_draw import RandomDraw


def _control_plane(spec: RackSpec, network: Network) -> NetworkControlPlane:
    from netkv.schemes.distcache.control_plane import DistCache
    from netkv.schemes.distcache.parameters import of_rack

    return DistCache(network, of_rack(spec))


def _soak_case(draw: RandomDraw, case: Case, kinds: Sequence[FaultKind]) -> Case:
    from netkv.schemes.distcache.soak import adapt

    return adapt(draw, case, kinds)


def _mutants() -> Mapping[str, Broken]:
    from netkv.schemes.distcache.mutants import MUTANTS
    from netkv.soak.edits import mutants

    return mutants(MUTANTS)


SCHEME = Scheme(
    name="distcache",
    title="DistCache",
    order=36,
    program="distcache/leaf.p4",
    other_programs={"clients": "distcache/client.p4", "between": "distcache/spine.p4"},
    topology=TopologySpec(kind="spine-leaf", layers=2, switches=2),
    server_role="distcache",
    client_role=PLAIN,
    caches=True,
    paper="Liu et al., DistCache, FAST 2019",
    summary="Write-through caches of hot records in two layers of switches.",
    network_control_plane=_control_plane,
    options=DistCacheOptions,
    soak_case=_soak_case,
    # p4/distcache keeps values and statistics in ingress, as p4/netcache.
    max_pipelines=1,
    mutants=_mutants,
)
