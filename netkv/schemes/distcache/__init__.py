"""DistCache: write-through caches of hot records in two layers of switches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netkv.model.hardware import TopologySpec
from netkv.model.nodes import Client, Servers
from netkv.schemes.distcache.options import DistCacheOptions
from netkv.schemes.scheme import PLAIN, About, Host, Limits, P4Programs, Scheme, Traits

if TYPE_CHECKING:
    from netkv.control.base import NetworkControlPlane
    from netkv.model.network import Network
    from netkv.model.spec import GenericRack


def _control_plane(spec: GenericRack, network: Network) -> NetworkControlPlane:
    from netkv.control.cache_parameters import CacheParameters
    from netkv.schemes.distcache.control_plane import DistCache

    return DistCache(network, DistCacheOptions.of(spec.lab), CacheParameters.of_rack(spec))


SCHEME = Scheme(
    name="distcache",
    about=About(
        title="DistCache",
        order=36,
        paper="Liu et al., DistCache, FAST 2019",
        summary="Write-through caches of hot records in two layers of switches.",
    ),
    programs=P4Programs(
        "distcache/leaf.p4",
        others={"clients": "distcache/client.p4", "between": "distcache/spine.p4"},
    ),
    hosts=(Host(Client, PLAIN), Host(Servers, "distcache")),
    traits=Traits(caches=True),
    network_control_plane=_control_plane,
    options=DistCacheOptions,
    topology=TopologySpec(kind="spine-leaf", layers=2, switches=2),
    # p4/distcache keeps values and statistics in ingress, as p4/netcache.
    limits=Limits(pipelines=1),
)
