"""NetCache: a write-through cache of hot records in the switch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from netkv.model.nodes import Client, Servers
from netkv.schemes.netcache.options import NetCacheOptions
from netkv.schemes.scheme import PLAIN, About, Host, Limits, P4Programs, Scheme, Traits

if TYPE_CHECKING:
    from netkv.control.base import SwitchControlPlane
    from netkv.model.hardware import GenericLab
    from netkv.model.spec import GenericRack
    from netkv.model.topology import Topology


def _control_plane(spec: GenericRack, topology: Topology) -> SwitchControlPlane:
    from netkv.control.cache_parameters import CacheParameters
    from netkv.schemes.netcache.control_plane import NetCache

    return NetCache(topology, NetCacheOptions.of(spec.lab), CacheParameters.of_rack(spec))


def _defines(lab: GenericLab) -> Mapping[str, str]:
    return {} if NetCacheOptions.of(lab).compare_versions else {"COMPARE_VERSIONS": "false"}


def _unawaited(lab: GenericLab) -> str | None:
    return None if NetCacheOptions.of(lab).await_updates else "netcache-unawaited"


SCHEME = Scheme(
    name="netcache",
    about=About(
        title="NetCache",
        order=20,
        paper="Jin et al., NetCache, SOSP 2017",
        summary="Write-through cache of hot records in the switch.",
    ),
    programs=P4Programs("netcache/netcache.p4", defines=_defines),
    hosts=(Host(Client, PLAIN), Host(Servers, "netcache", other_role=_unawaited)),
    traits=Traits(caches=True),
    control_plane=_control_plane,
    options=NetCacheOptions,
    # p4/netcache keeps values and statistics in ingress. With several pipelines, requests and the
    # servers' updates would arrive at different copies.
    limits=Limits(pipelines=1),
)
