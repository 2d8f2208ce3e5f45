"""What a scheme states about itself: its program, roles, control plane and limits.

A scheme is what differs. Everything else (partitioning, forwarding, request path, supervision) is
shared, and reads from a `Scheme` what it must know.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from netkv import resources
from netkv.errors import NetkvError
from netkv.metrics.metric import Metric
from netkv.schemes.options import SchemeOptions, SwitchCache

if TYPE_CHECKING:
    from netkv.control.base import ControlPlane
    from netkv.control.topology import Topology
    from netkv.lab.spec import LabSpec, RackSpec, WorkloadSpec
    from netkv.sim.models import Profile
    from netkv.sim.probes import Probes

PLAIN = "plain"
"""The role of servers and clients that only exchange requests and answers."""


def _no_defines(lab: LabSpec) -> Mapping[str, str]:  # noqa: ARG001 (all alike)
    return {}


def _no_profiles() -> Mapping[str, Profile]:
    return {}


def forwarding_only(spec: RackSpec, topology: Topology) -> ControlPlane:  # noqa: ARG001 (all alike)
    """The control plane of a switch that only forwards."""
    from netkv.control.forwarding import ForwardingOnly

    return ForwardingOnly(topology)


@dataclass(frozen=True)
class Scheme:
    """One way to serve keys from a rack."""

    name: str
    """As users write it, in small letters."""
    title: str
    """As figures and tables print it."""
    program: str
    """Path of the P4 program in `p4/`, `NAME/NAME.p4`, or the absolute path of another."""
    server_role: str
    """The protocol role that the server shims play: a name of engine/roles, or one of Python,
    `python:package.module:Class` (`netkv.roles`)."""
    client_role: str
    """The protocol role that the clients play, likewise."""
    caches: bool
    """Whether the switch serves reads; a scheme that does not has no hit ratio to predict."""
    paper: str
    """Where the scheme is described."""
    summary: str
    """One sentence for lists."""
    control_plane: Callable[[RackSpec, Topology], ControlPlane] = forwarding_only
    """Makes the control plane for a rack with these hosts at the switch; left out, it fills the
    forwarding tables. It is imported when this is called: listing schemes must not need it."""
    options: type[SchemeOptions] = SchemeOptions
    """Its options (docstrings as descriptions), which users write under `lab`."""
    order: int = 1000
    """Place in lists and figures, the lowest first; then by name."""
    client_keeps: bool = False
    """Whether clients keep records that only the switch has, until they are released."""
    recovery_phases: tuple[str, ...] = ()
    """How its control plane calls the phases of a recovery (`Recovered`), in their order; empty:
    a switch that has lost its memory is just filled anew."""
    max_pipelines: int = 1
    """Of a switch: more than one only if the program keeps each key's state where all its packets
    meet it, and the control plane bears that a table write reaches one pipeline after the other."""
    max_clients: int = 32_767
    """Client identities that its parts tell apart."""
    one_switch: bool = False
    """Whether it is made for a single switch."""
    defines: Callable[[LabSpec], Mapping[str, str]] = _no_defines
    """Macros with which the program is compiled for a lab: what is fixed at build time."""
    needs: Callable[[LabSpec], None] | None = None
    """What else it needs of a lab: raises `MisfitError`."""
    profiles: Callable[[], Mapping[str, Profile]] = _no_profiles
    """Testbeds for the simulator (`netkv.sim.profiles`), by name: those of its paper."""
    probes: Callable[[], Probes] | None = None
    """For a scheme whose switch `netkv calibrate` can measure: entries and messages for that."""
    multigets: bool = False
    """Whether a request may be for several keys of different servers, which own keys by the hash
    modulo their number, and keys may be of 4 to 64 bytes."""
    coordinated: bool = False
    """Whether requests go to a coordinator, a host of its own."""
    metrics: tuple[Metric, ...] = ()
    """What its runs have beside the metrics of all runs (`netkv.metrics.common`)."""

    def external_clients(self, lab: LabSpec) -> int:
        """Places for programs (`lab.external_clients`) beside the load's clients."""
        return max(0, min(lab.external_clients, self.max_clients - lab.clients))

    def has_option(self, name: str) -> bool:
        """Whether `lab.name` means something to the scheme, beside the options of every lab."""
        return name in self.options.model_fields

    def preloaded(self, lab: LabSpec) -> int:
        """Keys that the switch has cached at the start, the hottest."""
        options = self.options.of(lab)
        return options.preloaded if isinstance(options, SwitchCache) else 0

    @property
    def program_path(self) -> Path:
        """The P4 source of the scheme."""
        return resources.path("p4") / self.program

    def compile(self, lab: LabSpec) -> bytes:
        """The bundle of the program for a lab; raises `NetkvError` with the compiler's report."""
        return compile_program(self.program_path, self.defines(lab))

    def check(self, lab: LabSpec, workload: WorkloadSpec) -> None:
        """Raises `MisfitError` for a lab or load that the scheme cannot run in or with."""
        from netkv.schemes import checks

        checks.check(self, lab, workload)


def compile_program(program: Path, defines: Mapping[str, str]) -> bytes:
    """The bundle of a program, the includes of `p4/` at hand.

    Raises `NetkvError` with the compiler's report.
    """
    from netkv import _engine

    try:
        return _engine.compile_p4(str(program), [str(resources.path("p4"))], dict(defines))
    except _engine.CompileError as error:
        raise NetkvError(str(error)) from error
