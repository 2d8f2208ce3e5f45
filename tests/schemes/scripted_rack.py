"""The driver of the protocol tests: real programs, tables and control planes in virtual time.

```
 host ── net ── switch ── net ── switch ── net ── host        switches: `_engine.Switch`, `Tables`
                   │ channel        │                          hosts: what has `receive(frame)`
                   └─ control plane ┘── disk
```

Rules
-----
1. A frame is a `Hop` on each cable. The test may lose it (`lost`), delay it (`delay`), or hold it
   (`catch`) and deliver it later, once or several times (`deliver`). Networks lose, duplicate and
   reorder frames at random, from one seed.
2. Accesses to the tables of a switch are carried out in order, in one pipeline after the other.
3. Frames and answers between a switch and the controller are lost with the session of either.
   Table writes that a killed controller has sent are still carried out, if the next controller
   does not empty the switch.
4. The controller may crash after any event or action (`steps_left`). The disk outlives it.
5. Checks that no real part makes: no entry number is in two lookup entries, no generation fills two
   entries, no message number is that of two messages.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import ClassVar, Generic, TypeAlias, TypeVar

from netkv import _engine
from netkv.control.base import (
    MILLISECOND,
    SECOND,
    Action,
    CloneSession,
    DeleteEntry,
    Digest,
    InsertEntry,
    ModifyEntry,
    MulticastGroup,
    Nanoseconds,
    Note,
    PacketIn,
    Preload,
    ReadTable,
    Recovered,
    Recovering,
    ResetSwitch,
    Save,
    Saved,
    SendFrame,
    SetDefault,
    Started,
    SwitchFound,
    SwitchLost,
    SwitchRestarted,
    TableRead,
    TableWrite,
    TableWritten,
    TopologyChanged,
)
from netkv.control.message_numbers import is_newer
from netkv.model.messages import Datagram, MalformedFrameError, Message, Op, decode
from netkv.model.network import Network as Plan
from netkv.model.network import SwitchPlan
from netkv.model.topology import CPU_PORT
from netkv.p4rt import entities, p4info
from netkv.p4rt.schema import Schema
from netkv.sim.tables import PACKET_HEADER_BYTES, Tables
from tests.p4programs.stf import packet_out
from tests.schemes.virtual_rack import Network, VirtualRack

MICROSECOND = 1000
CONTROLLER = "controller"
LOOKUP = "NetkvIngress.lookup.cache"
ANSWER_TIME: Nanoseconds = 50 * MICROSECOND
"""Time of the answer to an access to tables."""

Sessions: TypeAlias = tuple[int, int]
"""The numbers of a controller and of a session of a switch."""
T = TypeVar("T")


@dataclass(frozen=True)
class Hop:
    """A frame on a cable, or between switch and controller."""

    source: str
    """Name of a switch or host, or `controller`."""
    to: str
    port: int
    """Where it arrives; for packet-ins, where it arrived at the switch."""
    frame: bytes
    """Without headers of packet-in and packet-out."""
    sessions: Sessions = (0, 0)
    """It is lost if one of these has ended, if it is from or to the controller."""
    egress_port: int = 0
    """Of a packet-out."""

    @cached_property
    def datagram(self) -> Datagram:
        return decode(self.frame)

    @property
    def message(self) -> Message:
        return self.datagram.message

    @cached_property
    def op(self) -> Op | None:
        """None, if it is malformed."""
        return _engine.frame_op(self.frame)

    @property
    def sender(self) -> int:
        """The number of the host that has sent the request or gets the reply."""
        return self.message.sender


@cache
def _schema(bundle: bytes) -> Schema:
    return entities.Names(p4info.from_bundle(bundle)).schema


class Switch:
    """A switch with its program and tables."""

    def __init__(
        self, plan: SwitchPlan, bundle: bytes, pipelines: int = 1, executor: str = "compiled"
    ) -> None:
        self.name = plan.name
        self.plan = plan
        self._bundle = bundle
        self._schema = _schema(bundle)
        self.engine = _engine.Switch(bundle, 0, executor, pipelines)
        self.tables = Tables(self.engine, bundle)
        self.up = True
        self.connected = True
        """Whether the controller has a connection to it."""
        self.blank = True
        """Whether no controller has handled its present start."""
        self.session = 0
        """Number of its starts and stops, and of its connections to the controller."""
        self.busy_until: Nanoseconds = 0
        """When all accesses to its tables so far are carried out."""

    def restart(self) -> None:
        """Load the program again: all tables and registers are empty."""
        self.engine.load(self._bundle)
        self.session += 1
        self.up = self.connected = self.blank = True

    def stop(self) -> None:
        """The switch is down."""
        self.session += 1
        self.up = False

    def process(self, port: int, frame: bytes, egress_port: int = 0) -> list[tuple[int, bytes]]:
        """Process a frame; return the port and the frame of each one that leaves."""
        header = packet_out(egress_port) if port == CPU_PORT else b""
        return self.engine.process(port, header + frame)

    def write(self, write: TableWrite, pipeline: int) -> str:
        """Carry out a table write in a pipeline; return the reason if it is refused."""
        reason = self.tables.carry_out(write, pipeline)
        if not reason and isinstance(write, InsertEntry | ModifyEntry) and write.table == LOOKUP:
            self.check_lookup(pipeline)
        return reason

    def check_lookup(self, pipeline: int) -> None:
        """No two lookup entries share an entry number, which a real switch would not detect."""
        numbers = [params["entry"] for params in self.lookup(pipeline).values()]
        assert len(numbers) == len(set(numbers)), "an entry number for two keys"

    def set_register(self, name: str, value: bytes) -> None:
        """Set all cells of a register."""
        self.engine.write_register(self._schema.registers.named(name).id, None, value)

    def register(self, name: str) -> bytes:
        """The first cell of a register."""
        ((_, value),) = self.engine.read_register(self._schema.registers.named(name).id, 0)
        return value

    def size(self, table: str, pipeline: int = 0) -> int:
        """The number of entries of a table."""
        found = self.engine.read_entries(self._schema.tables.named(table).id, pipeline=pipeline)
        return len(found)

    def rows(self, table: str, pipeline: int = 0) -> dict[int, tuple[str, Mapping[str, int]]]:
        """Key → action and parameters of the entries of a table with one exact key."""
        read = self.tables.read(ReadTable(0, table), self.name, pipeline)
        assert not read.error, read.error
        found = {}
        for each in read.entries:
            (key,) = each.match.values()
            assert isinstance(key, int)
            found[key] = (each.action, each.params)
        return found

    def default(self, table: str, pipeline: int = 0) -> Mapping[str, int]:
        """The parameters of the default action of a table."""
        read = self.tables.read(ReadTable(0, table), self.name, pipeline)
        assert read.default is not None, read.error
        return read.default.params

    def lookup(self, pipeline: int = 0) -> dict[bytes, Mapping[str, int]]:
        """The parameters of each key in its lookup table."""
        return {
            key.to_bytes(16): params for key, (_, params) in self.rows(LOOKUP, pipeline).items()
        }

    def ask(self, message: bytes) -> Message:
        """The reply to a message of the controller that only the switch answers."""
        ((port, frame),) = self.process(CPU_PORT, message)
        assert port == CPU_PORT
        return decode(frame[PACKET_HEADER_BYTES:]).message


S = TypeVar("S", bound=Switch)


class ScriptedRack(VirtualRack, Generic[S]):
    """Runs a control plane over the switches of a network."""

    empties_switches: ClassVar[bool] = True
    """Whether a new controller loads the programs of the switches again."""
    numbers_are_unique: ClassVar[bool] = True
    """Whether no number of a message to a switch is used again, not even after a restart."""
    refills: ClassVar[bool] = False
    """Whether a restarted switch gets the entries of its earlier session again."""

    net: Network
    """Of each cable."""
    channel: Network
    """Between each switch and the controller."""
    pipeline_time: Nanoseconds | None = None
    """Time of a table access in one pipeline; None: random, up to 100 us."""
    save_time: Nanoseconds = MILLISECOND

    def set_up(self, network: Plan, make: Callable[[SwitchPlan], S], seed: int) -> None:
        """Lay out the switches; `make` makes each of them."""
        self.begin(seed)
        self.steps_left = None
        self.network = network
        self.topology = network.switches[0].topology
        self.switches = {plan.name: make(plan) for plan in network.switches}
        self.hosts: dict[str, Callable[[bytes], None]] = {}
        """What gets the frames of each server and client, by their names in the network."""
        self.homes = {at.name: (at.switch, at.host.port) for at in network.hosts}
        self._peers = network.peers()
        self.events: list[Note | Recovering | Recovered] = []
        """What the controller has reported."""
        self.sent: list[Hop] = []
        """The packet-outs of all controllers."""
        self.disk: bytes | None = None
        self.disk_fails = False
        self.lost: Callable[[Hop], bool] = lambda _: False
        """Frames that are lost, in addition to random losses."""
        self.delay: Callable[[Hop], Nanoseconds] = lambda _: 0
        """By how much a frame is late, in addition to random delays."""
        self.catches: Callable[[Hop], bool] = lambda _: False
        """Frames that are not delivered but added to `caught`."""
        self.caught: list[Hop] = []
        self.refuse: Callable[[TableWrite], bool] = lambda _: False
        """Table writes that the switch refuses."""
        self.reroutes: Callable[[str], bool] = lambda _: True
        """Switches whose routes follow those that are in service."""
        self._controllers = 0
        self._generations: dict[tuple[str, int], bytes] = {}
        self._filled: dict[tuple[str, int, int], int] = {}
        self._numbers: dict[tuple[str, int], bytes] = {}

    # --------------------------------------------------------------------------- queries

    @property
    def switch(self) -> S:
        """The first switch."""
        return next(iter(self.switches.values()))

    @property
    def notes(self) -> list[Note]:
        """The notes of the controller."""
        return [event for event in self.events if isinstance(event, Note)]

    def noted(self) -> list[str]:
        """The texts of the notes of the controller."""
        return [note.what for note in self.notes]

    @property
    def recoveries(self) -> list[Recovered]:
        """The recoveries that have ended."""
        return [event for event in self.events if isinstance(event, Recovered)]

    # --------------------------------------------------------------------------- driving

    def start_controller(self, preload: Iterable[bytes] = ()) -> None:
        """Start the controller with what is on the disk, and report the switches that are up."""
        self.handle(Started(self.disk))
        for switch in self.switches.values():
            if switch.up and switch.connected:
                self.greet(switch)
        if preload := tuple(preload):
            self.handle(Preload(preload))

    def greet(self, switch: S) -> None:
        """Report a switch to the controller, after a start of either. A single switch is empty when
        its controller starts."""
        if self.controller_down:
            return
        blank, switch.blank = switch.blank, False
        if len(self.switches) > 1:
            self.handle(SwitchRestarted(switch.name) if blank else SwitchFound(switch.name))

    def stop_switch(self, switch: S, *, noticed: bool = True) -> None:
        """A switch loses its state. `noticed`: whether the controller learns it at once."""
        switch.stop()
        if noticed:
            self.handle(SwitchLost(switch.name))

    def start_switch(self, switch: S) -> None:
        """A switch runs again, empty."""
        switch.restart()
        if not self.controller_down:
            switch.blank = False
            self.handle(SwitchRestarted(switch.name))

    def disconnect(self, switch: S) -> None:
        """The controller loses its connection to a switch, which runs on."""
        switch.connected = False
        switch.session += 1
        self.handle(SwitchLost(switch.name))

    def end_controller(self, *first: str) -> None:
        """End the controller and all that is between it and the switches. Table writes that it has
        sent arrive. `first`: the switches to which the next one has a connection; none named: all.
        """
        self.controller_down = True
        waiting, self._queue = self._queue, []
        for time, _, call in sorted(waiting, key=lambda it: it[:2]):
            if isinstance(call, partial) and call.func == self._access_pipeline:
                call()
            else:
                self.after(max(time - self.now, 0), call)
        self._controllers += 1
        for switch in self.switches.values():
            switch.connected = not first or switch.name in first
            if self.empties_switches and switch.up and switch.connected:
                switch.restart()
        self.steps_left = None
        self.controller_down = False

    def run_until_step(self, step: int) -> None:
        """Run until the controller has handled or emitted so many events and actions."""
        end = self.now + 60 * SECOND
        while self.steps < step:
            assert self.now < end, f"only {self.steps} of {step} steps"
            self.run(10 * MICROSECOND)

    def reroute(self, down: Collection[str]) -> None:
        """Tell the controller the routes for the time when these switches are out of service."""
        for plan in self.network.without(down).switches:
            if self.switches[plan.name].up and self.reroutes(plan.name):
                self.handle(TopologyChanged(plan.topology, plan.name))

    # ---------------------------------------------------------------------------- frames

    def send(self, host: str, frame: bytes) -> None:
        """A host sends a frame."""
        self.travel_hop(self.net, Hop(host, *self.homes[host], frame))

    def travel_hop(self, network: Network, hop: Hop) -> None:
        """A frame is on its way, unless the test catches it."""
        if self.catches(hop):
            self.caught.append(hop)
            return

        def arrive() -> None:
            if late := self.delay(hop):
                self.after(late, partial(self.deliver, hop))
            else:
                self.deliver(hop)

        self.travel(network, arrive, lambda: self.lost(hop))

    def catch(self, which: Callable[[Hop], bool]) -> list[Hop]:
        """Hold frames from now on; returns the list that they are added to."""
        self.catches, self.caught = which, []
        return self.caught

    def release(self, *hops: Hop) -> None:
        """Deliver frames that were caught (none named: all of them), in order."""
        self.catches = lambda _: False
        if not hops:
            hops, self.caught = tuple(self.caught), []
        for hop in hops:
            self.deliver(hop)

    def deliver(self, hop: Hop) -> None:
        """Deliver a frame, which may have been held."""
        if hop.to == CONTROLLER:
            if hop.sessions == self.sessions(self.switches[hop.source]):
                self.handle(PacketIn(hop.port, hop.frame, hop.source))
        elif hop.to in self.switches:
            switch = self.switches[hop.to]
            stale = hop.source == CONTROLLER and hop.sessions != self.sessions(switch)
            if switch.up and not stale:
                self._process(switch, hop)
        elif hop.to in self.hosts:
            self.hosts[hop.to](hop.frame)

    def _process(self, switch: Switch, hop: Hop) -> None:
        for port, frame in switch.process(hop.port, hop.frame, hop.egress_port):
            self._leave(switch, hop, port, frame)
        for digest in switch.engine.take_digests():
            sessions, found = self.sessions(switch), switch.tables.digest(digest, switch.name)
            self.travel(self.channel, partial(self._on_digest, switch, sessions, found))

    def _leave(self, switch: Switch, cause: Hop, port: int, frame: bytes) -> None:
        """A frame leaves a switch because of another one that has arrived."""
        if port == CPU_PORT:
            if not switch.connected:
                return
            header, frame = frame[:PACKET_HEADER_BYTES], frame[PACKET_HEADER_BYTES:]
            ingress = int.from_bytes(header) >> 7
            hop = Hop(switch.name, CONTROLLER, ingress, frame, self.sessions(switch))
            self.travel_hop(self.channel, hop)
            return
        end = self._peers.get((switch.name, port), (switch.plan.ports.get(port, ""), 0))
        hop = Hop(switch.name, *end, frame)
        try:
            self.on_left(cause, hop)
        except MalformedFrameError:
            return  # whoever gets it drops it
        self.travel_hop(self.net, hop)

    def on_left(self, cause: Hop, hop: Hop) -> None:
        """A frame leaves a switch towards another node because of one that has arrived."""

    def _on_digest(self, switch: Switch, sessions: Sessions, digest: Digest) -> None:
        if sessions == self.sessions(switch):
            self.handle(digest)

    def sessions(self, switch: Switch) -> Sessions:
        """The present sessions of the controller and of a switch."""
        return self._controllers, switch.session

    # --------------------------------------------------------------------------- actions

    def carry_out(self, action: Action) -> None:
        match action:
            case Note() | Recovering() | Recovered():
                self.events.append(action)
            case SendFrame(frame, egress_port, name):
                switch = self.switches[name] if name else self.switch
                if not switch.connected:
                    return
                sessions = self.sessions(switch)
                hop = Hop(CONTROLLER, switch.name, CPU_PORT, frame, sessions, egress_port)
                self._check_message(hop)
                self.sent.append(hop)
                self.travel_hop(self.channel, hop)
            case Save(save, data):
                self._save(save, data)
            case ResetSwitch(name):
                self.after(MILLISECOND, partial(self._reset, self.switches[name]))
            case (
                ReadTable()
                | InsertEntry()
                | ModifyEntry()
                | DeleteEntry()
                | SetDefault()
                | CloneSession()
                | MulticastGroup()
            ):
                self._access(action)
            case _:
                raise AssertionError(f"unexpected: {action}")

    def _check_message(self, hop: Hop) -> None:
        message = hop.message
        if self.numbers_are_unique and message.op % 2 == 0:  # a reply has the number of its request
            known = self._numbers.setdefault((hop.to, message.request), hop.frame)
            assert known == hop.frame, "a message number for two messages"
        if message.op is Op.FILL:
            self._check_fill(hop, message)

    def _check_fill(self, hop: Hop, fill: Message) -> None:
        assert fill.stamp is not None
        assert fill.slot is not None
        generation, entry = fill.stamp.generation, (hop.to, hop.sessions[1], fill.slot.entry)
        if is_newer(generation, self._filled.get(entry, 0)):
            self._filled[entry] = generation
            known = self._generations.get((hop.to, generation))
            again = self.refills and known == fill.key
            assert known is None or again, "a generation used twice"
            self._generations[hop.to, generation] = fill.key

    def _reset(self, switch: S) -> None:
        if switch.up:
            switch.restart()
            self.greet(switch)

    def _save(self, save: int, data: bytes) -> None:
        def saved() -> None:
            ok = not self.disk_fails
            if ok:
                self.disk = data
            if self.control is control and not self.controller_down:
                self.handle(Saved(save, ok, "" if ok else "the disk is full"))

        control = self.control
        self.after(self.save_time, saved)

    def _access(self, action: TableWrite | ReadTable) -> None:
        switch = self.switches[action.switch] if action.switch else self.switch
        if not switch.connected:
            return
        refused = not isinstance(action, ReadTable) and self.refuse(action)
        switch.busy_until = max(switch.busy_until, self.now)
        for pipeline in range(switch.tables.pipelines):
            any_time = self.random.randrange(1, 100 * MICROSECOND)
            switch.busy_until += self.pipeline_time or any_time
            call = partial(
                self._access_pipeline, switch, action, self.sessions(switch), pipeline, refused
            )
            self.after(switch.busy_until - self.now, call)

    def _access_pipeline(
        self,
        switch: S,
        action: TableWrite | ReadTable,
        sessions: Sessions,
        pipeline: int,
        refused: bool,
    ) -> None:
        if sessions != self.sessions(switch) or not switch.up:
            return
        answer: TableRead | TableWritten
        if isinstance(action, ReadTable):
            answer = switch.tables.read(action, switch.name)
        else:
            error = "refused by the test" if refused else self.apply(switch, action, pipeline)
            answer = TableWritten(action.write, not error, error, switch.name)
        if pipeline == switch.tables.pipelines - 1:
            self.after(ANSWER_TIME, partial(self._on_answer, switch, sessions, answer))

    def apply(self, switch: S, write: TableWrite, pipeline: int) -> str:
        """A switch carries out a table write in a pipeline; returns the reason if it refuses it."""
        error = switch.write(write, pipeline)
        assert not error, error
        return error

    def _on_answer(
        self, switch: Switch, sessions: Sessions, answer: TableRead | TableWritten
    ) -> None:
        if sessions == self.sessions(switch) and not self.controller_down:
            self.handle(answer)


def key_of(number: int) -> bytes:
    """A key of 16 bytes."""
    return zlib.crc32(number.to_bytes(4)).to_bytes(4) + number.to_bytes(12)


def observing(watch: Callable[[T], None]) -> Callable[[T], bool]:
    """A function for `refuse`, `lost` and `catches` that calls `watch` and returns False."""

    def observed(value: T) -> bool:
        watch(value)
        return False

    return observed
