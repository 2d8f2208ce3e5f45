"""FarReach: a write-back cache of hot records in the switch; the records survive its crash."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from netkv.schemes.farreach.metrics import METRICS
from netkv.schemes.farreach.options import FarReachOptions
from netkv.schemes.scheme import Scheme

if TYPE_CHECKING:
    from netkv.control.base import SwitchControlPlane
    from netkv.control.topology import Topology
    from netkv.lab.spec import RackSpec
    from netkv.scenarios.events import FaultKind
    from netkv.schemes.scheme import Broken
    from netkv.sim.models import Profile
    from netkv.soak.case import Case
    from netkv.soak.random_draw import RandomDraw


RECOVERY_PHASES = ("collect", "update servers", "re-admit")


def _control_plane(spec: RackSpec, topology: Topology) -> SwitchControlPlane:
    from netkv.schemes.farreach.control_plane import FarReach
    from netkv.schemes.farreach.parameters import of_rack

    return FarReach(topology, of_rack(spec))


def _profiles() -> Mapping[str, Profile]:
    from netkv.schemes.farreach.profiles import PROFILES

    return PROFILES


def _mutants() -> Mapping[str, Broken]:
    from netkv.schemes.farreach.mutants import MUTANTS
    from netkv.soak.edits import mutants

    return mutants(MUTANTS)


def _soak_case(draw: RandomDraw, case: Case, kinds: Sequence[FaultKind]) -> Case:
    from netkv.schemes.farreach.soak import adapt

    return adapt(draw, case, kinds)


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
    profiles=_profiles,
    options=FarReachOptions,
    recovery_phases=RECOVERY_PHASES,
    max_pipelines=4,
    # p4/farreach has deduplication windows for so many clients.
    max_clients=64,
    one_switch=True,
    metrics=METRICS,
    mutants=_mutants,
    soak_case=_soak_case,
)
