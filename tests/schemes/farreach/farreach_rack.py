"""A test rack for FarReach's control plane, in virtual time and from one seed.

It has p4/farreach, small servers and clients after docs/schemes/farreach.md, networks that lose,
duplicate and reorder frames, and a disk.
"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from netkv.control.base import (
    MILLISECOND,
    Action,
    CloneSession,
    DeleteEntry,
    InsertEntry,
    ModifyEntry,
    Nanoseconds,
    Note,
    PacketIn,
    Preload,
    Recovered,
    Save,
    Saved,
    SendFrame,
    SetDefault,
    Started,
    SwitchRestarted,
    TableWrite,
    TableWritten,
)
from netkv.model.messages import Datagram, Message, decode, encode
from netkv.model.topology import CPU_PORT, Topology
from netkv.schemes.farreach.control_plane import FarReach
from netkv.schemes.farreach.parameters import FarReachParameters
from tests.schemes.farreach.farreach_hosts import AnswerChecker, ClientProcess, Shim
from tests.schemes.farreach.farreach_operations import Operations
from tests.schemes.farreach.farreach_switch import Switch
from tests.schemes.virtual_rack import Network

MICROSECOND = 1000

T = TypeVar("T")


@dataclass
class Net(Network):
    max_delay: Nanoseconds = 200 * MICROSECOND


UNIMPAIRED = Net()
IMPAIRED = Net(loss=0.15, duplication=0.15, max_delay=5 * MILLISECOND)

Controls = Callable[[Topology, FarReachParameters], FarReach]


@dataclass
class Rack(Operations):
    """Runs a control plane against the models."""

    control: FarReach = field(init=False)

    parameters: FarReachParameters = field(default_factory=FarReachParameters)
    seed: int = 0
    clients: int = 2
    servers: int = 2
    control_type: Controls = FarReach
    net: Net = field(default_factory=Net)
    channel: Net = field(default_factory=Net)
    save_time: Nanoseconds = MILLISECOND

    def __post_init__(self) -> None:
        self.topology = Topology.of_ports(
            range(1, self.clients + 1), range(101, 101 + self.servers)
        )
        self.begin(self.seed)
        self.checker = AnswerChecker()
        self.switch = Switch(self.topology, self.parameters.pipelines, self.checker.record_sequence)
        self.notes: list[Note] = []
        self.recoveries: list[Recovered] = []
        self.sent: list[Message] = []
        self.saves = 0
        self.disk: bytes | None = None
        self.disk_fails = False
        self.refuse: Callable[[TableWrite], bool] = lambda _: False
        self.lost: Callable[[Datagram], bool] = lambda _: False
        """Frames that are lost on either network, in addition to random losses."""
        self.steps_left = None
        self.writes = 0
        self._restarts = 0  # of switch and controller together
        self._table_time = 0
        self.pipeline_time: Nanoseconds | None = None
        """Time of a table write from one pipeline to the next; None: random, up to 100 us."""
        self.processes = {
            host.index: self.new_process(host.index) for host in self.topology.clients
        }
        self.shims = {
            host.index: Shim(host, self._from(host.port), self.after, lambda: self.now)
            for host in self.topology.servers
        }
        self.control = self.control_type(self.topology, self.parameters)

    def new_process(self, index: int, first_request: int = 1) -> ClientProcess:
        """A client process."""
        return ClientProcess(
            index, self._from(index), self.after, self.checker, first_request, now=lambda: self.now
        )

    # ------------------------------------------------------------------------- driving

    def start(self, *, preload: tuple[bytes, ...] = ()) -> "Rack":
        """Start switch and controller."""
        self.handle(Started(self.disk))
        if preload:
            self.handle(Preload(preload))
        self.run_until(self.control.ready)
        for process in self.processes.values():
            process.hello()
        self.run_until(lambda: all(process.incarnation for process in self.processes.values()))
        return self

    def crash_switch(self, pause: Nanoseconds = 0) -> None:
        """The switch loses its state; frames on their way to and from it are lost."""
        self._restarts += 1
        self.switch_up = False
        self.run(pause)
        self.switch.restart()
        self.switch_up = True
        self._restarts += 1
        self.handle(SwitchRestarted())

    def kill_controller(self) -> None:
        """Kill the controller; it loses its state."""
        super().kill_controller()
        self._restarts += 1

    def replace_controller(self, parameters: FarReachParameters | None = None) -> None:
        """A new controller takes over, with an emptied switch."""
        self._restarts += 1
        self.control = self.control_type(self.topology, parameters or self.parameters)
        self.controller_down = False
        self.steps_left = None
        self.switch.restart()
        self.handle(Started(self.disk))

    def cached(self) -> set[bytes]:
        return set(self.control.cached_keys())

    # ------------------------------------------------------------------------- helpers

    def _from(self, port: int) -> Callable[[Datagram], None]:
        return lambda datagram: self._travel(
            self.net, datagram, lambda: self._at_switch(port, datagram)
        )

    def _travel(self, net: Net, datagram: Datagram, arrive: Callable[[], None]) -> None:
        self.travel(net, arrive, lambda: self.lost(datagram))

    def _at_switch(self, port: int, datagram: Datagram) -> None:
        if not self.switch_up:
            return
        for out, frame in self.switch.receive(port, datagram):
            self._leave(port, out, frame)

    def _leave(self, port: int, out: int, datagram: Datagram) -> None:
        if out == CPU_PORT:
            frame = encode(datagram.message, datagram.source, datagram.destination)
            incarnation = self._restarts

            def receive() -> None:
                if incarnation == self._restarts:
                    self.handle(PacketIn(port, frame))

            self._travel(self.channel, datagram, receive)
        elif out in self.processes:
            process = self.processes[out]
            self._travel(self.net, datagram, lambda: process.receive(datagram))
        else:
            shim = next(each for each in self.shims.values() if each.host.port == out)
            self._travel(self.net, datagram, lambda: shim.receive(datagram))

    def carry_out(self, action: Action) -> None:
        match action:
            case Note():
                self.notes.append(action)
            case Recovered():
                self.recoveries.append(action)
            case SendFrame(frame):
                datagram = decode(frame)
                self.sent.append(datagram.message)
                incarnation = self._restarts

                def arrive() -> None:
                    if incarnation == self._restarts:
                        self._at_switch(CPU_PORT, datagram)

                self._travel(self.channel, datagram, arrive)
            case Save(save, data):
                self._save(save, data)
            case InsertEntry() | ModifyEntry() | DeleteEntry() | SetDefault() | CloneSession():
                self._write(action)

    def _save(self, save: int, data: bytes) -> None:
        self.saves += 1

        def saved() -> None:
            ok = not self.disk_fails
            if ok:
                self.disk = data
            if self.control is control and not self.controller_down:
                self.handle(Saved(save, ok, "" if ok else "the disk is full"))

        control = self.control
        self.after(self.save_time, saved)

    def _write(self, write: TableWrite) -> None:
        """Apply the write to each pipeline in turn, after all earlier writes."""
        self._table_time = max(self._table_time, self.now)
        incarnation = self._restarts
        refused = self.refuse(write)

        def reach(pipeline: int) -> None:
            if incarnation == self._restarts and not refused:
                self.switch.apply(write, pipeline)

        def answered() -> None:
            if incarnation == self._restarts:
                error = "refused by the test" if refused else ""
                self.handle(TableWritten(write.write, not refused, error))

        for pipeline in range(self.parameters.pipelines):
            any_time = self.random.randrange(1, 100 * MICROSECOND)
            self._table_time += self.pipeline_time or any_time
            self.after(self._table_time - self.now, partial(reach, pipeline))
        self.writes += 1
        self.after(self._table_time - self.now + 50 * MICROSECOND, answered)


def key_of(number: int) -> bytes:
    """A key of 16 bytes."""
    return zlib.crc32(number.to_bytes(4)).to_bytes(4) + number.to_bytes(12)


def observing(watch: Callable[[T], None]) -> Callable[[T], bool]:
    """A function for `Rack.refuse` and `Rack.lost` that calls `watch` and returns False."""

    def observed(value: T) -> bool:
        watch(value)
        return False

    return observed
