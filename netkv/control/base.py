"""The interface of control planes: events in, actions out, no I/O, no clock.

A driver (the lab live, the simulator in virtual time) owns the P4Runtime streams of the switches
and the clock. It passes events to the control plane (`handle`) and carries out the returned actions
in order. A control plane is of one switch (`SwitchControlPlane`) or of all switches of a rack
(`NetworkControlPlane`). The driver guarantees:

1. Every table write (`InsertEntry`, `ModifyEntry`, `DeleteEntry`, `SetDefault`, `CloneSession`,
   `MulticastGroup`) is answered by exactly one `TableWritten` with the same `write` number, unless
   the switch restarts first. Writes to a switch are carried out in order, so one list may go into
   one P4Runtime batch. They begin only after the frames before them to the switch are sent. Frames
   do not wait for writes: only `TableWritten` shows that the switch has one.
   The driver refuses a write while `MAX_WRITES` others to the switch are unanswered.
   In a switch of several pipelines the pipelines get a write one after the other. Meanwhile some
   packets match the new entry and others do not; `TableWritten` means that all pipelines have it.
2. When `deadline()` is reached, the driver calls `handle(now, Timer())`. An early or superfluous
   timer has no effect.
3. After a switch has lost its state (restart, new pipeline), the driver sends `SwitchRestarted`
   before any later event about this switch.
4. The successor of a crashed control plane is a new object. From its first event (`Started`) on the
   driver carries out no action of the predecessor. The successor's clock is not behind the
   predecessor's. With one switch, the driver loads the program before, which empties the switch;
   docs/internals/architecture.md, "When a controller dies", explains why.
5. When other switches go out of service or return, the driver sends `TopologyChanged`. If that
   happens while this switch is down, it follows `SwitchRestarted` directly, before any answer.
   docs/internals/architecture.md, "A switch fails", defines "in service".

For a control plane of several switches, furthermore:

6. `Started` comes before any switch is connected. A switch is *up* from `SwitchRestarted` or
   `SwitchFound` until `SwitchLost`, or until it restarts. Actions about a switch that is not up
   have no effect, and its unanswered writes and reads will not be answered.
7. If the control plane keeps the state of running switches (`keeps_switches`), a successor gets
   `SwitchFound` for a switch that still has the program and the state that a predecessor has left.
   Otherwise, and for a switch that has restarted meanwhile, it gets `SwitchRestarted`. Writes and
   frames of the predecessor that are still under way arrive before any action of the successor.
8. Every `ReadTable` is answered by one `TableRead`, in order with the writes to the same switch.

Frames may be lost, duplicated and reordered; the control plane handles that itself.
"""

# The `on_…` methods are an interface: schemes need not use all parameters.
# ruff: noqa: ARG002

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeAlias, runtime_checkable

from netkv.model.recovery import Recovered as Recovered

if TYPE_CHECKING:
    from netkv.model.messages import Message
    from netkv.model.topology import Topology

Nanoseconds: TypeAlias = int
"""A time on the driver's clock, or a duration, in nanoseconds."""

SECOND: Nanoseconds = 1_000_000_000
MILLISECOND: Nanoseconds = 1_000_000

MAX_WRITES = 65_536
"""Table writes of a switch under way, at most: twice the entries of its lookup table."""

TOO_MANY_WRITES = f"{MAX_WRITES:,} table writes are under way already"
MAX_SAVES = 16
"""Saves that wait at a driver, at most. A control plane has one save under way; each earlier
session may have left another one."""

TOO_MANY_SAVES = f"{MAX_SAVES} saves wait already"


def earlier(a: Nanoseconds | None, b: Nanoseconds | None) -> Nanoseconds | None:
    """The earlier of two times; None means never, as in the result."""
    if a is None or (b is not None and b < a):
        return b
    return a


def earliest(*times: Nanoseconds | None) -> Nanoseconds | None:
    """The earliest of these times; None among them means never, as in the result."""
    first = None
    for time in times:
        if time is not None and (first is None or time < first):
            first = time
    return first


# --------------------------------------------------------------------------------- events


@dataclass(frozen=True, slots=True)
class Started:
    """The control plane starts; with one switch, this switch runs the scheme's program, with empty
    tables and zeroed registers.

    The first event of every control plane, also of the successor of a crashed one.
    """

    saved: bytes | None = None
    """The data of the last `Save`, by this controller or an earlier one; None if there was none."""


@dataclass(frozen=True, slots=True)
class SwitchRestarted:
    """The switch runs its program, without table entries and with zeroed registers.

    Earlier writes and messages without an answer will not be answered.
    """

    switch: str = ""
    """Its name; empty in a control plane of one switch, as in all events and actions."""


@dataclass(frozen=True, slots=True)
class SwitchFound:
    """The switch runs its program with the state that an earlier controller has left."""

    switch: str


@dataclass(frozen=True, slots=True)
class SwitchLost:
    """The switch does not run, as far as the driver knows. Of several switches only."""

    switch: str


@dataclass(frozen=True, slots=True)
class Timer:
    """`deadline()` has been reached."""


@dataclass(frozen=True, slots=True)
class Preload:
    """Cache these keys (16 bytes each) without a hot-key report, the most important first."""

    keys: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class HotKeys:
    """These keys (16 bytes each) are hot, the most important first, as an oracle knows
    (`workload.shift.admit`). Each counts as one report of a hot key at the threshold."""

    keys: tuple[bytes, ...]


# Events and actions that are made for each message are not `frozen`, as those of `messages.py`.


@dataclass(slots=True, unsafe_hash=True)
class Digest:
    """A digest message of the switch, of a type in `ControlPlane.digests`."""

    name: str
    """Name of the type in P4Info, such as `hot_key_t`."""
    members: Mapping[str, int]
    """Its fields by name."""
    switch: str = ""


@dataclass(slots=True, unsafe_hash=True)
class PacketIn:
    """A frame for the controller, without the packet-in header: it begins with Ethernet."""

    ingress_port: int
    frame: bytes
    switch: str = ""


@dataclass(frozen=True, slots=True)
class Saved:
    """`Save` number `save` is on disk, or it failed; then the previously saved data remains."""

    save: int
    ok: bool
    error: str = ""


@dataclass(slots=True, unsafe_hash=True)
class TableWritten:
    """The switch has carried out table write `write`, or refused it with an error."""

    write: int
    ok: bool
    error: str = ""
    switch: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """A table entry as the switch has it. `match` is empty for the default action."""

    match: Mapping[str, "MatchValue"]
    action: str
    params: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class TableRead:
    """The answer to `ReadTable` number `read`: all entries, and the default action."""

    read: int
    entries: tuple[Entry, ...] = ()
    default: Entry | None = None
    error: str = ""
    """Why the switch has refused it; empty if it has not."""
    switch: str = ""


@dataclass(frozen=True, slots=True)
class TopologyChanged:
    """From now on this is the topology of the switch, also after restarts.

    Only ports towards hosts at other switches differ from the earlier one. The same topology may be
    sent several times.
    """

    topology: "Topology"
    switch: str = ""


Event: TypeAlias = (
    Started
    | SwitchRestarted
    | SwitchFound
    | SwitchLost
    | Timer
    | Preload
    | HotKeys
    | Digest
    | PacketIn
    | TableWritten
    | TableRead
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


@dataclass(slots=True, unsafe_hash=True)
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
    switch: str = ""


@dataclass(frozen=True, slots=True)
class ModifyEntry:
    """Give the table entry with this match (and priority) another action or other parameters."""

    write: int
    table: str
    match: Mapping[str, MatchValue]
    action: str
    params: Mapping[str, int]
    priority: int = 0
    switch: str = ""


@dataclass(frozen=True, slots=True)
class CloneSession:
    """Create a clone session: its clones leave through `port`."""

    write: int
    session: int
    port: int
    switch: str = ""


@dataclass(frozen=True, slots=True)
class MulticastGroup:
    """Create a multicast group: its packets leave through each of `ports`."""

    write: int
    group: int
    ports: tuple[int, ...]
    switch: str = ""


@dataclass(frozen=True, slots=True)
class DeleteEntry:
    """Delete the table entry with this match (and priority, where the table has one)."""

    write: int
    table: str
    match: Mapping[str, MatchValue]
    priority: int = 0
    switch: str = ""


@dataclass(frozen=True, slots=True)
class SetDefault:
    """Set the default action of a table."""

    write: int
    table: str
    action: str
    params: Mapping[str, int]
    switch: str = ""


@dataclass(frozen=True, slots=True)
class ReadTable:
    """Read all entries of a table with exact matches, and its default action."""

    read: int
    """Unique among the numbers of table writes, too."""
    table: str
    switch: str = ""


@dataclass(frozen=True, slots=True)
class ResetSwitch:
    """Load the program of a switch that is up, which empties it. Answered by `SwitchRestarted`; of
    several switches only."""

    switch: str


@dataclass(slots=True, unsafe_hash=True)
class SendFrame:
    """Send a frame by packet-out. With `egress_port` 0 it passes the pipeline like any frame."""

    frame: bytes
    egress_port: int = 0
    switch: str = ""


@dataclass(frozen=True, slots=True)
class Save:
    """Replace the saved data atomically and durably.

    Answered by `Saved`; with one switch that has restarted, in its next session. Saved data
    outlives switch and controller. At most one save is under way.
    """

    save: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Recovering:
    """A recovery begins: a switch has lost its state, and the control plane restores it.

    `Recovered` is its end. Another `Recovering` means that switch or controller stopped meanwhile
    and that the recovery begins again.
    """

    switch: str = ""
    """With several switches, the one that names the recovery; recoveries of different switches are
    independent."""

    def describe(self) -> str:
        """For the list of events."""
        return "recovery begins"


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
SwitchAction: TypeAlias = TableWrite | ReadTable | ResetSwitch | SendFrame
"""Actions that are about one switch."""
Action: TypeAlias = SwitchAction | HostAction


class Continued(tuple[Action, ...]):
    """The actions of a callback that only continues an operation, which waits for its next answer:
    nothing else is due because of it (`ControlPlane.finish`), at most a request may be sent."""

    __slots__ = ()


# -------------------------------------------------------------------------- control plane


@runtime_checkable
class Caches(Protocol):
    """A control plane that keeps keys in the switch."""

    def cached_keys(self) -> list[bytes]: ...


@runtime_checkable
class CountsCached(Protocol):
    """A control plane that can tell how many entries are cached without listing the keys."""

    def cached_count(self) -> int: ...


@runtime_checkable
class CountsRecords(Protocol):
    """A control plane that counts the records that pass through it."""

    def record_bytes(self) -> int:
        """Bytes of the records (key, version, value) of admissions, evictions and snapshots since
        the start: each once, without the messages around them."""
        ...


@runtime_checkable
class RegistersClients(Protocol):
    """A control plane where client processes register and deregister."""

    def clients_present(self) -> list[int]:
        """The first client of each process that is present, as far as the controller knows."""
        ...


@runtime_checkable
class LimitsInFlight(Protocol):
    """A control plane whose driver may say how many keys of a cache are in flight at once: their
    admission or eviction is under way."""

    def limit_in_flight(self, keys: int) -> None:
        """Replaces the scheme's own limit. The driver calls this before the first event, if at
        all."""
        ...


class Replies(Protocol):
    """Takes replies to requests (`netkv.control.pending_requests`)."""

    def on_reply(self, now: Nanoseconds, reply: "Message") -> Iterable["Action"]: ...


class WriteAnswers(Protocol):
    """Takes answers to table writes (`netkv.control.table_writes`)."""

    def on_written(self, now: Nanoseconds, written: "TableWritten") -> Iterable["Action"]: ...


class ControlPlane(ABC):
    """Takes events and returns actions. Schemes extend one of its two subclasses.

    A subclass implements the `on_…` methods it needs, most as generators. `handle` runs each to its
    end, so a state change never depends on whether the caller consumes the actions.
    """

    digests: ClassVar[tuple[str, ...]] = ()
    """Digests (P4Info names) that the driver must enable and turn into events (`Digest`)."""
    keeps_switches: ClassVar[bool] = False
    """Whether a new control plane continues with the state of switches that run (`SwitchFound`)."""
    pending_requests: Mapping[str, Replies] = MappingProxyType({})
    """The requests whose replies arrive from a switch, by its name. A driver may pass such a reply
    to its `on_reply` instead of `handle`."""
    table_writes: Mapping[str, WriteAnswers] = MappingProxyType({})
    """Table writes to a switch that have callbacks, by its name. A driver may pass their answers to
    its `on_written` instead of `handle`."""

    def handle(self, now: Nanoseconds, event: Event) -> list[Action]:
        """Handle one event at time `now`; return the actions to carry out, in order."""
        switch: str = getattr(event, "switch", "")
        return self.finish(now, switch, list(self._dispatch(now, event)))

    def finish(self, now: Nanoseconds, switch: str, actions: list[Action]) -> list[Action]:
        """Begin what is due after an event about a switch, whose actions are `actions`; return
        these and those that follow. Drivers call it after `on_reply` and `on_written`, except if
        these return `Continued` before the next `deadline`: then the requests that are `ready` are
        all that follows."""
        return actions

    def _dispatch(self, now: Nanoseconds, event: Event) -> Iterable[Action]:
        # The most frequent events are the first.
        match event:
            case PacketIn():
                return self.on_packet_in(now, event)
            case TableWritten():
                return self.on_table_written(now, event)
            case Timer():
                return self.on_timer(now)
            case Digest():
                return self.on_digest(now, event)
            case Started(saved):
                return self.on_started(now, saved)
            case Preload(keys):
                return self.on_preload(now, keys)
            case HotKeys(keys):
                return self.on_hot_keys(now, keys)
            case TableRead():
                return self.on_table_read(now, event)
            case Saved():
                return self.on_saved(now, event)
            case _:
                return self._on_switch_event(now, event)

    @abstractmethod
    def _on_switch_event(
        self,
        now: Nanoseconds,
        event: SwitchRestarted | SwitchFound | SwitchLost | TopologyChanged,
    ) -> Iterable[Action]:
        """A switch has changed its state or its topology."""

    @abstractmethod
    def ready(self) -> bool:
        """True once the initial tables are in and every preloaded key is cached or given up."""

    def switch_ready(self, switch: str) -> bool:
        """Whether other switches may send frames through this one: it has its tables."""
        return self.ready()

    def deadline(self) -> Nanoseconds | None:
        """When to send `Timer`, if no event happens before; None if no timer is needed."""
        return None

    def statistics(self) -> dict[str, int]:
        """Counters and gauges since the start, by name."""
        return {}

    @abstractmethod
    def on_started(self, now: Nanoseconds, saved: bytes | None) -> Iterator[Action]:
        """The control plane starts; `saved` as in `Started`."""

    def on_timer(self, now: Nanoseconds) -> Iterator[Action]:
        """`deadline()` has passed."""
        return iter(())

    def on_preload(self, now: Nanoseconds, keys: tuple[bytes, ...]) -> Iterator[Action]:
        """Cache `keys`. By default nothing: a scheme without a cache has nothing to preload."""
        return iter(())

    def on_hot_keys(self, now: Nanoseconds, keys: tuple[bytes, ...]) -> Iterator[Action]:
        """Admit `keys` as if each had been reported as hot once: they may evict others, and none of
        them is dropped because several arrive at once. Keys of other switches are ignored.

        By default nothing. Control planes of schemes with the options `SwitchCache` implement it.
        """
        return iter(())

    def on_digest(self, now: Nanoseconds, digest: Digest) -> Iterator[Action]:
        """A digest message has arrived."""
        return iter(())

    def on_packet_in(self, now: Nanoseconds, packet: PacketIn) -> Iterable[Action]:
        """A frame for the controller has arrived."""
        return iter(())

    def on_table_written(self, now: Nanoseconds, written: TableWritten) -> Iterable[Action]:
        """A table write has been answered."""
        return iter(())

    def on_table_read(self, now: Nanoseconds, read: TableRead) -> Iterator[Action]:
        """A table has been read."""
        return iter(())

    def on_saved(self, now: Nanoseconds, saved: Saved) -> Iterator[Action]:
        """A save has been answered."""
        return iter(())


class SwitchControlPlane(ControlPlane):
    """A control plane of one switch."""

    def _on_switch_event(
        self,
        now: Nanoseconds,
        event: SwitchRestarted | SwitchFound | SwitchLost | TopologyChanged,
    ) -> Iterable[Action]:
        match event:
            case SwitchRestarted():
                return self.on_switch_restarted(now)
            case TopologyChanged(topology):
                return self.on_topology_changed(now, topology)
            case _:
                raise TypeError(f"{type(event).__name__} is for control planes of several switches")

    @abstractmethod
    def tables(self) -> Iterator[TableWrite]:
        """The writes that a switch with empty tables needs before the first request."""

    def on_started(self, now: Nanoseconds, saved: bytes | None) -> Iterator[Action]:
        """The switch is up for the first time; `saved` as in `Started`."""
        yield from self.tables()

    def on_switch_restarted(self, now: Nanoseconds) -> Iterator[Action]:
        """The switch is up again, without its state."""
        yield from self.tables()

    def on_topology_changed(self, now: Nanoseconds, topology: "Topology") -> Iterator[Action]:
        """Ports towards hosts at other switches have changed. By default nothing: a scheme for one
        switch has no such hosts. `ForwardingControlPlane` changes the routes."""
        return iter(())


class NetworkControlPlane(ControlPlane):
    """A control plane of several switches (guarantees 6 to 8)."""

    def _on_switch_event(
        self,
        now: Nanoseconds,
        event: SwitchRestarted | SwitchFound | SwitchLost | TopologyChanged,
    ) -> Iterable[Action]:
        match event:
            case SwitchRestarted(switch):
                return self.on_switch_restarted(now, switch)
            case SwitchFound(switch):
                return self.on_switch_found(now, switch)
            case SwitchLost(switch):
                return self.on_switch_lost(now, switch)
            case TopologyChanged(topology, switch):
                return self.on_topology_changed(now, topology, switch)

    @abstractmethod
    def switch_ready(self, switch: str) -> bool: ...

    @abstractmethod
    def on_switch_restarted(self, now: Nanoseconds, switch: str) -> Iterator[Action]:
        """A switch is up, without state."""

    def on_switch_found(self, now: Nanoseconds, switch: str) -> Iterator[Action]:
        """A switch is up, with the state that an earlier controller has left."""
        raise NotImplementedError("a control plane that keeps switches implements this")

    @abstractmethod
    def on_switch_lost(self, now: Nanoseconds, switch: str) -> Iterator[Action]:
        """A switch does not run."""

    @abstractmethod
    def on_topology_changed(
        self, now: Nanoseconds, topology: "Topology", switch: str
    ) -> Iterator[Action]:
        """Ports of a switch towards hosts at other switches have changed."""
