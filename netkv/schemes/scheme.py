"""`Scheme`, the declaration of a scheme: its program, roles, control plane, options and limits.

All other code (partitioning, forwarding, request path, supervision) is shared between schemes and
reads the properties of a scheme from its `Scheme`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from netkv import resources
from netkv.errors import NetkvError
from netkv.lab.hardware import TopologySpec
from netkv.metrics.metric import Metric
from netkv.schemes.options import SchemeOptions, SwitchCache
from netkv.schemes.programs import Programs

if TYPE_CHECKING:
    from netkv.control.base import NetworkControlPlane, SwitchControlPlane
    from netkv.control.network import Network, Place
    from netkv.control.topology import Topology
    from netkv.fpga.manifest import Manifest
    from netkv.lab.spec import LabSpec, RackSpec, WorkloadSpec
    from netkv.rack.nodes import Node
    from netkv.scenarios.events import FaultKind
    from netkv.sim.models import Profile
    from netkv.sim.probes import Probes
    from netkv.sim.rack import SimRack
    from netkv.soak.case import Case
    from netkv.soak.random_draw import RandomDraw

LIVE_CLOCK_MHZ = 2.0
"""Clock of a design in a live rack, at most: it is held back while idle cycles would be faster."""
ONE_SWITCH = TopologySpec(kind="rack")
PLAIN = "plain"
"""The role of servers and clients that only exchange requests and replies."""


@dataclass(frozen=True)
class CardDesign:
    """The FPGA cards of a rack: a design of `fpga/designs`.

    Its first port is cabled to the switch. Before a server, its host port is cabled to the server.
    Before clients, which `ClientCardOptions` divides among cards, each of its virtio functions is
    cabled to a client.
    """

    design: str
    """Name of the design."""
    changes: tuple[str, ...] = ()
    """Changes of its parameters, `NAME=VALUE` (`netkv.fpga.manifest.override`)."""
    settings: Mapping[str, int] = field(default_factory=dict)
    """Registers and the values that they get after a reset, in this order."""
    of_card: Callable[[int], Mapping[str, int]] | None = None
    """Registers of a card (from 0) that are written before `settings`; None: none."""
    live_settings: Mapping[str, int] = field(default_factory=dict)
    """Live, other values of some of the `settings`: a design in a live rack runs at most
    `LIVE_CLOCK_MHZ`, and its clock rests while no frame is on its way through it."""
    hits: str = "hits"
    """Its counter of reads that it answered; or several, one for each function: `hits.0`, …"""
    preload: Callable[[RackSpec, int], Iterable[tuple[str, bytes]]] | None = None
    """Frames that the card before a server (from 0) receives before time 0, each with the name of a
    port; None: none."""
    manifest: Manifest | None = None
    """The simulator only: replaces the manifest of `design`."""


def _no_defines(lab: LabSpec) -> Mapping[str, str]:  # noqa: ARG001 (a fixed signature)
    return {}


def _no_profiles() -> Mapping[str, Profile]:
    return {}


def _never_stale(lab: LabSpec) -> float | None:  # noqa: ARG001 (a fixed signature)
    return None


def _no_mutants() -> Mapping[str, Broken]:
    return {}


def forwarding_only(
    spec: RackSpec,  # noqa: ARG001 (a fixed signature)
    topology: Topology,
) -> SwitchControlPlane:
    """The control plane of a switch that only forwards."""
    from netkv.control.forwarding import ForwardingOnly

    return ForwardingOnly(topology)


@dataclass(frozen=True)
class Scheme:
    """One way to serve keys from a rack."""

    name: str
    """The name that users write, in lower case."""
    title: str
    """The name in figures and tables."""
    program: str
    """Path of the P4 program: `NAME/NAME.p4` in `p4/`, or an absolute path."""
    server_role: str
    """The protocol role of the server shims: a role of engine/roles, or a class in Python,
    `python:package.module:Class` (`netkv.roles`)."""
    client_role: str
    """The protocol role of the clients, named like `server_role`."""
    caches: bool
    """Whether the switch answers reads. Without that the scheme has no hit ratio to predict."""
    paper: str
    """The paper that describes the scheme."""
    summary: str
    """One sentence for lists."""
    control_plane: Callable[[RackSpec, Topology], SwitchControlPlane] = forwarding_only
    """Creates the control plane for a rack and the topology of a switch. The default one only fills
    the forwarding tables. The function imports the control plane, so that listing schemes does not
    import it."""
    network_control_plane: Callable[[RackSpec, Network], NetworkControlPlane] | None = None
    """Creates one control plane for all switches of a rack, in place of `control_plane`."""
    options: type[SchemeOptions] = SchemeOptions
    """Its options, which users write under `lab`; their docstrings are the descriptions."""
    order: int = 1000
    """Sort key in lists and figures, ascending; the name breaks ties."""
    answers_writes: bool = False
    """Whether the switch also answers writes of the records that it caches (write-back)."""
    client_keeps: bool = False
    """Whether clients keep copies of records that only the switch has, until these are released."""
    stamped_requests: bool = False
    """Whether requests of clients have a stamp (docs/internals/wire-format.md), which a switch
    fills in."""
    recovery_phases: tuple[str, ...] = ()
    """Names of the phases of a recovery (`Recovered`), in order. Empty: the control plane only
    fills the tables of a restarted switch again."""
    max_pipelines: int = 1
    """Pipelines of a switch, at most. Above 1 the program must keep the state of a key in a
    pipeline that all packets of the key pass, and the control plane must accept that a table write
    reaches the pipelines one after the other."""
    max_clients: int = 32_767
    """Number of clients that the switch and the servers can distinguish."""
    one_switch: bool = False
    """Whether it supports a single switch only."""
    other_programs: Mapping[Place, str] = field(default_factory=dict)
    """Paths of programs, as `program`, for switches without servers, by their place in the network;
    at a place that is left out a switch runs `program`."""
    topology: TopologySpec = ONE_SWITCH
    """Switches of a lab that does not say them: each option of `lab.topology` that is left out has
    its value from here."""
    defines: Callable[[LabSpec], Mapping[str, str]] = _no_defines
    """Macros with which the program is compiled for a lab."""
    needs: Callable[[LabSpec], None] | None = None
    """A further check of the lab, which raises `MisfitError`."""
    soak_case: Callable[[RandomDraw, Case, Sequence[FaultKind]], Case] | None = None
    """Adapts a case of `netkv soak` to the scheme, last of all draws, with faults of these kinds
    only; None: cases stay as they are."""
    soak_check: Callable[[SimRack, Callable[[], int]], str | None] | None = None
    """A further check at the end of a case of `netkv soak`: gets the rack, which is idle, and a
    function that reads back every written key and returns how many of these reads were sent again;
    returns a sentence about a violation, or None."""
    soak_tolerates: Callable[[SimRack, str], bool] | None = None
    """Whether the scheme tolerates that a switch fails now; `netkv soak` leaves out a fault that it
    does not. None: it tolerates each."""
    loses_writes: str = ""
    """Why acknowledged writes are lost without any fault, as a sentence without its full stop;
    empty: they are not. `netkv soak`, which would find nothing else, refuses such a scheme."""
    max_staleness: Callable[[LabSpec], float | None] = _never_stale
    """Seconds for which reads of a rack may return a value that was replaced; None: never."""
    profiles: Callable[[], Mapping[str, Profile]] = _no_profiles
    """Testbeds of its paper for the simulator (`netkv.sim.profiles`), by name."""
    probes: Callable[[], Probes] | None = None
    """Entries and messages with which `netkv calibrate` measures the switch; None: it cannot."""
    multigets: bool = False
    """Whether a request may have several keys of different servers. Servers then own keys by the
    hash modulo the number of servers, and a key has 4 to 64 bytes."""
    example_frames: Callable[[LabSpec], Iterable[tuple[str, bytes]]] | None = None
    """Frames of the first client that show what the program does, each with a title; None: reads
    and writes of single keys."""
    conditional_writes: bool = False
    """Whether its roles have conditional writes (`workload.conditional`)."""
    coordinated: bool = False
    """Whether clients send requests to a coordinator, which is a separate host."""
    card: Callable[[LabSpec], CardDesign] | None = None
    """The FPGA cards before servers or clients; None: these are cabled to the switch."""
    card_before: Literal["servers", "clients"] = "servers"
    """Where its cards are, if it has any."""
    mutants: Callable[[], Mapping[str, Broken]] = _no_mutants
    """The scheme with one rule broken, by the names of the defects: `netkv soak` must find them."""
    metrics: tuple[Metric, ...] = ()
    """Metrics of its runs, in addition to those of all runs (`netkv.metrics.common`)."""

    @property
    def node_kinds(self) -> tuple[type[Node], ...]:
        """The kinds of nodes that its racks have and not all other racks."""
        from netkv.rack.nodes import Card, ClientCard, Coordinator

        own = {
            Coordinator: self.coordinated,
            Card: self.card is not None and self.card_before == "servers",
            ClientCard: self.card is not None and self.card_before == "clients",
        }
        return tuple(kind for kind, has in own.items() if has)

    def external_clients(self, lab: LabSpec) -> int:
        """How many external programs (`lab.external_clients`) fit beside the load's clients."""
        return max(0, min(lab.external_clients, self.max_clients - lab.clients))

    def with_topology(self, lab: LabSpec) -> LabSpec:
        """The lab with the switches that it has in runs of the scheme.

        All options of its `topology` then count as written, so no other scheme changes them.
        """
        written = lab.topology.model_dump(exclude_unset=True)
        whole = TopologySpec(**self.topology.model_dump() | written)
        return lab.model_copy(update={"topology": whole})

    def has_option(self, name: str) -> bool:
        """Whether `lab.name` is an option of the scheme itself, not one of every lab."""
        return name in self.options.model_fields

    def preloaded(self, lab: LabSpec) -> int:
        """Number of keys that the switches cache at the start; they are the hottest. Each switch
        with servers has room for its part of them, and the other layers for as many."""
        options = self.options.of(lab)
        if not isinstance(options, SwitchCache):
            return 0
        return options.preloaded * self.with_topology(lab).topology.switches_of_servers

    @property
    def program_path(self) -> Path:
        """The P4 source of the scheme, for switches with servers."""
        return resources.path("p4") / self.program

    @property
    def other_paths(self) -> dict[Place, Path]:
        """The P4 sources of `other_programs`."""
        return {place: resources.path("p4") / path for place, path in self.other_programs.items()}

    def with_program(self, file: Path) -> Scheme:
        """The scheme with another file for one of its programs: for the one with the same file
        name, else for `program`."""
        changed = {
            place: str(file)
            for place, path in self.other_programs.items()
            if Path(path).name == file.name != self.program_path.name
        }
        if changed:
            return replace(self, other_programs={**self.other_programs, **changed})
        return replace(self, program=str(file))

    def compile(self, lab: LabSpec) -> bytes:
        """Compile the program for a lab; raises `NetkvError` with the compiler's report."""
        return compile_program(self.program_path, self.defines(lab))

    def compile_all(self, lab: LabSpec) -> Programs:
        """Compile the programs of all places; raises `NetkvError` with the compiler's report."""
        defines = self.defines(lab)
        others = {place: compile_program(path, defines) for place, path in self.other_paths.items()}
        return Programs(self.compile(lab), others)

    def check(self, lab: LabSpec, workload: WorkloadSpec) -> None:
        """Raises `MisfitError` if the scheme does not support the lab or the load."""
        from netkv.schemes import checks

        checks.check(self, lab, workload)

    def check_live(self, lab: LabSpec) -> None:
        """Raises `MisfitError` if only the simulator can run the scheme in the lab."""
        from netkv.schemes import checks

        checks.check_live(self, lab)

    def check_soak(self) -> None:
        """Raises `UsageError` if a search for lost writes has no use."""
        from netkv.schemes import checks

        checks.check_soak(self)


Broken: TypeAlias = "Callable[[Scheme], AbstractContextManager[Scheme]]"
"""Breaks a rule of a scheme. The scheme of the context, and it alone, is to be used there."""


def compile_program(program: Path, defines: Mapping[str, str]) -> bytes:
    """Compile a program to a bundle. Included files are found beside the program, then in `p4/`:
    a copy of a program may have some of its files beside it.

    Raises `NetkvError` with the compiler's report.
    """
    from netkv import _engine

    try:
        includes = [str(program.parent), str(resources.path("p4"))]
        return _engine.compile_p4(str(program), includes, dict(defines))
    except _engine.CompileError as error:
        raise NetkvError(str(error)) from error
