"""FarReach: a write-back cache of hot records in the switch; the records survive its crash."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netkv.schemes.farreach.metrics import METRICS
from netkv.schemes.farreach.options import FarReachOptions
from netkv.schemes.farreach.phases import RECOVERY_PHASES
from netkv.schemes.scheme import Scheme

if TYPE_CHECKING:
    from netkv.control.base import SwitchControlPlane
    from netkv.model.spec import GenericRack
    from netkv.model.topology import Topology


def _control_plane(spec: GenericRack, topology: Topology) -> SwitchControlPlane:
    from netkv.schemes.farreach.control_plane import FarReach
    from netkv.schemes.farreach.parameters import of_rack

    return FarReach(topology, of_rack(spec))


SCHEME = Scheme(
    name="farreach",
    title="FarReach",
    order=30,
    program="farreach/farreach.p4",
    server_role="farreach",
    client_role="farreach",
    client_keeps=True,
    caches=True,
    answers_writes=True,
    stamped_requests=True,
    paper="Sheng et al., Toward Distributed Write-back Caching in Programmable Switches",
    summary="Write-back cache of hot records in the switch, which survives its crash.",
    control_plane=_control_plane,
    options=FarReachOptions,
    recovery_phases=RECOVERY_PHASES,
    max_pipelines=4,
    # p4/farreach has deduplication windows for so many clients.
    max_clients=64,
    one_switch=True,
    metrics=METRICS,
)
