"""A rack of DistCache in virtual time, from one seed: a switch of clients, two spines, two leaves
and four servers.

The switches run the programs of p4/distcache with the tables that the real control plane writes.
Servers are models (`distcache_server.py`). Every frame passes from switch to switch over an
impaired network, so it may be lost, duplicated and overtaken on each hop. Clients write each key
one after the other and read it all the time. They assert that no read returns an old value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache

from netkv import _engine
from netkv.control.base import (
    MILLISECOND,
    SECOND,
    Action,
    DeleteEntry,
    InsertEntry,
    ModifyEntry,
    Nanoseconds,
    PacketIn,
    SendFrame,
    SetDefault,
    Started,
    SwitchLost,
    SwitchRestarted,
    TableWritten,
    TopologyChanged,
)
from netkv.model.messages import Datagram, Message, Op, decode, encode
from netkv.model.network import spine_leaf
from netkv.model.topology import CONTROLLER_IP, CPU_PORT, SERVICE_IP, client_ip
from netkv.p4rt import p4info
from netkv.schemes.distcache.control_plane import DistCache
from netkv.schemes.distcache.parameters import DistCacheParameters
from netkv.sim.tables import Tables
from tests.p4programs.defects import compiled
from tests.p4programs.stf import packet_out
from tests.schemes.distcache.distcache_server import Disk, Server
from tests.schemes.distcache.programs.layers import key as key_of
from tests.schemes.virtual_rack import Network, VirtualRack

NETWORK = spine_leaf(2, 2, clients=2, servers=4)
EDGE, SPINES, LEAVES = "edge-0", ("spine-0", "spine-1"), ("leaf-0", "leaf-1")
PROGRAMS = {"clients": "client", "between": "spine", "servers": "leaf"}
PARAMETERS = DistCacheParameters(
    capacity=4, rows=4, drawn=4, sample_rate=1.0, hot_threshold=30_000, load_half_life=3600 * SECOND
)
KEYS = (key_of(0, 0), key_of(1, 1), key_of(0, 1), key_of(1, 0))
QUICK = Network(max_delay=20_000)
RETRY: Nanoseconds = 3 * MILLISECOND
FORGETTING: Nanoseconds = 5 * MILLISECOND
"""The edge forgets all loads after this time. Its program ages them by the clock of the machine, on
which no test may depend; so the half-life is far longer than a test."""
PATIENCE: Nanoseconds = 150 * MILLISECOND
"""Longer than a request takes with its retransmissions."""
OP = 43
"""Offset of the operation in a frame of a client."""


@cache
def _registers_of_loads(bundle: bytes) -> list[int]:
    return [
        register.preamble.id
        for register in p4info.from_bundle(bundle).registers
        if register.preamble.name.endswith("_loads.cells")
    ]


def op_of(frame: bytes) -> int:
    """The operation of a frame without a header of the controller."""
    return frame[OP]


@dataclass
class Node:
    """A switch: its program and tables, and its connection to the controller."""

    name: str
    bundle: bytes
    ports: dict[int, tuple[str, int | None]]
    """Port → the neighbour, and its port if it is a switch."""
    runs: bool = True
    connected: bool = True
    restarts: int = 0
    answered: int = 0
    """Reads that its cache has answered."""

    def __post_init__(self) -> None:
        self.engine = _engine.Switch(self.bundle, 0, "interpreter")
        self.tables = Tables(self.engine, self.bundle)

    def forget_loads(self) -> None:
        """A switch of clients knows no loads."""
        for register in _registers_of_loads(self.bundle):
            self.engine.write_register(register, None, bytes(1))

    def load(self) -> None:
        """Power cycle: no tables, no state."""
        self.engine.load(self.bundle)
        self.restarts += 1


@dataclass
class Operation:
    """A request of a client, until it is answered."""

    message: Message
    client: int
    floor: int
    """A read returns this write or a later one."""
    began: Nanoseconds


@dataclass
class History:
    """The writes of a key, which follow each other, and the newest one that was read."""

    written: int = 0
    acknowledged: int = 0
    read: int = 0


@dataclass
class DistCacheRack(VirtualRack):
    """Runs a control plane over the switches, and the load of the clients."""

    control: DistCache
    seed: int = 0
    network: Network = field(default_factory=lambda: QUICK)
    control_network: Network = field(default_factory=lambda: QUICK)
    """Between a server and the controller, in addition to the hops."""
    table_write: Nanoseconds = 200_000
    """Time of a table write."""
    steps_left: int | None = None

    def __post_init__(self) -> None:
        self.begin(self.seed)
        self.lost: Callable[[str, bytes], bool] = lambda _to, _frame: False
        """Whether a frame to this node is lost, besides random losses."""
        self.delayed: Callable[[str, bytes], Nanoseconds] = lambda _to, _frame: 0
        peers = NETWORK.peers()
        self.nodes = {
            plan.name: Node(
                plan.name,
                compiled(f"distcache/{PROGRAMS[plan.tier]}.p4"),
                {
                    port: (name, peers.get((plan.name, port), ("", None))[1])
                    for port, name in plan.ports.items()
                },
            )
            for plan in NETWORK.switches
        }
        self.switch_of = {at.name: at for at in NETWORK.hosts}
        self.sent: list[tuple[str, Message]] = []
        self.histories = {key: History() for key in KEYS}
        self.operations: dict[int, Operation] = {}
        self._next_request = 1
        self.slowest: Nanoseconds = 0
        """The longest time that a write has taken."""
        self._load: set[bytes] = set()
        self._writes = True
        self.servers: dict[str, Server] = {}
        self.disks = {at.name: Disk() for at in NETWORK.hosts if at.is_server}
        for at in NETWORK.hosts:
            if at.is_server:
                for key in KEYS:
                    if NETWORK.switches[0].topology.owner(key).index == at.host.index:
                        self.disks[at.name].values[key] = (0).to_bytes(16)

    # -------------------------------------------------------------------------- failures

    def start(self) -> None:
        """Start everything; the keys of the load are preloaded by the test."""
        for name in self.disks:
            self.start_server(name)
        self.handle(Started())
        for name in self.nodes:
            self.handle(SwitchRestarted(name))
        self._forget_loads()

    def _forget_loads(self) -> None:
        self.nodes[EDGE].forget_loads()
        self.after(FORGETTING, self._forget_loads)

    def start_server(self, name: str) -> None:
        """Start a server process over its disk; an earlier one ends."""
        if name in self.servers:
            self.servers[name].runs = False
        at = self.switch_of[name]
        self.servers[name] = Server(
            at.host.index,
            self.disks[name],
            lambda frame: self._hop(at.switch, at.host.port, frame),
            self.after,
            lambda: self.now,
        )

    def stop_server(self, name: str) -> None:
        """The server process ends."""
        self.servers[name].runs = False

    def crash(self, name: str, *, notices: Nanoseconds | None = MILLISECOND) -> None:
        """A switch fails. The controller notices it later; never for None."""
        node = self.nodes[name]
        node.runs = node.connected = False
        node.load()
        if notices is not None:
            self.after(notices, lambda: self._notice(name))

    def _notice(self, name: str) -> None:
        if not self.nodes[name].connected:
            self.handle(SwitchLost(name))
            self._reroute()

    def disconnect(self, name: str) -> None:
        """The controller loses its connection to a switch, which runs on."""
        self.nodes[name].connected = False
        self.nodes[name].restarts += 1
        self.handle(SwitchLost(name))
        self._reroute()

    def recover(self, name: str) -> None:
        """A switch runs again, with empty tables."""
        node = self.nodes[name]
        node.load()
        node.runs = node.connected = True
        self.handle(SwitchRestarted(name))
        self._reroute()

    def _reroute(self) -> None:
        down = [name for name, node in self.nodes.items() if not node.connected]
        for plan in NETWORK.without(down).switches:
            self.handle(TopologyChanged(plan.topology, plan.name))

    def replace_controller(self, control: DistCache, *first: str) -> None:
        """A new controller without state: it loads the programs of all switches that run. If some
        are named, it has connected to these only, so far, and the others run on as they are."""
        self.control = control
        self.controller_down = False
        self.steps_left = None
        names = [name for name in first or self.nodes if self.nodes[name].runs]
        for name, node in self.nodes.items():
            node.restarts += 1
            node.connected = name in names
            if node.connected:
                node.load()
        self.handle(Started())
        for name in names:
            self.handle(SwitchRestarted(name))
        if not first:
            self._reroute()

    # --------------------------------------------------------------------------- actions

    def carry_out(self, action: Action) -> None:
        name = getattr(action, "switch", "")
        if name and not self.nodes[name].connected:
            return
        match action:
            case SendFrame(frame, egress_port, switch):
                self.sent.append((switch, decode(frame).message))
                self.travel(
                    self.control_network,
                    lambda: self._process(switch, CPU_PORT, packet_out(egress_port) + frame),
                    lambda: self.lost(switch, frame),
                )
            case InsertEntry() | ModifyEntry() | DeleteEntry() | SetDefault():
                restarts = self.nodes[name].restarts
                self.after(self.table_write, lambda: self._write(action, restarts))

    def _write(
        self, action: InsertEntry | ModifyEntry | DeleteEntry | SetDefault, restarts: int
    ) -> None:
        node = self.nodes[action.switch]
        if not node.connected or restarts != node.restarts:
            return
        refusal = node.tables.carry_out(action, 0)
        assert not refusal, refusal
        self.handle(TableWritten(action.write, True, switch=node.name))

    # ---------------------------------------------------------------------------- frames

    def _hop(self, switch: str, port: int, frame: bytes) -> None:
        """A frame is on its way to a switch."""
        late = self.delayed(switch, frame)
        self.travel(
            self.network,
            lambda: self.after(late, lambda: self._process(switch, port, frame)),
            lambda: self.lost(switch, frame),
        )

    def _process(self, switch: str, port: int, frame: bytes) -> None:
        node = self.nodes[switch]
        if not node.runs:
            return
        for out, data in node.engine.process(port, frame):
            node.answered += frame[OP] == Op.GET and data[OP] == Op.GET_REPLY
            if out == CPU_PORT:
                self._to_controller(node, data)
                continue
            neighbour, entry = node.ports.get(out, ("", None))
            if entry is not None:
                self._hop(neighbour, entry, data)
            elif neighbour:
                self._to_host(neighbour, data)

    def _to_controller(self, node: Node, data: bytes) -> None:
        frame = data[2:]

        def arrive() -> None:
            if node.connected and not self.controller_down:
                self.handle(PacketIn(int.from_bytes(data[:2]) >> 7, frame, node.name))

        late = self.delayed("controller", frame)
        self.travel(
            self.control_network,
            lambda: self.after(late, arrive),
            lambda: self.lost("controller", frame),
        )

    def _to_host(self, name: str, frame: bytes) -> None:
        late = self.delayed(name, frame)
        datagram = decode(frame)

        def arrive() -> None:
            if name in self.servers:
                self.servers[name].on_datagram(datagram)
            else:
                self._on_client(datagram)

        self.travel(self.network, lambda: self.after(late, arrive), lambda: self.lost(name, frame))

    # -------------------------------------------------------------------------- clients

    def load(self, *keys: bytes) -> None:
        """Clients read and write these keys from now on."""
        for key in keys:
            if key not in self._load:
                self._load.add(key)
                self._begin(key, Op.GET, client=1)
                self._begin(key, Op.GET, client=1)
                self._begin(key, Op.PUT, client=2)

    def only_read(self) -> None:
        """Clients write no more."""
        self._writes = False

    def _begin(self, key: bytes, op: Op, client: int) -> None:
        history = self.histories[key]
        message = Message(op, key, self._next_request, client)
        self._next_request += 1
        if op is Op.PUT:
            history.written += 1
            message = replace(message, length=16, value=history.written.to_bytes(16))
        floor = max(history.acknowledged, history.read)
        self.operations[message.request] = Operation(message, client, floor, self.now)
        self._transmit(message.request)

    def _transmit(self, request: int) -> None:
        operation = self.operations.get(request)
        if operation is not None:
            at = self.switch_of[f"client-{operation.client}"]
            frame = encode(operation.message, client_ip(operation.client), SERVICE_IP)
            self._hop(at.switch, at.host.port, frame)
            self.after(RETRY, lambda: self._transmit(request))

    def _on_client(self, datagram: Datagram) -> None:
        reply = datagram.message
        operation = self.operations.pop(reply.request, None)
        if operation is None:
            return
        key, history = reply.key, self.histories[reply.key]
        if reply.op is Op.GET_REPLY:
            value = int.from_bytes(reply.value)
            assert value >= operation.floor, "a stale read"
            assert value <= history.written, "a value that was never written"
            history.read = max(history.read, value)
        else:
            history.acknowledged = int.from_bytes(operation.message.value)
            self.slowest = max(self.slowest, self.now - operation.began)
        op = operation.message.op
        if op is Op.GET or self._writes:
            pause = 100_000 if op is Op.GET else MILLISECOND
            self.after(pause, lambda: self._begin(key, op, operation.client))

    # ----------------------------------------------------------------------------- checks

    def late(self) -> bool:
        """Whether a request waits for longer than its retransmissions take."""
        return any(self.now - it.began > PATIENCE for it in self.operations.values())

    def outgrown(self, key: bytes, *, upper: bool) -> None:
        """Report to the controller, as the owner of `key`, that a copy no longer fits."""
        name = f"server-{NETWORK.switches[0].topology.owner(key).index}"
        server, at = self.servers[name], self.switch_of[name]
        record = server.records[upper].get(key)
        message = Message(Op.OUTGROWN, key, 1, 0x8000, upper=upper, cache_metadata=record)
        frame = encode(message, source=at.host.ip, destination=CONTROLLER_IP)
        self.handle(PacketIn(at.host.port, frame, at.switch))

    def serves(self, switch: str) -> bool:
        """Whether the cache of a switch answers reads within some time."""
        node = self.nodes[switch]
        before, end = node.answered, self.now + 50 * MILLISECOND
        while node.answered < before + 5 and self.now < end:
            self.run(5 * MILLISECOND)
        return node.answered >= before + 5
