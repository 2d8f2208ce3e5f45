"""A test rack for DistReach's control plane, in virtual time and from one seed.

The chains run p4/distreach on netkv's engine. The servers are those of FarReach's rack, the clients
follow docs/schemes/distreach.md. Networks lose, duplicate and reorder frames; a test may also hold
single frames and deliver them later, once or several times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import ClassVar

from netkv import _engine, resources
from netkv.control.base import (
    MILLISECOND,
    SECOND,
    Action,
    CloneSession,
    DeleteEntry,
    Event,
    InsertEntry,
    ModifyEntry,
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
from netkv.model.messages import (
    Bit,
    Datagram,
    MalformedFrameError,
    Message,
    Op,
    Slot,
    Stamp,
    Status,
    decode,
    encode,
)
from netkv.model.network import SwitchPlan, spine_leaf
from netkv.model.topology import CPU_PORT
from netkv.p4rt import entities, p4info
from netkv.schemes.distreach.chain_switch import SETTINGS, Mode
from netkv.schemes.distreach.control_plane import DistReach
from netkv.schemes.distreach.parameters import DistReachParameters
from netkv.sim.tables import PACKET_HEADER_BYTES, Tables
from tests.p4programs.defects import Patch
from tests.schemes.distreach.programs.chain import program
from tests.schemes.farreach.farreach_hosts import (
    AnswerChecker,
    ClientProcess,
    PendingRequest,
    Shim,
)
from tests.schemes.farreach.farreach_operations import Operations
from tests.schemes.virtual_rack import Network

MICROSECOND = 1000
LOOKUP = "NetkvIngress.lookup.cache"
CONTROLLER = "controller"
OPTIONS = DistReachParameters(
    capacity=8, sample_rate=1.0, hot_threshold=1000, epoch=100 * MILLISECOND, drawn=8
)


class System(DistReach):
    """The control plane, and the programs of the switches that it controls."""

    upper: ClassVar[Patch | None] = None
    """A defect of the program of all switches of a chain but the last."""
    tail: ClassVar[Patch | None] = None
    """A defect of the program of the last switch of a chain."""


@cache
def _edge() -> bytes:
    """The program of a switch of clients, compiled."""
    forwarding = resources.programs()["forwarding"]
    return _engine.compile_p4(str(forwarding), [str(resources.path("p4"))])


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
    sessions: tuple[int, ...] = ()
    """Numbers of the restarts after which it is lost."""

    @property
    def datagram(self) -> Datagram:
        return decode(self.frame)

    @property
    def op(self) -> Op:
        return self.datagram.message.op

    @property
    def sender(self) -> int:
        """The number of the client that has sent the request or gets the reply."""
        return self.datagram.message.sender


class Client(ClientProcess):
    """A client of DistReach: it learns the incarnation from any answer, and keeps no copies."""

    def _answered(self, pending: PendingRequest, reply: Message) -> None:
        assert reply.stamp is not None
        if reply.stamp.incarnation:
            self._learn(reply.stamp.incarnation)
        if reply.status is Status.UNKNOWN:
            self.unknown += 1
            return
        pending.reply = reply
        self.checker.check_answer(pending.message, pending.known, reply)


class Server(Shim):
    """A server, whose refusal of a write has the incarnation of the chain."""

    def _serve(self, message: Message) -> Message:
        reply = super()._serve(message)
        if reply.status is Status.UNKNOWN:
            assert message.stamp is not None
            reply = replace(reply, stamp=Stamp(message.stamp.incarnation))
        return reply


class Switch:
    """A switch and its tables."""

    def __init__(self, plan: SwitchPlan, bundle: bytes) -> None:
        self.name = plan.name
        self.plan = plan
        self._bundle = bundle
        self._engine = _engine.Switch(bundle)
        self.tables = Tables(self._engine, bundle)
        self.up = True
        self.mode = Mode.CLOSED
        self.blank = True
        """Whether no controller has handled its present start."""
        self.session = 0
        """Number of its starts and stops so far."""
        self.busy_until: Nanoseconds = 0

    def restart(self) -> None:
        """Load the program again: all tables and registers are empty."""
        self._engine.load(self._bundle)
        self.session += 1
        self.mode = Mode.CLOSED
        self.up = self.blank = True

    def stop(self) -> None:
        """The switch is down."""
        self.session += 1
        self.up = False

    def process(self, port: int, frame: bytes) -> list[tuple[int, bytes]]:
        """Process a frame; return the port and the frame of each one that leaves."""
        header = bytes(PACKET_HEADER_BYTES) if port == CPU_PORT else b""
        return self._engine.process(port, header + frame)

    def write(self, write: TableWrite) -> str:
        """Carry out a table write; return the reason if it is refused. A real switch would not
        detect that an open switch has an entry number in two lookup entries."""
        if isinstance(write, SetDefault) and write.table == SETTINGS:
            self.mode = Mode(write.params["mode"])
        is_lookup = isinstance(write, InsertEntry | ModifyEntry) and write.table == LOOKUP
        if is_lookup and self.mode is Mode.OPEN:
            assert isinstance(write, InsertEntry | ModifyEntry)
            (key,) = write.match.values()
            others = (at for other, at in self.lookup().items() if int.from_bytes(other) != key)
            number = write.params["entry"]
            assert number not in (entry for entry, _ in others), "an entry number for two keys"
        return self.tables.carry_out(write, 0)

    def count_from(self, number: int) -> None:
        """Set the last sequence number of all counters."""
        schema = entities.Names(p4info.from_bundle(self._bundle)).schema
        counters = schema.registers.named("NetkvEgress.sequence.counters").id
        self._engine.write_register(counters, None, number.to_bytes(4))

    def lookup(self) -> dict[bytes, tuple[int, int]]:
        """Entry and generation of each key in its lookup table."""
        read = self.tables.read(ReadTable(0, LOOKUP), self.name)
        return {
            int(str(it.match["key"])).to_bytes(16): (it.params["entry"], it.params["generation"])
            for it in read.entries
        }

    def record(self, key: bytes) -> Message | None:
        """The reply to LOAD of a key; None if the key is not in its lookup table."""
        if key not in (lookup := self.lookup()):
            return None
        entry, generation = lookup[key]
        load = Message(Op.LOAD, key, stamp=Stamp(generation=generation), slot=Slot(entry))
        ((_, frame),) = self.process(CPU_PORT, encode(load))
        return decode(frame[PACKET_HEADER_BYTES:]).message


@dataclass
class Rack(Operations):
    """Clients at `edge-0`, layers of switches, servers below the last one, and a controller.

    `width`: switches in a layer. With one there is no way around a switch that is down.
    """

    control: DistReach = field(init=False)

    system: type[System] = System
    layers: int = 2
    width: int = 1
    seed: int = 0
    parameters: DistReachParameters = OPTIONS
    net: Network = field(default_factory=lambda: Network(max_delay=100 * MICROSECOND))
    channel: Network = field(default_factory=lambda: Network(max_delay=200 * MICROSECOND))

    def __post_init__(self) -> None:
        self.begin(self.seed)
        self.steps_left = None
        self.network = spine_leaf(self.layers, self.width, clients=2, servers=2 * self.width)
        self.topology = self.network.switches[0].topology
        self.checker = AnswerChecker()
        bundles = {
            "clients": _edge(),
            "between": program("upper", self.system.upper),
            "servers": program("tail", self.system.tail),
        }
        self.switches = {
            plan.name: Switch(plan, bundles[plan.tier]) for plan in self.network.switches
        }
        self._peers = self.network.peers()
        self._homes = {at.name: (at.switch, at.host.port) for at in self.network.hosts}
        self.processes: dict[int, ClientProcess] = {
            index: self.new_process(index) for index in (1, 2)
        }
        self.shims: dict[int, Shim] = {
            host.index: Server(
                host, self._from(f"server-{host.index}"), self.after, lambda: self.now
            )
            for host in self.topology.servers
        }
        self.events: list[Note | Recovering | Recovered] = []
        self.disk: bytes | None = None
        self.disk_fails = False
        self.save_time: Nanoseconds = MILLISECOND
        self.lost: Callable[[Hop], bool] = lambda _: False
        """Frames that are lost, in addition to random losses."""
        self.catches: Callable[[Hop], bool] = lambda _: False
        """Frames that are not delivered but added to `caught`."""
        self.caught: list[Hop] = []
        self.refuse: Callable[[TableWrite], bool] = lambda _: False
        self._controllers = 0
        self._down: frozenset[str] = frozenset()
        self.reroutes: Callable[[str], bool] = lambda _: True
        """Switches whose routes follow those that are in service."""
        self._rerouting = False
        self._in_service = False
        """Whether all switches have been in service: before, the routes stay as they are."""
        self.control = self.system(self.network, self.parameters)

    def new_process(self, index: int, first_request: int = 1) -> ClientProcess:
        """A client process."""
        send = self._from(f"client-{index}")
        return Client(index, send, self.after, self.checker, first_request, now=lambda: self.now)

    # --------------------------------------------------------------------------- queries

    def chain(self, key: bytes) -> list[Switch]:
        """The switches of the chain of a key, from the head to the tail."""
        home, _ = self._homes[f"server-{self.topology.owner(key).index}"]
        position = self.network.positions[home]
        return [
            self.switches[name] for name, at in self.network.positions.items() if at == position
        ]

    def notes(self) -> list[str]:
        """What the controller has reported."""
        return [event.what for event in self.events if isinstance(event, Note)]

    def put(self, client: int, key: bytes, value: bytes) -> Message:
        """The reply to a write. The first write of a client after a loss may be answered with
        "unknown"; then the client writes again, and knows the incarnation."""
        return self._written(client, Op.PUT, key, value)

    def delete(self, client: int, key: bytes) -> Message:
        """The reply to a deletion, likewise."""
        return self._written(client, Op.DELETE, key, b"")

    def _written(self, client: int, op: Op, key: bytes, value: bytes) -> Message:
        unknown = self.processes[client].unknown
        reply = self.run_operation(client, op, key, value).reply
        if reply is None and self.processes[client].unknown > unknown:
            reply = self.run_operation(client, op, key, value).reply
        assert reply is not None, "the write got no answer"
        return reply

    # --------------------------------------------------------------------------- driving

    def start(self, *, preload: Iterable[bytes] = ()) -> Rack:
        """Start all switches and the controller."""
        self._begin()
        if preload := tuple(preload):
            self.handle(Preload(preload))
        self.run_until(self.control.ready)
        return self

    def _begin(self) -> None:
        self.handle(Started(self.disk))
        for switch in self.switches.values():
            if switch.up and not self.controller_down:
                self._greet(switch)

    def _greet(self, switch: Switch) -> None:
        blank, switch.blank = switch.blank, False
        self.handle(SwitchRestarted(switch.name) if blank else SwitchFound(switch.name))

    def stop_switch(self, switch: Switch, *, noticed: bool = True) -> None:
        """A switch loses its state. `noticed`: whether the controller learns it at once."""
        switch.stop()
        if noticed:
            self.handle(SwitchLost(switch.name))

    def start_switch(self, switch: Switch) -> None:
        """A switch runs again, empty."""
        switch.restart()
        if not self.controller_down:
            self._greet(switch)

    def crash_switch(self, *switches: Switch) -> None:
        """Switches lose their state at the same time, and run again at once."""
        for switch in switches:
            self.stop_switch(switch, noticed=False)
        for switch in switches:
            self.start_switch(switch)

    def replace_controller(self) -> None:
        """A new controller continues; table writes of the earlier one arrive before its own."""
        self.controller_down = True
        waiting, self._queue = self._queue, []
        for time, _, call in sorted(waiting, key=lambda it: it[:2]):
            if isinstance(call, partial) and call.func == self._table_access:
                call()
            else:
                self.after(max(time - self.now, 0), call)
        self._controllers += 1
        self.steps_left = None
        self.controller_down = False
        self.control = self.system(self.network, self.parameters)
        self._down = frozenset()
        self._begin()

    def run_until_step(self, step: int) -> None:
        """Run until the controller has handled or emitted so many events and actions."""
        end = self.now + 60 * SECOND
        while self.steps < step:
            assert self.now < end, f"only {self.steps} of {step} steps"
            self.run(10 * MICROSECOND)

    def recover(self) -> None:
        """Run until the controller has ended all recoveries."""
        self.run_until(self.control.ready)

    # ---------------------------------------------------------------------------- frames

    def deliver(self, hop: Hop) -> None:
        """Deliver a frame, which may have been held."""
        if hop.to == CONTROLLER:
            if hop.sessions == self._sessions(hop.source):
                self.handle(PacketIn(hop.port, hop.frame, hop.source))
        elif hop.to in self.switches:
            switch = self.switches[hop.to]
            stale = hop.source == CONTROLLER and hop.sessions != self._sessions(hop.to)
            if switch.up and not stale:
                for port, frame in switch.process(hop.port, hop.frame):
                    self._leave(switch, hop, port, frame)
        else:
            kind, number = hop.to.split("-")
            host = (self.processes if kind == "client" else self.shims)[int(number)]
            host.receive(hop.datagram)

    def release(self, *hops: Hop) -> None:
        """Deliver frames that were caught (none named: all of them), in order."""
        self.catches = lambda _: False
        if not hops:
            hops, self.caught = tuple(self.caught), []
        for hop in hops:
            self.deliver(hop)

    def catch(self, which: Callable[[Hop], bool]) -> list[Hop]:
        """Hold frames from now on; returns the list that they are added to."""
        self.catches, self.caught = which, []
        return self.caught

    def _from(self, host: str) -> Callable[[Datagram], None]:
        def send(datagram: Datagram) -> None:
            switch, port = self._homes[host]
            frame = encode(datagram.message, datagram.source, datagram.destination)
            self._travel(self.net, Hop(host, switch, port, frame))

        return send

    def _leave(self, switch: Switch, cause: Hop, port: int, frame: bytes) -> None:
        """A frame leaves a switch because of another one that has arrived."""
        if port == CPU_PORT:
            packet, sessions = frame[PACKET_HEADER_BYTES:], self._sessions(switch.name)
            hop = Hop(switch.name, CONTROLLER, cause.port, packet, sessions)
            self._travel(self.channel, hop)
            return
        end = self._peers.get((switch.name, port), (switch.plan.ports[port], 0))
        hop = Hop(switch.name, *end, frame)
        try:
            message = hop.datagram.message
        except MalformedFrameError:
            return  # whoever gets it drops it
        self._record_sequence(cause, message)
        self._travel(self.net, hop)

    def _record_sequence(self, cause: Hop, left: Message) -> None:
        """A write that a switch forwards or answers has a sequence."""
        stamp = left.stamp
        answered = left.cache_hit and left.op in (Op.PUT_REPLY, Op.DELETE_REPLY)
        if (left.op in (Op.PUT, Op.DELETE) or answered) and stamp is not None and stamp.number:
            request = cause.datagram.message
            if request.op in (Op.PUT, Op.DELETE):
                sequence = stamp.incarnation, stamp.number
                self.checker.record_sequence(request.key, request.value, sequence)

    def _travel(self, network: Network, hop: Hop) -> None:
        if self.catches(hop):
            self.caught.append(hop)
        else:
            self.travel(network, lambda: self.deliver(hop), lambda: self.lost(hop))

    def _sessions(self, switch: str) -> tuple[int, ...]:
        return self._controllers, self.switches[switch].session

    # --------------------------------------------------------------------------- actions

    def handle(self, event: Event) -> None:
        """Pass an event to the control plane; routes follow the switches that are in service."""
        super().handle(event)
        if self.width > 1 and not self.controller_down and not self._rerouting:
            self._rerouting = True
            self.after(100 * MICROSECOND, self._reroute)

    def _reroute(self) -> None:
        self._rerouting = False
        if self.controller_down:
            return
        serves = self.control.switch_ready
        out = (it.name for it in self.switches.values() if not (it.up and serves(it.name)))
        down = frozenset(out)
        self._in_service |= not down
        if not self._in_service or down == self._down:
            return
        self._down = down
        for plan in self.network.without(down).switches:
            if self.switches[plan.name].up and self.reroutes(plan.name):
                self.handle(TopologyChanged(plan.topology, plan.name))

    def carry_out(self, action: Action) -> None:
        match action:
            case Note() | Recovering() | Recovered():
                self.events.append(action)
            case SendFrame(frame, _, name):
                hop = Hop(CONTROLLER, name, CPU_PORT, frame, self._sessions(name))
                self._travel(self.channel, hop)
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
            ):
                self._access(action)
            case _:
                raise AssertionError(f"unexpected: {action}")

    def _reset(self, switch: Switch) -> None:
        if switch.up:
            switch.restart()
            if not self.controller_down:
                self._greet(switch)

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
        """Accesses to a switch are carried out in order."""
        switch = self.switches[action.switch]
        # Frames before a write are sent before it, and have arrived as a rule.
        switch.busy_until = max(switch.busy_until, self.now) + 20 * MICROSECOND
        call = partial(self._table_access, switch, action, self._sessions(switch.name))
        self.after(switch.busy_until - self.now, call)

    def _table_access(
        self, switch: Switch, action: TableWrite | ReadTable, sessions: tuple[int, ...]
    ) -> None:
        if sessions != self._sessions(switch.name) or not switch.up:
            return
        answer: TableRead | TableWritten
        if isinstance(action, ReadTable):
            answer = switch.tables.read(action, switch.name)
        else:
            refused = self.refuse(action)
            error = "refused by the test" if refused else switch.write(action)
            # A recovery also deletes lookup entries that the switch has refused.
            assert refused or not error or getattr(action, "table", "") == LOOKUP, error
            answer = TableWritten(action.write, not error, error, switch.name)

        def answered() -> None:
            if sessions == self._sessions(switch.name) and not self.controller_down:
                self.handle(answer)

        self.after(50 * MICROSECOND, answered)


def dirty(record: Message | None) -> bool:
    """Whether the reply to LOAD has a record that the server may lack."""
    return bool(record and record.stamp and record.stamp.bits & Bit.DIRTY)


def latest(record: Message | None) -> bool:
    """Whether the reply to LOAD has a record that counts as the latest one."""
    return bool(record and record.stamp and record.stamp.bits & Bit.LATEST)
