"""DistCache's switches, one at a time: the programs of p4/distcache with the tables that the real
control plane writes, for two spines, two leaves and four servers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TypeAlias

import pytest

from netkv import _engine
from netkv.control import base
from netkv.control.cache_parameters import CacheParameters
from netkv.kits.write_through.digests import decode_hot_key
from netkv.model.messages import CacheMetadata, Datagram, Load, Message, Op, decode, encode
from netkv.model.network import Network, spine_leaf
from netkv.model.topology import CPU_PORT, SERVICE_IP, client_ip, server_ip
from netkv.p4rt import p4info
from netkv.schemes.distcache.control_plane import DistCache
from netkv.schemes.distcache.options import DistCacheOptions
from netkv.schemes.distcache.switches import TIME_UNIT, upper_number
from netkv.sim.tables import Tables
from tests.checksums import with_udp_checksum
from tests.p4programs.defects import Patch, compiled
from tests.p4programs.stf import packet_in, packet_out
from tests.schemes.netcache.programs.caching import cached

NO_ROUTE = 4
"""The reason of a drop (p4/common/wire.p4)."""
EXECUTORS = ("interpreter", "compiled")
EDGE, SPINE, OTHER_SPINE, LEAF = "edge-0", "spine-0", "spine-1", "leaf-0"
PROGRAMS = {EDGE: "client", SPINE: "spine", LEAF: "leaf"}
HALF_LIFE = 3600 * base.SECOND // TIME_UNIT
"""In units of time of the program, an hour: a test takes no part of it that counts."""
OPTIONS = DistCacheOptions(sample_rate=1.0, hot_threshold=4, load_half_life=3600.0)


@cache
def network() -> Network:
    return spine_leaf(2, 2, clients=2, servers=4)


@cache
def tables(switch: str) -> tuple[base.TableWrite, ...]:
    """The writes of the control plane to a switch, with all switches in service."""
    control = DistCache(network(), OPTIONS, CacheParameters())
    events: list[base.Event] = [base.Started()]
    events += [base.SwitchRestarted(plan.name) for plan in network().switches]
    writes = []
    while events:
        for action in control.handle(0, events.pop(0)):
            number = getattr(action, "write", None)
            if number is not None:
                name = getattr(action, "switch", "")
                events.append(base.TableWritten(number, True, switch=name))
                writes.append((name, action))
    return tuple(action for name, action in writes if name == switch)  # type: ignore[misc]


@cache
def key(upper: int, leaf: int, number: int = 0) -> bytes:
    """A key whose upper copy is in a spine, and whose server is at a leaf."""
    servers = network().switches[0].topology
    leaves = {at.host.index: at.switch for at in network().hosts if at.is_server}
    found = (
        key
        for i in range(10_000)
        if upper_number(key := (i * 0x9E3779B97F4A7C15).to_bytes(16), 2) == upper
        and leaves[servers.owner(key).index] == f"leaf-{leaf}"
    )
    return [next(found) for _ in range(number + 1)][-1]


KEY = key(0, 0)


def owner(key: bytes) -> int:
    """The address of a key's server."""
    return network().switches[0].topology.owner(key).ip


class Switch:
    """One of the switches, and its neighbours."""

    def __init__(self, name: str, executor: str, defect: Patch | None) -> None:
        bundle = compiled(f"distcache/{PROGRAMS[name]}.p4", defect)
        self.bundle = bundle
        self.engine = _engine.Switch(bundle, 0, executor)
        self._tables = Tables(self.engine, bundle)
        self._registers = {
            register.preamble.name: register for register in p4info.from_bundle(bundle).registers
        }
        (self._drops,) = (
            counter.preamble.id
            for counter in p4info.from_bundle(bundle).counters
            if counter.preamble.name == "NetkvIngress.drop.reasons"
        )
        plan = network().switch(name)
        self.topology = plan.topology
        self.ports = {neighbour: port for port, neighbour in plan.ports.items()}
        for write in tables(name):
            self.write(write)

    def write(self, write: base.TableWrite) -> None:
        refusal = self._tables.carry_out(write, 0)
        assert not refusal, refusal

    def cache(self, key: bytes = KEY, generation: int = 7, entry: int = 5) -> None:
        """Insert a lookup entry of 64 bytes."""
        self.write(cached(key, entry, entry, 0b1111, generation))

    def sends(self, message: Message, source: int, destination: int, at: str) -> list[Hop]:
        """The frames that leave when a frame arrives from a neighbour; the last one is not
        truncated, and has a right UDP checksum, as the frame that arrives has."""
        frame = with_udp_checksum(encode(message, source, destination))
        names = {port: name for name, port in self.ports.items()} | {CPU_PORT: "controller"}
        hops = []
        for port, out in self.engine.process(self.ports[at], frame):
            inner = out[2:] if port == CPU_PORT else out
            assert inner == with_udp_checksum(inner)
            assert int.from_bytes(inner[16:18]) == len(inner) - 14, "the length of the packet"
            hops.append(
                Hop("controller" if port == CPU_PORT else names.get(port, "none"), decode(inner))
            )
        return hops

    def answer(self, message: Message, source: int, destination: int, at: str) -> Hop:
        """The one frame that leaves."""
        (hop,) = self.sends(message, source, destination, at)
        return hop

    def controller(self, message: Message) -> Message:
        """The switch's answer to its controller."""
        ((port, frame),) = self.engine.process(CPU_PORT, packet_out(0) + encode(message))
        assert port == CPU_PORT
        assert frame[:2] == packet_in(CPU_PORT)
        return decode(frame[2:]).message

    def epoch(self, number: int) -> None:
        """Begin a statistics epoch."""
        metadata = CacheMetadata(0, number, 0)
        self.controller(Message(Op.EPOCH, bytes(16), number, cache_metadata=metadata))

    def register(self, name: str, index: int, value: int | None = None) -> int:
        """The value of a cell; sets it if a value is given."""
        register = self._registers[f"NetkvIngress.{name}"]
        number = register.preamble.id
        ((_, before),) = self.engine.read_register(number, index)
        if value is not None:
            self.engine.write_register(
                number, index, value.to_bytes((value.bit_length() + 7) // 8 or 1)
            )
        return int.from_bytes(before)

    def drops(self) -> int:
        """The number of frames that the switch has dropped for want of a route."""
        ((_, packets, _),) = self.engine.read_counter(self._drops, NO_ROUTE)
        return packets

    def hot_keys(self) -> list[bytes]:
        """The keys that the switch has reported since the last call."""
        digests = (self._tables.digest(each) for each in self.engine.take_digests())
        return [decode_hot_key(digest).key for digest in digests]


@dataclass(frozen=True)
class Hop:
    """A frame, and the neighbour to which it leaves."""

    to: str
    datagram: Datagram

    @property
    def message(self) -> Message:
        return self.datagram.message


def get(key: bytes = KEY, request: int = 2, **changes: object) -> Message:
    message = Message(Op.GET, key, request, 1)
    return replace(message, **changes)  # type: ignore[arg-type]


def put(key: bytes = KEY, op: Op = Op.PUT, **changes: object) -> Message:
    value = b"" if op is Op.DELETE else b"value".ljust(16)
    message = Message(op, key, 2, 1, length=len(value), value=value)
    return replace(message, **changes)  # type: ignore[arg-type]


def invalidate(key: bytes = KEY, *, upper: bool = False, request: int = 3) -> Message:
    return Message(Op.INVALIDATE, key, request, 0x8000, upper=upper)


def update(
    metadata: CacheMetadata, value: bytes = b"new", key: bytes = KEY, *, upper: bool = False
) -> Message:
    padded = value.ljust(64, b"\0")
    return Message(
        Op.UPDATE,
        key,
        4,
        0x8000,
        cache_metadata=metadata,
        length=len(value),
        value=padded,
        upper=upper,
    )


def decoded(message: Message) -> Message:
    """A message as it is decoded: without the padding of its value."""
    return replace(message, value=message.value[: message.length])


def fill(switch: Switch, at: str, *, upper: bool, value: bytes = b"first") -> CacheMetadata:
    """INVALIDATE and UPDATE from the server, which make an entry valid."""
    server = owner(KEY)
    reply = switch.answer(invalidate(upper=upper), server, SERVICE_IP, at)
    metadata = reply.message.cache_metadata
    assert metadata is not None
    filled = switch.answer(update(metadata, value, upper=upper), server, SERVICE_IP, at)
    assert filled.message.status == 0
    return metadata


def reply(load: Load | None = None, key: bytes = KEY, **changes: object) -> Message:
    """A reply to a read, as a switch or a server sends it."""
    message = Message(Op.GET_REPLY, key, 2, 1, length=5, value=b"value")
    return replace(message, load=load, **changes)  # type: ignore[arg-type]


CLIENT = client_ip(1)
SERVER = server_ip(0)

Rule: TypeAlias = Callable[[Switch], None]


@dataclass(frozen=True)
class Case:
    """A rule of one switch, on an executor, with a defect of its program or none."""

    rule: Rule
    switch: str
    executor: str
    defect: Patch | None = None
    number: int = 0

    def __str__(self) -> str:
        kind = f"defect{self.number}" if self.defect else self.executor
        return f"{self.rule.__name__}-{kind}"

    def check(self) -> None:
        """The rule holds for the program that ships, and not with the defect."""
        switch = Switch(self.switch, self.executor, self.defect)
        if self.defect is None:
            self.rule(switch)
            return
        with pytest.raises((AssertionError, ValueError)):
            self.rule(switch)


@dataclass
class Rules:
    """The rules of a switch, which are registered as decorated functions."""

    switch: str
    cases: list[Case] = field(default_factory=list)

    def __call__(self, *defects: Patch) -> Callable[[Rule], Rule]:
        """A rule, and the defects of the program that break it."""
        assert defects, "a rule that no defect breaks tests nothing"

        def register(rule: Rule) -> Rule:
            self.cases += [Case(rule, self.switch, executor) for executor in EXECUTORS]
            self.cases += [
                Case(rule, self.switch, "interpreter", defect, number)
                for number, defect in enumerate(defects, start=1)
            ]
            return rule

        return register
