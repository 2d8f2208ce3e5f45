"""What every control plane is: events in, actions out, no I/O, no clock.

A driver (the lab live, the simulator in virtual time) owns the switch's P4Runtime stream and
the clock. It passes events to the control plane (`handle`) and carries out the returned actions,
in order. Four promises bind it:

1. Every table write (`InsertEntry`, `ModifyEntry`, `DeleteEntry`, `SetDefault`, `CloneSession`,
   `MulticastGroup`) is answered by exactly one `TableWritten` of the same `write` number, unless
   the switch restarts first. Writes are carried out in the order they were given, so one list may
   go into one P4Runtime batch, and not before the frames that precede them are sent; nor
   are saves.
   It refuses a write while `MAX_WRITES` others are not answered.
   In a switch of several pipelines each gets a write in that order, one pipeline after the other,
   and packets may meet it in some and not yet in others; `TableWritten` says that it is in all.
2. When `deadline()` is reached it calls `handle(now, Timer())`; an early or superfluous timer
   changes nothing.
3. After the switch lost its state (restart, new pipeline) it sends `SwitchRestarted` before any
   any later event.
4. A control plane that takes the place of one that died is a new object. The driver loads the
   program, which empties the switch, and sends `Started`; from then on it carries out nothing more
   for the one before. Its clock has not run back meanwhile. Why the switch is emptied:
   docs/architecture.md, "When a controller dies".

Frames may be lost, doubled and reordered; the control plane copes with that itself.
"""

# The events are an interface: each takes all there is to know, whether a scheme needs it or not.
# ruff: noqa: ARG002

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Protocol, TypeAlias, runtime_checkable

Nanoseconds: TypeAlias = int
"""A point on the driver's clock, or a span of it, in nanoseconds."""

SECOND: Nanoseconds = 1_000_000_000
MILLISECOND: Nanoseconds = 1_000_000

MAX_WRITES = 65_536
"""Table writes of a switch that are under way at most, twice what its lookup table has entries."""

TOO_MANY_WRITES = f"{MAX_WRITES:,} table writes are under way already"

# --------------------------------------------------------------------------------- events


@dataclass(frozen=True, slots=True)
class Started:
    """The switch runs the scheme's program, with empty tables and zeroed registers.

    The first event of a control plane, also of one that takes the place of another.
    """

    saved: bytes | None = None
    """What was saved last (`Save`), by this controller or an earlier one; None: nothing."""


@dataclass(frozen=True, slots=True)
class SwitchRestarted:
    """The switch runs the program again and has lost every table entry and register.

    Writes and messages from before that are unanswered will not be answered.
    """


@dataclass(frozen=True, slots=True)
class Timer:
    """`deadline()` has been reached."""


@dataclass(frozen=True, slots=True)
class Preload:
    """Cache these keys (16 bytes each), the most important first, without a hot-key report."""

    keys: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Digest:
    """A digest of the switch, of one that the control plane wants (`ControlPlane.digests`)."""

    name: str
    """As in P4Info, e.g. `hot_key_t`."""
    members: Mapping[str, int]
    """Its fields by name."""


@dataclass(frozen=True, slots=True)
class PacketIn:
    """A frame for the controller, Ethernet header first; the packet-in header is taken off."""

    ingress_port: int
    frame: bytes


@dataclass(frozen=True, slots=True)
class Saved:
    """`Save` number `save` is on disk, or could not be written: then what was there still is."""

    save: int
    ok: bool
    error: str = ""


@dataclass(frozen=True, slots=True)
class TableWritten:
    """The switch has carried out table write `write`, or refused it with an error."""

    write: int
    ok: bool
    error: str = ""


Event: TypeAlias = (
    Started | SwitchRestarted | Timer | Preload | Digest | PacketIn | TableWritten | Saved
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
    """Insert a table entry. Names are the full ones of P4Info (`NetkvIngress.lookup.cache`).

    `priority` is 0 for exact tables; ranges need one above 0 (larger wins, as in P4Runtime).
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
    """Make a clone session: clones of it leave through `port`."""

    write: int
    session: int
    port: int


@dataclass(frozen=True, slots=True)
class MulticastGroup:
    """Make a multicast group: a packet that is given to it leaves through each of `ports`."""

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
    """Send a frame by packet-out. `egress_port` 0: it runs through the pipeline as any other."""

    frame: bytes
    egress_port: int = 0


@dataclass(frozen=True, slots=True)
class Save:
    """Put these bytes in the place of what was saved before: all of it, or nothing, and durably.

    Answered by `Saved`, after a restart of the switch in its next session. What was saved outlives
    switch and controller. At most one is under way.
    """

    save: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Recovering:
    """The switch has lost its memory, and from now on it gets back what it had.

    `Recovered` ends it. Another `Recovering` means that the switch stopped meanwhile, or its
    controller did, and that all of it begins anew.
    """

    def describe(self) -> str:
        """For the list of events."""
        return "recovery begins"


@dataclass(frozen=True, slots=True)
class Recovered:
    """The switch had lost its memory, and is as before now: how long that took, by phase.

    `phases`: name and seconds, in order. `counts`: what was moved (records, keys, bytes …).
    """

    phases: tuple[tuple[str, float], ...]
    counts: Mapping[str, int]

    @property
    def seconds(self) -> float:
        """All phases together."""
        return sum(seconds for _, seconds in self.phases)

    def describe(self) -> str:
        """For the list of events: `recovered in 0.3 s: collect 0.1 s, restore 0.2 s (keys 12)`."""
        phases = ", ".join(f"{name} {seconds:.3g} s" for name, seconds in self.phases)
        counts = ", ".join(f"{name} {number}" for name, number in self.counts.items())
        text = f"recovered in {self.seconds:.3g} s"
        return text + (f": {phases}" if phases else "") + (f" ({counts})" if counts else "")


@dataclass(frozen=True, slots=True)
class Note:
    """Something worth an event in the run, with the numbers that belong to it."""

    what: str
    fields: Mapping[str, int | str] = field(default_factory=dict)

    def describe(self) -> str:
        """For the list of events: `tables ready` or `moved (key 3, row 5)`."""
        numbers = ", ".join(f"{name} {value}" for name, value in self.fields.items())
        return f"{self.what} ({numbers})" if numbers else self.what


TableWrite: TypeAlias = (
    InsertEntry | ModifyEntry | DeleteEntry | SetDefault | CloneSession | MulticastGroup
)
Elsewhere: TypeAlias = Save | Recovering | Recovered | Note
"""What is no matter of the switch."""
Action: TypeAlias = TableWrite | SendFrame | Elsewhere

# -------------------------------------------------------------------------- control plane


@runtime_checkable
class Caches(Protocol):
    """A control plane that keeps keys in the switch."""

    def cached_keys(self) -> list[bytes]: ...


@runtime_checkable
class KnowsClients(Protocol):
    """A control plane to which client processes say that they come and go."""

    def clients_present(self) -> list[int]:
        """The first client of each process that is there, as far as is known."""
        ...


class ControlPlane(ABC):
    """Takes events and returns actions; a subclass for each scheme that needs one.

    A subclass implements the `on_…` methods it cares about as generators; `handle` runs them to
    their end, so that no state change waits for a reader of the actions.
    """

    digests: ClassVar[tuple[str, ...]] = ()
    """Digests (P4Info names) that the driver must enable and turn into events (`Digest`)."""

    def handle(self, now: Nanoseconds, event: Event) -> list[Action]:
        """Take one event at time `now`; return what must happen next, in this order."""
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

    @abstractmethod
    def tables(self) -> Iterator[TableWrite]:
        """The writes that a switch with empty tables needs before the first request."""

    @abstractmethod
    def ready(self) -> bool:
        """True once the initial tables are in and every preloaded key is cached or given up."""

    def deadline(self) -> Nanoseconds | None:
        """When to send `Timer`, if nothing happens before; None if there is nothing to wait for."""
        return None

    def statistics(self) -> dict[str, int]:
        """Counters and gauges since the start, by name."""
        return {}

    def on_started(self, now: Nanoseconds, saved: bytes | None) -> Iterator[Action]:
        """The switch is up for the first time. Most schemes save nothing."""
        yield from self.tables()

    def on_switch_restarted(self, now: Nanoseconds) -> Iterator[Action]:
        """The switch is up again, empty."""
        yield from self.tables()

    def on_timer(self, now: Nanoseconds) -> Iterator[Action]:
        """`deadline()` has passed."""
        return iter(())

    def on_preload(self, now: Nanoseconds, keys: tuple[bytes, ...]) -> Iterator[Action]:
        """A scheme without a cache has nothing to preload."""
        return iter(())

    def on_digest(self, now: Nanoseconds, digest: Digest) -> Iterator[Action]:
        """One of `digests`; the scheme knows its fields."""
        return iter(())

    def on_packet_in(self, now: Nanoseconds, packet: PacketIn) -> Iterator[Action]:
        """A frame for the controller."""
        return iter(())

    def on_table_written(self, now: Nanoseconds, written: TableWritten) -> Iterator[Action]:
        """A table write has been answered."""
        return iter(())

    def on_saved(self, now: Nanoseconds, saved: Saved) -> Iterator[Action]:
        """A save has been answered."""
        return iter(())
