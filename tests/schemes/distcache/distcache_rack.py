"""A rack of DistCache: a switch of clients, two spines, two leaves and four servers.

The switches run the programs of p4/distcache. Servers are models (`distcache_server.py`). Clients
write each key one after the other and read it all the time. They assert that no read returns an old
value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache

from netkv.control.base import MILLISECOND, SECOND, Nanoseconds, PacketIn
from netkv.model.messages import Message, Op, decode, encode
from netkv.model.network import spine_leaf
from netkv.model.topology import CONTROLLER_IP, SERVICE_IP, client_ip
from netkv.p4rt import p4info
from netkv.schemes.distcache.control_plane import DistCache
from netkv.schemes.distcache.parameters import DistCacheParameters
from tests.p4programs.defects import compiled
from tests.schemes.distcache.distcache_server import Disk, Server
from tests.schemes.distcache.programs.layers import key as key_of
from tests.schemes.scripted_rack import MICROSECOND, Hop, ScriptedRack, Switch
from tests.schemes.virtual_rack import Network

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


@cache
def _bundle(tier: str) -> bytes:
    return compiled(f"distcache/{PROGRAMS[tier]}.p4")


@cache
def _loads() -> list[str]:
    """The registers of the loads at the edge."""
    names = [it.preamble.name for it in p4info.from_bundle(_bundle("clients")).registers]
    return [name for name in names if name.endswith("_loads.cells")]


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
class DistCacheRack(ScriptedRack[Switch]):
    """Runs a control plane over the switches, and the load of the clients."""

    pipeline_time = 20 * MICROSECOND

    control: DistCache
    seed: int = 0
    net: Network = field(default_factory=lambda: QUICK)
    channel: Network = field(default_factory=lambda: QUICK)

    def __post_init__(self) -> None:
        # Most tests process few frames, so compiled code would not pay.
        executor = "interpreter"
        self.set_up(
            NETWORK, lambda plan: Switch(plan, _bundle(plan.tier), executor=executor), self.seed
        )
        self.answered = dict.fromkeys(self.switches, 0)
        """Reads that each cache has answered."""
        self.histories = {key: History() for key in KEYS}
        self.operations: dict[int, Operation] = {}
        self._next_request = 1
        self._load: set[bytes] = set()
        self.servers: dict[str, Server] = {}
        self.disks = {name: Disk() for name in self.homes if name.startswith("server")}
        for key in KEYS:
            self.disks[self._owner(key)].values[key] = (0).to_bytes(16)
        for name in self.homes:
            self.hosts[name] = self._on_server(name) if name in self.disks else self._on_client

    def _owner(self, key: bytes) -> str:
        return f"server-{self.topology.owner(key).index}"

    def _on_server(self, name: str) -> Callable[[bytes], None]:
        return lambda frame: self.servers[name].on_datagram(decode(frame))

    # -------------------------------------------------------------------------- failures

    def start(self) -> None:
        """Start everything; the keys of the load are preloaded by the test."""
        for name in self.disks:
            self.start_server(name)
        self.start_controller()
        self._forget_loads()

    def _forget_loads(self) -> None:
        for register in _loads():
            self.switches[EDGE].set_register(register, bytes(1))
        self.after(FORGETTING, self._forget_loads)

    def start_server(self, name: str) -> None:
        """Start a server process over its disk; an earlier one ends."""
        if name in self.servers:
            self.servers[name].runs = False
        number, send = int(name.split("-")[1]), lambda frame: self.send(name, frame)
        self.servers[name] = Server(number, self.disks[name], send, self.after, lambda: self.now)

    def crash(self, name: str, *, notices: Nanoseconds = MILLISECOND) -> None:
        """A switch fails. The controller notices it later."""
        switch = self.switches[name]
        self.stop_switch(switch, noticed=False)
        session = switch.session

        def notice() -> None:
            if switch.session == session:
                self.lose(name)

        self.after(notices, notice)

    def lose(self, name: str) -> None:
        """The controller loses its connection to a switch, which may run on."""
        self.disconnect(self.switches[name])
        self._reroute()

    def recover(self, name: str) -> None:
        """A switch runs again, with empty tables."""
        self.start_switch(self.switches[name])
        self._reroute()

    def _reroute(self) -> None:
        self.reroute([name for name, it in self.switches.items() if not it.connected])

    def replace_controller(self, control: DistCache, *first: str) -> None:
        """A new controller without state: it loads the programs of all switches that run. If some
        are named, it has connected to these only, so far, and the others run on as they are."""
        self.end_controller(*first)
        self.control = control
        self.start_controller()
        if not first:
            self._reroute()

    # ---------------------------------------------------------------------------- clients

    def on_left(self, cause: Hop, hop: Hop) -> None:
        if cause.op is Op.GET and hop.op is Op.GET_REPLY:
            self.answered[hop.source] += 1

    def load(self, *keys: bytes) -> None:
        """Clients read and write these keys from now on."""
        for key in keys:
            if key not in self._load:
                self._load.add(key)
                self._begin(key, Op.GET, client=1)
                self._begin(key, Op.GET, client=1)
                self._begin(key, Op.PUT, client=2)

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
            frame = encode(operation.message, client_ip(operation.client), SERVICE_IP)
            self.send(f"client-{operation.client}", frame)
            self.after(RETRY, lambda: self._transmit(request))

    def _on_client(self, frame: bytes) -> None:
        reply = decode(frame).message
        operation = self.operations.pop(reply.request, None)
        if operation is None:
            return
        key, op, history = reply.key, operation.message.op, self.histories[reply.key]
        if reply.op is Op.GET_REPLY:
            value = int.from_bytes(reply.value)
            assert value >= operation.floor, "a stale read"
            assert value <= history.written, "a value that was never written"
            history.read = max(history.read, value)
        else:
            history.acknowledged = int.from_bytes(operation.message.value)
        pause = 100_000 if op is Op.GET else MILLISECOND
        self.after(pause, lambda: self._begin(key, op, operation.client))

    # ----------------------------------------------------------------------------- checks

    def late(self) -> bool:
        """Whether a request waits for longer than its retransmissions take."""
        return any(self.now - it.began > PATIENCE for it in self.operations.values())

    def outgrown(self, key: bytes, *, upper: bool) -> None:
        """Report to the controller, as the owner of `key`, that a copy no longer fits."""
        owner = self.topology.owner(key)
        record = self.servers[self._owner(key)].records[upper].get(key)
        message = Message(Op.OUTGROWN, key, 1, 0x8000, upper=upper, cache_metadata=record)
        switch, port = self.homes[self._owner(key)]
        frame = encode(message, source=owner.ip, destination=CONTROLLER_IP)
        self.handle(PacketIn(port, frame, switch))

    def serves(self, switch: str) -> bool:
        """Whether the cache of a switch answers reads within some time."""
        enough, end = self.answered[switch] + 5, self.now + 50 * MILLISECOND
        while self.answered[switch] < enough and self.now < end:
            self.run(5 * MILLISECOND)
        return self.answered[switch] >= enough
