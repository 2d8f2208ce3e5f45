"""A rack of NetCache: a switch, a client and two servers.

The switch runs p4/netcache, the hosts the roles of engine/roles. The rack asserts what no real part
detects: two entries with one number or with the same cells, a generation that is used twice, and
message numbers that are not above those of all earlier controllers. Whatever the switch answers
must be the value in the store.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from netkv._engine import ClientRole, ServerRole, frame_op
from netkv.control.base import (
    MILLISECOND,
    SECOND,
    Action,
    Digest,
    Event,
    InsertEntry,
    Nanoseconds,
    PacketIn,
    SendFrame,
    TableWrite,
)
from netkv.control.cache_parameters import CacheParameters
from netkv.control.message_numbers import is_newer
from netkv.kits.write_through.digests import HOT_KEY, HotKey
from netkv.model.messages import CHUNK_BYTES, CacheMetadata, Message, Op, decode, encode
from netkv.model.network import rack
from netkv.model.topology import CONTROLLER_IP, SERVICE_IP
from netkv.schemes.netcache.control_plane import NetCache
from netkv.schemes.netcache.options import NetCacheOptions
from tests.p4programs.defects import compiled
from tests.schemes.configuration import Configuration
from tests.schemes.role_hosts import RoleHost
from tests.schemes.scripted_rack import LOOKUP, ScriptedRack, Switch
from tests.schemes.virtual_rack import Network

NETWORK = rack(clients=1, servers=2)
TOPOLOGY = NETWORK.switches[0].topology
UNIMPAIRED = Network()
DEFAULTS = Configuration(NetCacheOptions(), CacheParameters())
LEASE: Nanoseconds = SECOND
"""How long ADMIT holds the writes of a key."""


def encode_hot_key(report: HotKey) -> Digest:
    """The digest of a hot-key report."""
    key = int.from_bytes(report.key)
    return Digest(HOT_KEY, {"key": key, "count": report.count, "epoch": report.epoch})


class NetCacheSwitch(Switch):
    """A switch that checks its lookup entries."""

    def check_lookup(self, pipeline: int) -> None:
        numbers: set[int] = set()
        cells: dict[int, int] = {}
        for params in self.lookup(pipeline).values():
            row, bitmap = params["index"], params["bitmap"]
            assert params["entry"] not in numbers, "an entry number for two keys"
            numbers.add(params["entry"])
            assert not cells.get(row, 0) & bitmap, "cells for two keys"
            cells[row] = cells.get(row, 0) | bitmap

    def answer(self, key: bytes) -> bytes | None:
        """The value that it answers to a read of the client; None if it forwards the read."""
        read = Message(Op.GET, key, 1, sender=1)
        (client,) = TOPOLOGY.clients
        for _, frame in self.process(client.port, encode(read, client.ip, SERVICE_IP)):
            reply = decode(frame).message
            return reply.value if reply.cache_hit else None
        return None

    @property
    def epoch(self) -> int:
        """The present epoch of its counts."""
        return int.from_bytes(self.register("NetkvIngress.epoch.current"))


class NetCacheRack(ScriptedRack[NetCacheSwitch]):
    """Runs a control plane over the switch."""

    control: NetCache
    pipeline_time = MILLISECOND

    def __init__(
        self,
        control: NetCache,
        values: Mapping[bytes, int],
        seed: int = 0,
        network: Network = UNIMPAIRED,
    ) -> None:
        """`values`: length of each key's value in bytes; `network`: of all cables and of the
        control channel."""
        program = compiled("netcache/netcache.p4")
        self.set_up(NETWORK, lambda plan: NetCacheSwitch(plan, program), seed)
        self.control = control
        self.impair(network)
        self.servers_up = True
        self.lost = lambda hop: not self.servers_up and hop.to.startswith("server")
        servers = len(self.topology.servers)
        self.servers = {
            f"server-{number}": RoleHost(
                self, f"server-{number}", ServerRole("netcache", number, servers)
            )
            for number in range(servers)
        }
        client = ClientRole("plain", 1, servers, retry=20 * MILLISECOND, deadline=20 * SECOND)
        self.client = RoleHost(self, "client-1", client)
        self.hosts["client-1"] = self._on_client
        self.waiting: dict[int, bytes] = {}
        """The keys of operations that are not answered, by number."""
        self._begun = 0
        self._admitted: dict[bytes, int] = {}
        """The lengths in the newest replies to ADMIT."""
        self._inserted = {0}
        self._numbers_before: int | None = None
        self._newest: int | None = None
        for key, length in values.items():
            self.store(key, length)

    # ------------------------------------------------------------------------- driving

    def impair(self, network: Network) -> None:
        """Impair all cables and the control channel."""
        self.net = self.channel = network

    def store(self, key: bytes, length: int) -> None:
        """Put a value into the store of a key that is not cached."""
        self.owner(key).role.store(key, bytes(length))

    def write(self, key: bytes, length: int) -> None:
        """The client begins a write of a new value."""
        self._begin(key, "put", self._begun.to_bytes(8)[-length:].ljust(length, b"\0"))

    def _begin(self, key: bytes, op: str, value: bytes | None = None) -> None:
        self._begun += 1
        self.waiting[self._begun] = key
        self.client.send(self.client.role.submit(self.now, self._begun, op, key, value))

    def _on_client(self, frame: bytes) -> None:
        self.client.receive(frame)
        for number, outcome, _ in self.client.role.completions():
            assert outcome in ("done", "values"), outcome
            del self.waiting[number]

    def read(self, key: bytes, times: int) -> None:
        """The client reads a cached key. The switch counts that."""
        for _ in range(times):
            self.switch.answer(key)

    def restart_switch(self) -> None:
        """Restart the switch: it loses its state, and pending table writes are lost."""
        self.stop_switch(self.switch, noticed=False)
        self.start_switch(self.switch)

    def replace_controller(self, control: NetCache) -> None:
        """A new controller without state loads the program, which empties the switch."""
        self.end_controller()
        self.control = control
        self._numbers_before = self._newest
        self.start_controller()

    def hot(self, key: bytes, count: int) -> None:
        """Report a hot key to the controller, as the switch does."""
        self.handle(encode_hot_key(HotKey(key, count, self.switch.epoch)))

    def outgrown(self, key: bytes) -> None:
        """Report to the controller, as the owner of `key`, that its value no longer fits."""
        self.handle(PacketIn(1, self.report(key)))

    def report(self, key: bytes) -> bytes:
        """The frame of OUTGROWN about the present entry of a key."""
        entry = self.entries.get(key)
        metadata = CacheMetadata(entry["generation"] if entry else 0)
        message = Message(Op.OUTGROWN, key, 1, 0x8000, cache_metadata=metadata)
        return encode(message, self.topology.owner(key).ip, CONTROLLER_IP)

    # ------------------------------------------------------------------------- queries

    def owner(self, key: bytes) -> RoleHost[ServerRole]:
        """The server of a key."""
        return self.servers[f"server-{self.topology.owner(key).index}"]

    @property
    def entries(self) -> dict[bytes, Mapping[str, int]]:
        """The lookup entries of the switch."""
        return self.switch.lookup()

    @property
    def messages(self) -> list[Message]:
        """The messages that all controllers have sent."""
        return [hop.message for hop in self.sent]

    @property
    def evicted(self) -> list[tuple[bytes, int]]:
        """Key and generation of each EVICTED that has arrived at a server."""
        arrived = (it for server in self.servers.values() for it in server.received)
        return [
            (it.key, it.cache_metadata.generation)
            for it in arrived
            if it.op is Op.EVICTED and it.cache_metadata
        ]

    def count(self, name: str) -> int:
        """The sum of a count of the servers."""
        return sum(server.role.counts()[name] for server in self.servers.values())

    def readable(self, key: bytes) -> bool:
        """Whether the switch answers a read of `key`, with the value in the store."""
        value = self.switch.answer(key)
        assert value is None or value == self.owner(key).role.value(key), "a stale read"
        return value is not None

    def serves(self, keys: Collection[bytes]) -> bool:
        """Whether the switch answers reads of all these keys. A copy of INVALIDATE may have made
        an entry invalid; the first read lets its server fill it again."""
        for key in keys:
            self._begin(key, "get")
        self.run(100 * MILLISECOND)
        return all(map(self.readable, keys))

    def held(self, *keys: bytes) -> set[bytes]:
        """The keys whose writes are not answered in time."""
        for key in keys:
            value = self.owner(key).role.value(key)
            assert value is not None
            self.write(key, len(value))
        self.run(50 * MILLISECOND)
        return set(self.waiting.values())

    # -------------------------------------------------------------------------- checks

    def handle(self, event: Event) -> None:
        if isinstance(event, PacketIn) and frame_op(event.frame) is Op.ADMIT_REPLY:
            reply = decode(event.frame).message
            self._admitted[reply.key] = reply.length
        super().handle(event)

    def carry_out(self, action: Action) -> None:
        if isinstance(action, SendFrame):
            self._check_number(action.frame)
        elif isinstance(action, InsertEntry) and action.table == LOOKUP:
            length = self._admitted[self._key(action)]
            room = action.params["bitmap"].bit_count() * CHUNK_BYTES
            assert room >= length, "the value does not fit"
        super().carry_out(action)

    def _check_number(self, frame: bytes) -> None:
        datagram = decode(frame)
        assert datagram.source == CONTROLLER_IP
        if datagram.message.op is Op.OUTGROWN_REPLY:
            return  # the server's number
        request = datagram.message.request
        assert request != 0
        assert self._numbers_before is None or is_newer(request, self._numbers_before)
        if self._newest is None or is_newer(request, self._newest):
            self._newest = request

    def apply(self, switch: NetCacheSwitch, write: TableWrite, pipeline: int) -> str:
        error = super().apply(switch, write, pipeline)
        if isinstance(write, InsertEntry) and write.table == LOOKUP:
            generation = write.params["generation"]
            assert generation not in self._inserted, "a former generation is accepted"
            self._inserted.add(generation)
        return error

    @staticmethod
    def _key(write: InsertEntry) -> bytes:
        key = write.match["key"]
        assert isinstance(key, int)
        return key.to_bytes(16)
