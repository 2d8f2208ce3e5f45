"""DistReach: a write-back cache replicated along a chain of switches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netkv.model.hardware import TopologySpec
from netkv.model.nodes import Client, Servers
from netkv.schemes.distreach.options import DistReachOptions
from netkv.schemes.distreach.phases import RECOVERY_PHASES
from netkv.schemes.scheme import About, Host, Limits, P4Programs, Scheme, Traits

if TYPE_CHECKING:
    from netkv.control.base import NetworkControlPlane
    from netkv.model.network import Network
    from netkv.model.spec import GenericRack


def _control_plane(spec: GenericRack, network: Network) -> NetworkControlPlane:
    from netkv.kits.write_back.parameters import WriteBackParameters
    from netkv.schemes.distreach.control_plane import DistReach

    return DistReach(network, DistReachOptions.of(spec.lab), WriteBackParameters.of_rack(spec))


SCHEME = Scheme(
    name="distreach",
    about=About(
        title="DistReach",
        order=38,
        paper="Sheng et al., Toward Distributed Write-back Caching in Programmable Switches",
        summary="Write-back cache of hot records, replicated in a chain of switches.",
    ),
    programs=P4Programs(
        "distreach/tail.p4",
        others={"clients": "forwarding/forwarding.p4", "between": "distreach/upper.p4"},
    ),
    hosts=(Host(Client, "distreach"), Host(Servers, "write-back")),
    traits=Traits(caches=True, answers_writes=True, stamped_requests=True),
    network_control_plane=_control_plane,
    options=DistReachOptions,
    topology=TopologySpec(kind="spine-leaf", layers=2, switches=2),
    # p4/distreach has deduplication windows for so many clients.
    limits=Limits(clients=64),
    recovery_phases=RECOVERY_PHASES,
)
