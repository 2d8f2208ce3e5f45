"""DistCache: write-through caches of hot records in two layers of switches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netkv.model.hardware import TopologySpec
from netkv.schemes.distcache.options import DistCacheOptions
from netkv.schemes.scheme import PLAIN, Scheme

if TYPE_CHECKING:
    from netkv.control.base import NetworkControlPlane
    from netkv.model.network import Network
    from netkv.model.spec import GenericRack


def _control_plane(spec: GenericRack, network: Network) -> NetworkControlPlane:
    from netkv.schemes.distcache.control_plane import DistCache
    from netkv.schemes.distcache.parameters import of_rack

    return DistCache(network, of_rack(spec))


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
    # p4/distcache keeps values and statistics in ingress, as p4/netcache.
    max_pipelines=1,
)
