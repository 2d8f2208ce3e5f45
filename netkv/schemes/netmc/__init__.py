"""NetMC: the switch splits a multiget among the servers, the client gathers the replies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from netkv.schemes.multiget import MAX_SERVERS
from netkv.schemes.multiget_metrics import METRICS
from netkv.schemes.scheme import Scheme

if TYPE_CHECKING:
    from netkv.control.base import ControlPlane
    from netkv.control.topology import Topology
    from netkv.lab.spec import LabSpec, RackSpec
    from netkv.sim.models import Profile


def _control_plane(spec: RackSpec, topology: Topology) -> ControlPlane:
    from netkv.schemes.netmc.control_plane import NetMc

    return NetMc(topology, spec.lab.servers)


def _defines(lab: LabSpec) -> Mapping[str, str]:
    return {"NETMC_SERVERS": str(min(lab.servers, MAX_SERVERS))}


def _profiles() -> Mapping[str, Profile]:
    from netkv.schemes.netmc.profiles import PROFILES

    return PROFILES


SCHEME = Scheme(
    name="netmc",
    title="NetMC",
    order=40,
    program="netmc/netmc.p4",
    server_role="multiget",
    client_role="netmc",
    caches=False,
    paper="Bang and Kim, Network-Accelerated Multiget Coordination",
    summary="The switch splits a multiget among the servers, the client gathers replies.",
    control_plane=_control_plane,
    profiles=_profiles,
    max_pipelines=4,
    one_switch=True,
    defines=_defines,
    multigets=True,
    metrics=METRICS,
)
