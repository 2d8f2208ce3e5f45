"""NetCache: a write-through cache of hot records in the switch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from netkv.schemes.netcache.options import NetCacheOptions
from netkv.schemes.scheme import PLAIN, Scheme

if TYPE_CHECKING:
    from netkv.control.base import SwitchControlPlane
    from netkv.control.topology import Topology
    from netkv.lab.spec import LabSpec, RackSpec
    from netkv.sim.models import Profile
    from netkv.sim.probes import Probes


def _control_plane(spec: RackSpec, topology: Topology) -> SwitchControlPlane:
    from netkv.schemes.netcache.control_plane import NetCache
    from netkv.schemes.netcache.parameters import NetCacheParameters

    return NetCache(topology, NetCacheParameters.of_rack(spec))


def _defines(lab: LabSpec) -> Mapping[str, str]:
    return {} if NetCacheOptions.of(lab).compare_versions else {"COMPARE_VERSIONS": "false"}


def _profiles() -> Mapping[str, Profile]:
    from netkv.schemes.netcache.profiles import PROFILES

    return PROFILES


def _probes() -> Probes:
    from netkv.schemes.netcache.probes import NetCacheProbes

    return NetCacheProbes()


SCHEME = Scheme(
    name="netcache",
    title="NetCache",
    order=20,
    program="netcache/netcache.p4",
    server_role="netcache",
    client_role=PLAIN,
    caches=True,
    paper="Jin et al., NetCache, SOSP 2017",
    summary="Write-through cache of hot records in the switch.",
    control_plane=_control_plane,
    profiles=_profiles,
    probes=_probes,
    options=NetCacheOptions,
    # p4/netcache keeps values and statistics in ingress. With several pipelines, requests and the
    # servers' updates would arrive at different copies.
    max_pipelines=1,
    defines=_defines,
)
