"""A rack of DistCache: a switch of clients, two spines, two leaves and four servers.

The switches run the programs of p4/distcache, the hosts the roles of engine/roles. Clients write
each key one after the other and read it all the time. The rack asserts that no read returns an old
value.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, partial

from netkv._engine import ClientRole, ServerRole
from netkv.control.base import MILLISECOND, SECOND, Nanoseconds, PacketIn
from netkv.control.cache_parameters import CacheParameters
from netkv.model.messages import CacheMetadata, Message, Op, encode
from netkv.model.network import spine_leaf
from netkv.model.topology import CONTROLLER_IP
from netkv.p4rt import p4info
from netkv.schemes.distcache.control_plane import DistCache
from netkv.schemes.distcache.options import DistCacheOptions
from tests.p4programs.defects import compiled
from tests.schemes.configuration import Configuration
from tests.schemes.distcache.programs.layers import key as key_of
from tests.schemes.role_hosts import RoleHost
from tests.schemes.scripted_rack import MICROSECOND, Hop, ScriptedRack, Switch
from tests.schemes.virtual_rack import Network

NETWORK = spine_leaf(2, 2, clients=2, servers=4)
EDGE, SPINES, LEAVES = "edge-0", ("spine-0", "spine-1"), ("leaf-0", "leaf-1")
PROGRAMS = {"clients": "client", "between": "spine", "servers": "leaf"}
CONFIGURATION = Configuration(
    DistCacheOptions(
        cache_entries=4, cache_rows=4, sample_rate=1.0, hot_threshold=30_000, load_half_life=3600.0
    ),
    CacheParameters(drawn=4),
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


def _client(number: int) -> ClientRole:
    servers = len(NETWORK.switches[0].topology.servers)
    return ClientRole("plain", number, servers, retry=RETRY, deadline=10 * SECOND)


@dataclass
class Operation:
    """An operation of a client, until it has ended."""

    key: bytes
    client: int
    written: int | None
    """Which write it is; None: a read."""
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
        self._begun = 0
        """Number of operations so far."""
        self._load: set[bytes] = set()
        self.clients = {
            at.name: RoleHost(self, at.name, _client(at.host.index))
            for at in NETWORK.hosts
            if not at.is_server
        }
        for name in self.clients:
            self.hosts[name] = partial(self._on_client, name)
        self.servers: dict[str, RoleHost[ServerRole]] = {}

    def owner(self, key: bytes) -> str:
        """The server of a key."""
        return f"server-{self.topology.owner(key).index}"

    # -------------------------------------------------------------------------- failures

    def start(self) -> None:
        """Start everything; the keys of the load are preloaded by the test."""
        for host in self.topology.servers:
            name = f"server-{host.index}"
            server = ServerRole("distcache", host.index, len(self.topology.servers))
            self.servers[name] = RoleHost(self, name, server)
        for key in KEYS:
            self.servers[self.owner(key)].role.store(key, (0).to_bytes(16))
        self.start_controller()
        self._forget_loads()

    def _forget_loads(self) -> None:
        for register in _loads():
            self.switches[EDGE].set_register(register, bytes(1))
        self.after(FORGETTING, self._forget_loads)

    def start_server(self, name: str) -> None:
        """Start a server process over its store again."""
        self.servers[name].restart()

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
        history, host = self.histories[key], self.clients[f"client-{client}"]
        self._begun += 1
        floor = max(history.acknowledged, history.read)
        if op is Op.PUT:
            history.written += 1
        written = history.written if op is Op.PUT else None
        self.operations[self._begun] = Operation(key, client, written, floor, self.now)
        if written is None:
            host.send(host.role.submit(self.now, self._begun, "get", key))
        else:
            value = written.to_bytes(16)
            host.send(host.role.submit(self.now, self._begun, "put", key, value))

    def _on_client(self, name: str, frame: bytes) -> None:
        host = self.clients[name]
        host.receive(frame)
        for token, outcome, values in host.role.completions():
            self._on_ended(self.operations.pop(token), outcome, values)

    def _on_ended(self, operation: Operation, outcome: str, values: object) -> None:
        key, history = operation.key, self.histories[operation.key]
        if operation.written is None:
            assert isinstance(values, list), outcome
            value = int.from_bytes(values[0])
            assert value >= operation.floor, "a stale read"
            assert value <= history.written, "a value that was never written"
            history.read = max(history.read, value)
            self.after(100_000, lambda: self._begin(key, Op.GET, operation.client))
        else:
            assert outcome == "done", outcome
            history.acknowledged = operation.written
            self.after(MILLISECOND, lambda: self._begin(key, Op.PUT, operation.client))

    # ----------------------------------------------------------------------------- checks

    def late(self) -> bool:
        """Whether a request waits for longer than its retransmissions take."""
        return any(self.now - it.began > PATIENCE for it in self.operations.values())

    def outgrown(self, key: bytes, *, upper: bool) -> None:
        """Report to the controller, as the owner of `key`, that a copy no longer fits."""
        layer = SPINES if upper else LEAVES
        entries = (self.switches[name].lookup().get(key) for name in layer)
        generation = next((entry["generation"] for entry in entries if entry), 0)
        metadata = CacheMetadata(generation) if generation else None
        message = Message(Op.OUTGROWN, key, 1, 0x8000, upper=upper, cache_metadata=metadata)
        switch, port = self.homes[self.owner(key)]
        frame = encode(message, self.topology.owner(key).ip, CONTROLLER_IP)
        self.handle(PacketIn(port, frame, switch))

    def knows_its_copies(self, server: str) -> bool:
        """Whether a server has got the answer to its RESTARTED."""
        return any(message.op is Op.RESTARTED_REPLY for message in self.servers[server].received)

    def serves(self, switch: str) -> bool:
        """Whether the cache of a switch answers reads within some time."""
        enough, end = self.answered[switch] + 5, self.now + 50 * MILLISECOND
        while self.answered[switch] < enough and self.now < end:
            self.run(5 * MILLISECOND)
        return self.answered[switch] >= enough
