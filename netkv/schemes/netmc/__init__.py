"""NetMC: the switch splits a multiget among the servers, the client gathers the replies."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from netkv.errors import MisfitError
from netkv.schemes.multiget import MAX_SERVERS
from netkv.schemes.multiget_metrics import METRICS
from netkv.schemes.scheme import Scheme

if TYPE_CHECKING:
    from netkv.control.base import SwitchControlPlane
    from netkv.control.topology import Topology
    from netkv.lab.spec import LabSpec, RackSpec
    from netkv.sim.models import Profile


def _control_plane(spec: RackSpec, topology: Topology) -> SwitchControlPlane:
    from netkv.schemes.netmc.control_plane import NetMc

    return NetMc(topology, srv_fields(spec.lab))


def _defines(lab: LabSpec) -> Mapping[str, str]:
    return {"NETMC_SERVERS": str(min(srv_fields(lab), MAX_SERVERS))}


def srv_fields(lab: LabSpec) -> int:
    """The SRV fields of a request: one for each server of a rack."""
    return math.ceil(lab.servers / lab.topology.switches_of_servers)


def _needs(lab: LabSpec) -> None:
    """Raises `MisfitError` if servers and racks do not suit the numbers of racks in requests."""
    from netkv.control.spreading import spread

    racks, most = lab.topology.switches_of_servers, srv_fields(lab)
    # A client computes the rack from the number of the server (engine/roles, `Layout`).
    if spread(lab.servers, racks) != [server // most for server in range(lab.servers)]:
        raise MisfitError(
            f"With the scheme 'netmc' every rack has the same number of servers, but "
            f"'lab.servers' is {lab.servers}: make it a multiple of {racks}, the number of "
            f"switches with servers.",
            *("lab", "servers"),
        )


def _example_frames(lab: LabSpec) -> Iterator[tuple[str, bytes]]:
    from netkv.schemes.netmc.example_frames import multiget

    yield "multiget of one server", multiget([2], srv_fields(lab))
    yield "multiget of three servers", multiget([2, 1, 3], srv_fields(lab))


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
    defines=_defines,
    needs=_needs,
    multigets=True,
    example_frames=_example_frames,
    metrics=METRICS,
)
