"""DistReach: a write-back cache replicated along a chain of switches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from netkv.lab.hardware import TopologySpec
from netkv.schemes.distreach.options import DistReachOptions
from netkv.schemes.scheme import Scheme

if TYPE_CHECKING:
    from collections.abc import Mapping

    from netkv.control.base import NetworkControlPlane
    from netkv.control.network import Network
    from netkv.lab.spec import RackSpec
    from netkv.scenarios.events import FaultKind
    from netkv.schemes.scheme import Broken
    from netkv.sim.models import Profile
    from netkv.sim.rack import SimRack
    from netkv.soak.case import Case
    from netkv.soak.random_draw import RandomDraw


RECOVERY_PHASES = ("load", "update servers", "admit")


def _profiles() -> Mapping[str, Profile]:
    from netkv.schemes.distreach.profiles import PROFILES

    return PROFILES


def _control_plane(spec: RackSpec, network: Network) -> NetworkControlPlane:
    from netkv.schemes.distreach.control_plane import DistReach
    from netkv.schemes.distreach.parameters import of_rack

    return DistReach(network, of_rack(spec))


def _soak_case(draw: RandomDraw, case: Case, kinds: Sequence[FaultKind]) -> Case:
    from netkv.schemes.distreach.soak import adapt

    return adapt(draw, case, kinds)


def _tolerates(rack: SimRack, switch: str) -> bool:
    from netkv.schemes.distreach.soak import tolerates

    return tolerates(rack, switch)


def _mutants() -> Mapping[str, Broken]:
    from netkv.schemes.distreach.mutants import MUTANTS
    from netkv.soak.edits import mutants

    return mutants(MUTANTS)


SCHEME = Scheme(
    name="distreach",
    title="DistReach",
    order=38,
    program="distreach/tail.p4",
    other_programs={"clients": "nocache/nocache.p4", "between": "distreach/upper.p4"},
    topology=TopologySpec(kind="spine-leaf", layers=2, switches=2),
    server_role="farreach",
    client_role="distreach",
    caches=True,
    answers_writes=True,
    stamped_requests=True,
    paper="Sheng et al., Toward Distributed Write-back Caching in Programmable Switches",
    summary="Write-back cache of hot records, replicated in a chain of switches.",
    network_control_plane=_control_plane,
    options=DistReachOptions,
    recovery_phases=RECOVERY_PHASES,
    profiles=_profiles,
    soak_case=_soak_case,
    soak_tolerates=_tolerates,
    # p4/distreach has deduplication windows for so many clients.
    max_clients=64,
    mutants=_mutants,
)
