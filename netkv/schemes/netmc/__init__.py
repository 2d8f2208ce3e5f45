"""NetMC: the switch splits a multiget among the servers, the client gathers the replies."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from netkv.errors import MisfitError
from netkv.kits.multiget.checks import MAX_SERVERS
from netkv.kits.multiget.metrics import METRICS
from netkv.model.nodes import Client, Servers
from netkv.schemes.netmc.options import NetMcOptions
from netkv.schemes.scheme import About, Host, Limits, P4Programs, Scheme, Traits

if TYPE_CHECKING:
    from netkv.control.base import SwitchControlPlane
    from netkv.model.hardware import GenericLab
    from netkv.model.spec import GenericRack
    from netkv.model.topology import Topology


PAPER_SPLIT_KEYS = 16
"""Bits of the paper's KEYIDX, which is also that of the program without NETMC_KEYS."""


def _control_plane(spec: GenericRack, topology: Topology) -> SwitchControlPlane:
    from netkv.schemes.netmc.control_plane import NetMc

    return NetMc(topology, srv_fields(spec.lab))


def _defines(lab: GenericLab) -> Mapping[str, str]:
    defines = {"NETMC_SERVERS": str(min(srv_fields(lab), MAX_SERVERS))}
    keys = NetMcOptions.of(lab).split_keys
    return defines if keys == PAPER_SPLIT_KEYS else defines | {"NETMC_KEYS": str(keys)}


def srv_fields(lab: GenericLab) -> int:
    """The SRV fields of a request: one for each server of a rack."""
    return math.ceil(lab.servers / lab.topology.switches_of_servers)


def _needs(lab: GenericLab) -> None:
    """Raises `MisfitError` if servers and racks do not suit the numbers of racks in requests."""
    from netkv.model.spreading import spread

    racks, most = lab.topology.switches_of_servers, srv_fields(lab)
    # A client computes the rack from the number of the server (engine/roles, `Layout`).
    if spread(lab.servers, racks) != [server // most for server in range(lab.servers)]:
        raise MisfitError(
            f"With the scheme 'netmc' every rack has the same number of servers, but "
            f"'lab.servers' is {lab.servers}: make it a multiple of {racks}, the number of "
            f"switches with servers.",
            *("lab", "servers"),
        )


SCHEME = Scheme(
    name="netmc",
    about=About(
        title="NetMC",
        order=40,
        paper="Bang and Kim, Network-Accelerated Multiget Coordination",
        summary="The switch splits a multiget among the servers, the client gathers replies.",
    ),
    programs=P4Programs("netmc/netmc.p4", defines=_defines),
    hosts=(Host(Client, "netmc"), Host(Servers, "multiget")),
    traits=Traits(caches=False, multigets=True),
    control_plane=_control_plane,
    options=NetMcOptions,
    limits=Limits(pipelines=4),
    needs=_needs,
    metrics=METRICS,
)
