"""A test rack for FarReach: one switch with p4/farreach, and its clients and servers."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import TypeAlias

from netkv import _engine, resources
from netkv.control.base import MILLISECOND, Nanoseconds
from netkv.model.messages import Bit, Message, Op, Slot, Stamp, decode, encode
from netkv.model.network import SwitchPlan, rack
from netkv.model.topology import SERVICE_IP, Topology
from netkv.schemes.farreach.control_plane import FarReach
from netkv.schemes.farreach.options import FarReachOptions
from netkv.schemes.farreach.parameters import FarReachParameters
from tests.schemes import scripted_rack
from tests.schemes.configuration import Configuration
from tests.schemes.scripted_rack import MICROSECOND
from tests.schemes.virtual_rack import Network
from tests.schemes.write_back_rack import WriteBackRack

SNAPSHOT = "NetkvIngress.snapshot.snapshot"
INCARNATION = "NetkvEgress.incarnation.current"
UNUSED_SENDER = 64
"""A sender that no process of a rack has."""


@dataclass
class Net(Network):
    max_delay: Nanoseconds = 200 * MICROSECOND


UNIMPAIRED = Net()
IMPAIRED = Net(loss=0.15, duplication=0.15, max_delay=5 * MILLISECOND)

Controls = Callable[[Topology, FarReachOptions, FarReachParameters], FarReach]
FarReachConfiguration: TypeAlias = Configuration[FarReachOptions, FarReachParameters]
DEFAULTS = FarReachConfiguration(FarReachOptions(), FarReachParameters())


@cache
def bundle() -> bytes:
    """The program, compiled."""
    program = resources.programs()["farreach"]
    return _engine.compile_p4(str(program), [str(resources.path("p4"))])


class Switch(scripted_rack.Switch):
    """A switch of 1, 2 or 4 pipelines."""

    def __init__(self, plan: SwitchPlan, bundle: bytes, pipelines: int) -> None:
        super().__init__(plan, bundle, pipelines)
        self._first_number = 0

    def restart(self) -> None:
        super().restart()
        self.count_from(self._first_number)

    def count_from(self, number: int) -> None:
        """Set the last sequence number of all counters, now and after each restart."""
        self._first_number = number
        if number:
            self.set_register("NetkvEgress.sequence.counters", number.to_bytes(4))

    def incarnation(self) -> int:
        """The incarnation of pipeline 0."""
        return self.default(INCARNATION).get("incarnation", 0)

    def snapshot_rows(self, pipeline: int) -> dict[int, tuple[str, int]]:
        """Rows of the table `snapshot`: pipeline → action and number of the snapshot."""
        rows = self.rows(SNAPSHOT, pipeline).items()
        return {at: (it.rsplit(".", 1)[1], params.get("number", 0)) for at, (it, params) in rows}

    def ask_about(self, op: Op, key: bytes, entry: int, generation: int) -> Message:
        """The reply to a message of the controller about an entry."""
        stamp, slot = Stamp(generation=generation), Slot(entry)
        return self.ask(encode(Message(op, key, stamp=stamp, slot=slot)))

    def record(self, key: bytes) -> Message:
        """The reply to LOAD of a cached key."""
        return self.ask_about(Op.LOAD, key, **self.lookup()[key])

    def records(self) -> dict[bytes, Message]:
        """The replies to LOAD of all keys whose entries are valid."""
        found = {key: self.ask_about(Op.LOAD, key, **at) for key, at in self.lookup().items()}
        return {key: record for key, record in found.items() if is_valid(record)}

    def outdate(self, key: bytes) -> int:
        """Outdate an entry by a too large write, which is then lost; return its number."""
        client, value = self.plan.topology.clients[0], bytes(200)
        stamp = Stamp(self.incarnation())
        put = Message(Op.PUT, key, 1, UNUSED_SENDER, length=len(value), value=value, stamp=stamp)
        ((_, forwarded),) = self.process(client.port, encode(put, client.ip, SERVICE_IP))
        sequence = decode(forwarded).message.stamp
        assert sequence is not None
        return sequence.number


@dataclass
class Rack(WriteBackRack[Switch]):
    """One switch, and its clients and servers."""

    control: FarReach = field(init=False)

    configuration: FarReachConfiguration = DEFAULTS
    seed: int = 0
    clients: int = 2
    servers: int = 2
    control_type: Controls = FarReach
    net: Network = field(default_factory=Net)
    channel: Network = field(default_factory=Net)
    save_time: Nanoseconds = MILLISECOND

    def __post_init__(self) -> None:
        network = rack(clients=self.clients, servers=self.servers)
        pipelines = self.configuration.parameters.pipelines
        self.set_up(network, lambda plan: Switch(plan, bundle(), pipelines), self.seed)
        self.add_hosts()
        self.control = self.control_type(self.topology, *self.configuration)

    def start(self, *, preload: tuple[bytes, ...] = ()) -> "Rack":
        """Start switch and controller."""
        self.start_controller(preload)
        self.run_until(self.control.ready)
        for process in self.processes.values():
            process.hello()
        self.run_until(lambda: all(process.incarnation for process in self.processes.values()))
        return self

    def crash_switch(self, pause: Nanoseconds = 0) -> None:
        """The switch loses its state; frames on their way to and from it are lost."""
        self.switch.stop()
        self.switch_up = False
        self.run(pause)
        self.switch_up = True
        self.start_switch(self.switch)

    def replace_controller(self, configuration: FarReachConfiguration | None = None) -> None:
        """A new controller takes over, with an emptied switch."""
        self.end_controller()
        self.control = self.control_type(self.topology, *(configuration or self.configuration))
        self.start_controller()

    def cached(self) -> set[bytes]:
        return set(self.control.cached_keys())


def is_valid(record: Message) -> bool:
    """Whether a reply to LOAD has the bit VALID."""
    return record.stamp is not None and bool(record.stamp.bits & Bit.VALID)
