"""`Scheme`, the declaration of a scheme: programs, hosts, control plane, options and limits.

All other code (partitioning, forwarding, request path, supervision) is shared between schemes and
reads the properties of a scheme from its `Scheme`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from netkv import resources
from netkv.errors import NetkvError
from netkv.metrics.metric import Metric
from netkv.model.hardware import TopologySpec
from netkv.model.nodes import OPTIONAL, Node
from netkv.model.scheme_options import SchemeOptions, SwitchCache
from netkv.schemes.programs import Programs

if TYPE_CHECKING:
    from netkv.control.base import NetworkControlPlane, SwitchControlPlane
    from netkv.model.card_design import CardDesign
    from netkv.model.hardware import GenericLab
    from netkv.model.network import Network, Tier
    from netkv.model.spec import GenericRack
    from netkv.model.topology import Topology

ONE_SWITCH = TopologySpec(kind="rack")
LabT = TypeVar("LabT", bound="GenericLab")
PLAIN = "plain"
"""The role of servers and clients that only exchange requests and replies."""


def _no_defines(lab: GenericLab) -> Mapping[str, str]:  # noqa: ARG001 (a fixed signature)
    return {}


def _no_other_role(lab: GenericLab) -> str | None:  # noqa: ARG001 (a fixed signature)
    return None


def _never_stale(lab: GenericLab) -> float | None:  # noqa: ARG001 (a fixed signature)
    return None


def forwarding_only(
    spec: GenericRack,  # noqa: ARG001 (a fixed signature)
    topology: Topology,
) -> SwitchControlPlane:
    """The control plane of a switch that only forwards."""
    from netkv.control.forwarding import ForwardingOnly

    return ForwardingOnly(topology)


@dataclass(frozen=True)
class About:
    """What lists and figures say of a scheme."""

    title: str
    """The name in figures and tables."""
    paper: str
    """The paper that describes it."""
    summary: str
    """One sentence for lists."""
    order: int = 1000
    """Sort key in lists and figures, ascending; the name breaks ties."""


@dataclass(frozen=True)
class P4Programs:
    """The P4 programs of the switches of a rack.

    Paths are `NAME/NAME.p4` in `p4/`, or absolute.
    """

    main: str
    """The program of switches with servers."""
    others: Mapping[Tier, str] = field(default_factory=dict)
    """Programs for switches without servers, by their tier of the network; in a tier that is left
    out a switch runs `main`."""
    defines: Callable[[GenericLab], Mapping[str, str]] = _no_defines
    """Macros with which they are compiled for a lab."""


@dataclass(frozen=True)
class Host:
    """Hosts of a rack, or cards, of one kind. `netkv.model.nodes` says where each kind is attached:
    clients, servers and a coordinator to a switch, cards between these and the switch."""

    kind: type[Node]
    role: str = ""
    """The protocol role: a role of engine/roles, or a class in Python,
    `python:package.module:Class` (`netkv.roles`). Coordinators and cards have none."""
    card: Callable[[GenericLab], CardDesign] | None = None
    """Of cards: the design."""
    other_role: Callable[[GenericLab], str | None] = _no_other_role
    """The role in a lab whose options choose another one, with the same counters."""


@dataclass(frozen=True)
class Traits:
    """What the protocol of a scheme can do."""

    caches: bool
    """Whether the switch or a card answers reads. Without that there is no hit ratio to predict."""
    answers_writes: bool = False
    """Whether the switch also answers writes of the records that it caches (write-back)."""
    client_keeps: bool = False
    """Whether clients keep copies of records that only the switch has, until these are released."""
    stamped_requests: bool = False
    """Whether requests of clients have a stamp (docs/internals/wire-format.md), which a switch
    fills in."""
    multigets: bool = False
    """Whether a request may have several keys of different servers. Servers then own keys by the
    hash modulo the number of servers, and a key has 4 to 64 bytes."""
    conditional_writes: bool = False
    """Whether its roles have conditional writes (`workload.conditional`)."""


@dataclass(frozen=True)
class Limits:
    """The largest racks that a scheme supports."""

    pipelines: int = 1
    """Pipelines of a switch, at most. Above 1 the program must keep the state of a key in a
    pipeline that all packets of the key pass, and the control plane must accept that a table write
    reaches the pipelines one after the other."""
    clients: int = 32_767
    """Number of clients that the switch and the servers can distinguish."""
    one_switch: bool = False
    """Whether it supports a single switch only."""


@dataclass(frozen=True)
class Scheme:
    """One way to serve keys from a rack. `netkv.schemes.parts` has what few readers need."""

    name: str
    """The name that users write, in lower case."""
    about: About
    programs: P4Programs
    hosts: tuple[Host, ...]
    """The hosts and cards of its racks, clients and servers among them."""
    traits: Traits
    control_plane: Callable[[GenericRack, Topology], SwitchControlPlane] = forwarding_only
    """Creates the control plane for a rack and the topology of a switch. The default one only fills
    the forwarding tables. The function imports the control plane, so that listing schemes does not
    import it."""
    network_control_plane: Callable[[GenericRack, Network], NetworkControlPlane] | None = None
    """Creates one control plane for all switches of a rack, in place of `control_plane`."""
    options: type[SchemeOptions] = SchemeOptions
    """Its options, which users write under `lab`; their docstrings are the descriptions."""
    topology: TopologySpec = ONE_SWITCH
    """Switches of a lab that does not say them: each option of `lab.topology` that is left out has
    its value from here."""
    limits: Limits = Limits()
    needs: Callable[[GenericLab], None] | None = None
    """A further check of the lab, which raises `MisfitError`."""
    recovery_phases: tuple[str, ...] = ()
    """Names of the phases of a recovery (`Recovered`), in order. Empty: the control plane only
    fills the tables of a restarted switch again."""
    max_staleness: Callable[[GenericLab], float | None] = _never_stale
    """Seconds for which reads of a rack may return a value that was replaced; None: never."""
    metrics: tuple[Metric, ...] = ()
    """Metrics of its runs, in addition to those of all runs (`netkv.metrics.common`)."""

    def has(self, kind: type[Node]) -> bool:
        """Whether its racks have nodes of this kind."""
        return any(host.kind is kind for host in self.hosts)

    def role(self, kind: type[Node], lab: GenericLab | None = None) -> str:
        """The protocol role of its hosts of this kind, in this lab or in one with usual options."""
        host = next(host for host in self.hosts if host.kind is kind)
        return (lab is not None and host.other_role(lab)) or host.role

    @property
    def card(self) -> Callable[[GenericLab], CardDesign] | None:
        """The design of its cards; None: it has none."""
        return next((host.card for host in self.hosts if host.card is not None), None)

    def with_card(self, card: Callable[[GenericLab], CardDesign]) -> Scheme:
        """The scheme with another design of its cards."""
        hosts = (host if host.card is None else replace(host, card=card) for host in self.hosts)
        return replace(self, hosts=tuple(hosts))

    @property
    def node_kinds(self) -> tuple[type[Node], ...]:
        """The kinds of nodes that its racks have and not all other racks."""
        return tuple(host.kind for host in self.hosts if host.kind in OPTIONAL)

    def external_clients(self, lab: GenericLab) -> int:
        """How many external programs (`lab.external_clients`) fit beside the load's clients."""
        return max(0, min(lab.external_clients, self.limits.clients - lab.clients))

    def with_topology(self, lab: LabT) -> LabT:
        """The lab with the switches that it has in runs of the scheme.

        All options of its `topology` then count as written, so no other scheme changes them.
        """
        written = lab.topology.model_dump(exclude_unset=True)
        whole = TopologySpec(**self.topology.model_dump() | written)
        return lab.model_copy(update={"topology": whole})

    def has_option(self, name: str) -> bool:
        """Whether `lab.name` is an option of the scheme itself, not one of every lab."""
        return name in self.options.model_fields

    @property
    def admits_hot_keys(self) -> bool:
        """Whether its controllers admit hot keys to caches of switches."""
        return issubclass(self.options, SwitchCache)

    def preloaded(self, lab: GenericLab) -> int:
        """Number of keys that the switches cache at the start; they are the hottest. Each switch
        with servers has room for its part of them, and the other layers for as many."""
        options = self.options.of(lab)
        if not isinstance(options, SwitchCache):
            return 0
        return options.preloaded * self.with_topology(lab).topology.switches_of_servers

    @property
    def program_path(self) -> Path:
        """The P4 source of the scheme, for switches with servers."""
        return resources.path("p4") / self.programs.main

    @property
    def other_paths(self) -> dict[Tier, Path]:
        """The P4 sources of `programs.others`."""
        return {tier: resources.path("p4") / path for tier, path in self.programs.others.items()}

    def with_program(self, file: Path) -> Scheme:
        """The scheme with another file for one of its programs: for the one with the same file
        name, else for the main one."""
        changed = {
            tier: str(file)
            for tier, path in self.programs.others.items()
            if Path(path).name == file.name != self.program_path.name
        }
        if changed:
            others = {**self.programs.others, **changed}
            return replace(self, programs=replace(self.programs, others=others))
        return replace(self, programs=replace(self.programs, main=str(file)))

    def compile(self, lab: GenericLab) -> bytes:
        """Compile the program for a lab; raises `NetkvError` with the compiler's report."""
        return compile_program(self.program_path, self.programs.defines(lab))

    def compile_all(self, lab: GenericLab) -> Programs:
        """Compile the programs of all tiers; raises `NetkvError` with the compiler's report."""
        defines = self.programs.defines(lab)
        others = {tier: compile_program(path, defines) for tier, path in self.other_paths.items()}
        return Programs(self.compile(lab), others)


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
