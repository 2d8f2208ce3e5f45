"""The interface of control planes: events in, actions out, no I/O, no clock.

A driver (the lab live, the simulator in virtual time) owns the switch's P4Runtime stream and the
clock. It passes events to the control plane (`handle`) and carries out the returned actions in
order. The driver guarantees:

1. Every table write (`InsertEntry`, `ModifyEntry`, `DeleteEntry`, `SetDefault`, `CloneSession`,
   `MulticastGroup`) is answered by exactly one `TableWritten` with the same `write` number, unless
   the switch restarts first. Writes are carried out in order, so one list may go into one
   P4Runtime batch. Writes and saves begin only after the frames before them are sent.
   The driver refuses a write while `MAX_WRITES` others are unanswered.
   In a switch of several pipelines the pipelines get a write one after the other. Meanwhile some
   packets match the new entry and others do not; `TableWritten` means that all pipelines have it.
2. When `deadline()` is reached, the driver calls `handle(now, Timer())`. An early or superfluous
   timer has no effect.
3. After the switch has lost its state (restart, new pipeline), the driver sends `SwitchRestarted`
   before any later event.
4. The successor of a crashed control plane is a new object. The driver loads the program, which
   empties the switch, and sends `Started`. From then on it carries out no action of the
   predecessor. The successor's clock is not behind the predecessor's. docs/architecture.md, "When
   a controller dies", explains why the switch is emptied.
5. When other switches go out of service or return, the driver sends `TopologyChanged`. If that
   happens while this switch is down, it follows `SwitchRestarted` directly, before any answer.
   docs/architecture.md, "A switch fails", defines "in service".

Frames may be lost, duplicated and reordered; the control plane handles that itself.
"""

# The `on_…` methods are an interface: schemes need not use all parameters.
# ruff: noqa: ARG002

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    from netkv.control.topology import Topology

Nanoseconds: TypeAlias = int
"""A time on the driver's clock, or a duration, in nanoseconds."""

SECOND: Nanoseconds = 1_000_000_000
MILLISECOND: Nanoseconds = 1_000_000

MAX_WRITES = 65_536
"""Table writes of a switch under way, at most: twice the entries of its lookup table."""

TOO_MANY_WRITES = f"{MAX_WRITES:,} table writes are under way already"

# --------------------------------------------------------------------------------- events


@dataclass(frozen=True, slots=True)
class Started:
    """The switch runs the scheme's program, with empty tables and zeroed registers.

    The first event of every control plane, also of the successor of a crashed one.
    """

    saved: bytes | None = None
    """The data of the last `Save`, by this controller or an earlier one; None if there was none."""


@dataclass(frozen=True, slots=True)
class SwitchRestarted:
    """The switch runs the program again and has lost every table entry and register.

    Earlier writes and messages without an answer will not be answered.
    """


@dataclass(frozen=True, slots=True)
class Timer:
    """`deadline()` has been reached."""


@dataclass(frozen=True, slots=True)
class Preload:
    """Cache these keys (16 bytes each) without a hot-key report, the most important first."""

    keys: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Digest:
    """A digest message of the switch, of a type in `ControlPlane.digests`."""

    name: str
    """Name of the type in P4Info, such as `hot_key_t`."""
    members: Mapping[str, int]
    """Its fields by name."""


@dataclass(frozen=True, slots=True)
class PacketIn:
    """A frame for the controller, without the packet-in header: it begins with Ethernet."""

    ingress_port: int
    frame: bytes


@dataclass(frozen=True, slots=True)
class Saved:
    """`Save` number `save` is on disk, or it failed; then the previously saved data remains."""

    save: int
    ok: bool
    error: str = ""


@dataclass(frozen=True, slots=True)
class TableWritten:
    """The switch has carried out table write `write`, or refused it with an error."""

    write: int
    ok: bool
    error: str = ""


@dataclass(frozen=True, slots=True)
class TopologyChanged:
    """From now on this is the topology of the switch, also after restarts.

    Only ports towards hosts at other switches differ from the earlier one. The same topology may be
    sent several times.
    """

    topology: "Topology"


Event: TypeAlias = (
    Started
    | SwitchRestarted
    | Timer
    | Preload
    | Digest
    | PacketIn
    | TableWritten
    | Saved
    | TopologyChanged
)

# -------------------------------------------------------------------------------- actions


@dataclass(frozen=True, slots=True)
class Range:
    """A range match: `low` to `high`, both included."""

    low: int
    high: int


MatchValue: TypeAlias = int | Range
"""An `int` is an exact match."""


@dataclass(frozen=True, slots=True)
class InsertEntry:
    """Insert a table entry. Names are the full names of P4Info (`NetkvIngress.lookup.cache`).

    `priority` is 0 for tables with exact matches, above 0 for ranges (the largest wins, as in
    P4Runtime).
    """

    write: int
    table: str
    match: Mapping[str, MatchValue]
    action: str
    params: Mapping[str, int]
    priority: int = 0


@dataclass(frozen=True, slots=True)
class ModifyEntry:
    """Give the table entry with this match (and priority) another action or other parameters."""

    write: int
    table: str
    match: Mapping[str, MatchValue]
    action: str
    params: Mapping[str, int]
    priority: int = 0


@dataclass(frozen=True, slots=True)
class CloneSession:
    """Create a clone session: its clones leave through `port`."""

    write: int
    session: int
    port: int


@dataclass(frozen=True, slots=True)
class MulticastGroup:
    """Create a multicast group: its packets leave through each of `ports`."""

    write: int
    group: int
    ports: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DeleteEntry:
    """Delete the table entry with this match (and priority, where the table has one)."""

    write: int
    table: str
    match: Mapping[str, MatchValue]
    priority: int = 0


@dataclass(frozen=True, slots=True)
class SetDefault:
    """Set the default action of a table."""

    write: int
    table: str
    action: str
    params: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class SendFrame:
    """Send a frame by packet-out. With `egress_port` 0 it passes the pipeline like any frame."""

    frame: bytes
    egress_port: int = 0


@dataclass(frozen=True, slots=True)
class Save:
    """Replace the saved data atomically and durably.

    Answered by `Saved`; after a restart of the switch, in its next session. Saved data outlives
    switch and controller. At most one save is under way.
    """

    save: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Recovering:
    """A recovery begins: the switch has lost its state, and the control plane restores it.

    `Recovered` is its end. Another `Recovering` means that switch or controller stopped meanwhile
    and that the recovery begins again.
    """

    def describe(self) -> str:
        """For the list of events."""
        return "recovery begins"


@dataclass(frozen=True, slots=True)
class Recovered:
    """A recovery is complete.

    `phases`: name and duration in seconds, in order. `counts`: what it moved (records, keys, …).
    """

    phases: tuple[tuple[str, float], ...]
    counts: Mapping[str, int]

    @property
    def seconds(self) -> float:
        """Duration of all phases."""
        return sum(seconds for _, seconds in self.phases)

    def describe(self) -> str:
        """For the list of events: `recovered in 0.3 s: collect 0.1 s, restore 0.2 s (keys 12)`."""
        phases = ", ".join(f"{name} {seconds:.3g} s" for name, seconds in self.phases)
        counts = ", ".join(f"{name} {number}" for name, number in self.counts.items())
        text = f"recovered in {self.seconds:.3g} s"
        return text + (f": {phases}" if phases else "") + (f" ({counts})" if counts else "")


@dataclass(frozen=True, slots=True)
class Note:
    """An event for the run's list of events, with its numbers."""

    what: str
    fields: Mapping[str, int | str] = field(default_factory=dict)

    def describe(self) -> str:
        """For the list of events: `tables ready` or `moved (key 3, row 5)`."""
        numbers = ", ".join(f"{name} {value}" for name, value in self.fields.items())
        return f"{self.what} ({numbers})" if numbers else self.what


TableWrite: TypeAlias = (
    InsertEntry | ModifyEntry | DeleteEntry | SetDefault | CloneSession | MulticastGroup
)
HostAction: TypeAlias = Save | Recovering | Recovered | Note
"""Actions that the driver carries out without the switch."""
Action: TypeAlias = TableWrite | SendFrame | HostAction

# -------------------------------------------------------------------------- control plane


@runtime_checkable
class Caches(Protocol):
    """A control plane that keeps keys in the switch."""

    def cached_keys(self) -> list[bytes]: ...


@runtime_checkable
class RegistersClients(Protocol):
    """A control plane where client processes register and deregister."""

    def clients_present(self) -> list[int]:
        """The first client of each process that is present, as far as the controller knows."""
        ...


class ControlPlane(ABC):
    """Takes events and returns actions; a subclass for each scheme that needs one.

    A subclass implements the `on_…` methods it needs as generators. `handle` runs each to its end,
    so a state change never depends on whether the caller consumes the actions.
    """

    digests: ClassVar[tuple[str, ...]] = ()
    """Digests (P4Info names) that the driver must enable and turn into events (`Digest`)."""

    def handle(self, now: Nanoseconds, event: Event) -> list[Action]:
        """Handle one event at time `now`; return the actions to carry out, in order."""
        return list(self._dispatch(now, event))

    def _dispatch(self, now: Nanoseconds, event: Event) -> Iterable[Action]:
        match event:
            case Started(saved):
                return self.on_started(now, saved)
            case SwitchRestarted():
                return self.on_switch_restarted(now)
            case Timer():
                return self.on_timer(now)
            case Preload(keys):
                return self.on_preload(now, keys)
            case Digest():
                return self.on_digest(now, event)
            case PacketIn():
                return self.on_packet_in(now, event)
            case TableWritten():
                return self.on_table_written(now, event)
            case Saved():
                return self.on_saved(now, event)
            case TopologyChanged(topology):
                return self.on_topology_changed(now, topology)

    @abstractmethod
    def tables(self) -> Iterator[TableWrite]:
        """The writes that a switch with empty tables needs before the first request."""

    @abstractmethod
    def ready(self) -> bool:
        """True once the initial tables are in and every preloaded key is cached or given up."""

    def deadline(self) -> Nanoseconds | None:
        """When to send `Timer`, if no event happens before; None if no timer is needed."""
        return None

    def statistics(self) -> dict[str, int]:
        """Counters and gauges since the start, by name."""
        return {}

    def on_started(self, now: Nanoseconds, saved: bytes | None) -> Iterator[Action]:
        """The switch is up for the first time; `saved` as in `Started`."""
        yield from self.tables()

    def on_switch_restarted(self, now: Nanoseconds) -> Iterator[Action]:
        """The switch is up again, without its state."""
        yield from self.tables()

    def on_timer(self, now: Nanoseconds) -> Iterator[Action]:
        """`deadline()` has passed."""
        return iter(())

    def on_preload(self, now: Nanoseconds, keys: tuple[bytes, ...]) -> Iterator[Action]:
        """Cache `keys`. By default nothing: a scheme without a cache has nothing to preload."""
        return iter(())

    def on_digest(self, now: Nanoseconds, digest: Digest) -> Iterator[Action]:
        """A digest message has arrived."""
        return iter(())

    def on_packet_in(self, now: Nanoseconds, packet: PacketIn) -> Iterator[Action]:
        """A frame for the controller has arrived."""
        return iter(())

    def on_table_written(self, now: Nanoseconds, written: TableWritten) -> Iterator[Action]:
        """A table write has been answered."""
        return iter(())

    def on_saved(self, now: Nanoseconds, saved: Saved) -> Iterator[Action]:
        """A save has been answered."""
        return iter(())

    def on_topology_changed(self, now: Nanoseconds, topology: "Topology") -> Iterator[Action]:
        """Ports towards hosts at other switches have changed. By default nothing: a scheme for one
        switch has no such hosts. `ForwardingControlPlane` changes the routes."""
        return iter(())
