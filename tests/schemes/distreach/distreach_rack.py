"""A test rack for DistReach: clients at `edge-0`, chains of p4/distreach, and a controller.

The servers are those of FarReach, the clients follow docs/schemes/distreach.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import ClassVar

from netkv import _engine, resources
from netkv.control.base import Event, SetDefault, TableWrite
from netkv.kits.write_back.parameters import WriteBackParameters
from netkv.model.messages import Bit, Message, Op, Slot, Stamp, Status, encode
from netkv.model.network import spine_leaf
from netkv.schemes.distreach.chain_switch import SETTINGS, Mode
from netkv.schemes.distreach.control_plane import DistReach
from netkv.schemes.distreach.options import DistReachOptions
from tests.p4programs.defects import Patch
from tests.schemes import scripted_rack
from tests.schemes.configuration import Configuration
from tests.schemes.distreach.programs.chain import program
from tests.schemes.scripted_rack import LOOKUP, MICROSECOND
from tests.schemes.virtual_rack import Network
from tests.schemes.write_back_hosts import ClientProcess, PendingRequest, Shim
from tests.schemes.write_back_rack import WriteBackRack

CONFIGURATION = Configuration(
    DistReachOptions(cache_entries=8, sample_rate=1.0, hot_threshold=1000, epoch=0.1),
    WriteBackParameters(drawn=8),
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


class Switch(scripted_rack.Switch):
    """A switch of a chain, or of clients."""

    mode = Mode.CLOSED

    def restart(self) -> None:
        super().restart()
        self.mode = Mode.CLOSED

    def write(self, write: TableWrite, pipeline: int) -> str:
        if isinstance(write, SetDefault) and write.table == SETTINGS:
            self.mode = Mode(write.params["mode"])
        return super().write(write, pipeline)

    def check_lookup(self, pipeline: int) -> None:
        # A recovery changes the entries one after the other.
        if self.mode is Mode.OPEN:
            super().check_lookup(pipeline)

    def count_from(self, number: int) -> None:
        """Set the last sequence number of all counters."""
        self.set_register("NetkvEgress.sequence.counters", number.to_bytes(4))

    def record(self, key: bytes) -> Message | None:
        """The reply to LOAD of a key; None if the key is not in its lookup table."""
        if (at := self.lookup().get(key)) is None:
            return None
        stamp, slot = Stamp(generation=at["generation"]), Slot(at["entry"])
        return self.ask(encode(Message(Op.LOAD, key, stamp=stamp, slot=slot)))


@dataclass
class Rack(WriteBackRack[Switch]):
    """Clients at `edge-0`, layers of switches, servers below the last one, and a controller.

    `width`: switches in a layer. With one there is no way around a switch that is down.
    """

    client_type = Client
    shim_type = Server
    empties_switches = False
    refills = True
    pipeline_time = 20 * MICROSECOND

    control: DistReach = field(init=False)

    system: type[System] = System
    layers: int = 2
    width: int = 1
    seed: int = 0
    configuration: Configuration[DistReachOptions, WriteBackParameters] = CONFIGURATION
    net: Network = field(default_factory=lambda: Network(max_delay=100 * MICROSECOND))
    channel: Network = field(default_factory=lambda: Network(max_delay=200 * MICROSECOND))

    def __post_init__(self) -> None:
        network = spine_leaf(self.layers, self.width, clients=2, servers=2 * self.width)
        bundles = {
            "clients": _edge(),
            "between": program("upper", self.system.upper),
            "servers": program("tail", self.system.tail),
        }
        self.set_up(network, lambda plan: Switch(plan, bundles[plan.tier]), self.seed)
        self.add_hosts()
        self._down: frozenset[str] = frozenset()
        self._rerouting = False
        self._in_service = False
        """Whether all switches have been in service: before, the routes stay as they are."""
        self.control = self.system(self.network, *self.configuration)

    def chain(self, key: bytes) -> list[Switch]:
        """The switches of the chain of a key, from the head to the tail."""
        home, _ = self.homes[f"server-{self.topology.owner(key).index}"]
        position = self.network.positions[home]
        return [
            self.switches[name] for name, at in self.network.positions.items() if at == position
        ]

    def _written(self, client: int, op: Op, key: bytes, value: bytes) -> Message:
        """The first write of a client after a loss may be answered with "unknown"; then the client
        writes again, and knows the incarnation."""
        unknown = self.processes[client].unknown
        reply = self.run_operation(client, op, key, value).reply
        if reply is None and self.processes[client].unknown > unknown:
            reply = self.run_operation(client, op, key, value).reply
        assert reply is not None, "the write got no answer"
        return reply

    def start(self, *, preload: Iterable[bytes] = ()) -> Rack:
        """Start all switches and the controller."""
        self.start_controller(preload)
        self.run_until(self.control.ready)
        return self

    def crash_switch(self, *switches: Switch) -> None:
        """Switches lose their state at the same time, and run again at once."""
        for switch in switches:
            self.stop_switch(switch, noticed=False)
        for switch in switches:
            self.start_switch(switch)

    def replace_controller(self) -> None:
        """A new controller continues."""
        self.end_controller()
        self.control = self.system(self.network, *self.configuration)
        self._down = frozenset()
        self.start_controller()

    def recover(self) -> None:
        """Run until the controller has ended all recoveries."""
        self.run_until(self.control.ready)

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
        if self._in_service and down != self._down:
            self._down = down
            self.reroute(down)

    def apply(self, switch: Switch, write: TableWrite, pipeline: int) -> str:
        error = switch.write(write, pipeline)
        # A recovery also deletes lookup entries that the switch has refused.
        assert not error or getattr(write, "table", "") == LOOKUP, error
        return error


def dirty(record: Message | None) -> bool:
    """Whether the reply to LOAD has a record that the server may lack."""
    return bool(record and record.stamp and record.stamp.bits & Bit.DIRTY)


def latest(record: Message | None) -> bool:
    """Whether the reply to LOAD has a record that counts as the latest one."""
    return bool(record and record.stamp and record.stamp.bits & Bit.LATEST)
