"""FarReach: a write-back cache of hot records in the switch; the records survive its crash."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netkv.model.nodes import Client, Servers
from netkv.schemes.farreach.metrics import METRICS
from netkv.schemes.farreach.options import FarReachOptions
from netkv.schemes.farreach.phases import RECOVERY_PHASES
from netkv.schemes.scheme import About, Host, Limits, P4Programs, Scheme, Traits

if TYPE_CHECKING:
    from netkv.control.base import SwitchControlPlane
    from netkv.model.spec import GenericRack
    from netkv.model.topology import Topology


def _control_plane(spec: GenericRack, topology: Topology) -> SwitchControlPlane:
    from netkv.schemes.farreach.control_plane import FarReach
    from netkv.schemes.farreach.parameters import FarReachParameters

    return FarReach(topology, FarReachOptions.of(spec.lab), FarReachParameters.of_rack(spec))


SCHEME = Scheme(
    name="farreach",
    about=About(
        title="FarReach",
        order=30,
        paper="Sheng et al., Toward Distributed Write-back Caching in Programmable Switches",
        summary="Write-back cache of hot records in the switch, which survives its crash.",
    ),
    programs=P4Programs("farreach/farreach.p4"),
    hosts=(Host(Client, "farreach"), Host(Servers, "write-back")),
    traits=Traits(client_keeps=True, caches=True, answers_writes=True, stamped_requests=True),
    control_plane=_control_plane,
    options=FarReachOptions,
    # p4/farreach has deduplication windows for so many clients.
    limits=Limits(pipelines=4, clients=64, one_switch=True),
    recovery_phases=RECOVERY_PHASES,
    metrics=METRICS,
)
