"""Ready requests for traces, recorded from a simulated lab.

The control planes of the scheme bring the lab up, with its hottest keys cached. The state of each
switch is then read from the engine, and reads and writes of a client travel through the network: a
request for a trace has the frames as they arrive at its switch.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from netkv import _engine
from netkv.api.models.programs import Packet, Setup, TraceExample, TraceRequest
from netkv.api.programs import interface, packets, shipped, state
from netkv.model.spec import WorkloadSpec
from netkv.schemes import parts
from netkv.schemes.spec import LabSpec, RackSpec

if TYPE_CHECKING:
    from netkv.schemes import Scheme
    from netkv.sim.rack import SimRack

SERVERS = 4
CLIENTS = 2
KEYS = 100
CACHE_ENTRIES = 8
"""For each switch with servers; few, so that a request is short."""
_MAX_HOPS = 16
_LOAD = 5_000_000
"""Time of the reads before, in ns."""
_SETTLED = 100_000_000
"""Time after the last of them, in ns: no message is under way then."""
_REQUEST = 1_000_000
"""Above the numbers of the load's requests."""
_VALUE = b"a value of netkv"
_OPS = {_engine.Op.GET: "read", _engine.Op.PUT: "write", _engine.Op.DELETE: "deletion"}


def examples(name: str) -> list[TraceExample]:
    """Requests for a program that ships, in a lab of the first scheme that uses it.

    They are those of the first switch that runs it. Raises `UsageError`.
    """
    program = shipped.program(name)
    scheme, tier = program.uses[0]
    rack = _started(scheme)
    number, switch = next(
        (number, plan.name)
        for number, plan in enumerate(rack.network.switches)
        if plan.tier == tier
    )
    defines = dict(scheme.programs.defines(rack.spec.lab))
    known = interface.schema(shipped.compiled(program, defines))
    setup = state.read(rack.engines[number], known)
    in_labs = sorted(rack.cached_keys())
    cached = [key for key in in_labs if _stored(setup, key)]
    return [
        TraceExample(
            name=packet.title.lower().replace(" ", "-"),
            title=f"{scheme.about.title}: {packet.title}",
            scheme=scheme.name,
            switch=switch,
            cached_keys=[f"0x{key.hex()}" for key in cached],
            body=TraceRequest(defines=defines, setup=setup, packets=[packet]),
        )
        for packet in _packets(rack, switch, cached)
    ]


def _started(scheme: Scheme) -> SimRack:
    """A small lab of a scheme, up and idle."""
    from netkv.sim.rack import SimRack

    options: dict[str, object] = {"servers": SERVERS, "server_processes": SERVERS}
    if scheme.has_option("cache_entries"):
        options["cache_entries"] = CACHE_ENTRIES
    lab = scheme.with_topology(LabSpec(clients=CLIENTS, executor="interpreter", **options))
    spec = RackSpec(scheme=scheme.name, lab=lab, workload=WorkloadSpec(keys=KEYS))
    rack = SimRack(spec, scheme=scheme)
    asyncio.run(rack.compile())
    rack.bring_up()
    # Some schemes answer reads only of records that a server has answered before.
    for phase, duration in (("measure", _LOAD), ("drain", _SETTLED)):
        rack.command({"do": "phase", "name": phase})
        rack.advance(rack.nanoseconds + duration)
    return rack


def _stored(setup: Setup, key: bytes) -> bool:
    """Whether the tables of a switch have an entry for a key."""
    value = f"{int.from_bytes(key, 'big'):#x}"
    return any(value in entry.match.values() for entry in setup.entries)


def _packets(rack: SimRack, switch: str, cached: list[bytes]) -> Iterator[Packet]:
    """Packets that arrive at a switch, each with a title that says what it is."""
    if (examples := parts.example_frames(rack.scheme, rack.spec.lab)) is not None:
        for title, frame in examples:
            if (arrived := _travel(rack, frame).arrivals.get(switch)) is not None:
                yield _packet(*arrived, title)
        return
    all_cached = rack.cached_keys()
    others = [key for each in range(KEYS) if (key := _engine.key_of_record(each)) not in all_cached]
    groups = {"cached key": cached, "uncached key": others} if all_cached else {"key": others}
    client = _Client(rack)
    for what, keys in groups.items():
        for op, title in _OPS.items():
            # The first key whose requests pass this switch: several switches share the keys.
            ways = (client.send(op, key) for key in keys)
            arrived = next((it for way in ways if (it := way.arrivals.get(switch))), None)
            if arrived is not None:
                yield _packet(*arrived, f"{title} of {what}")


class _Client:
    """The first client of a lab."""

    def __init__(self, rack: SimRack) -> None:
        self._rack = rack
        self._request = _REQUEST
        self._incarnation = 0

    def send(self, op: _engine.Op, key: bytes) -> _Way:
        """Send a request; again, if its first copy has shown the incarnation of the switches."""
        way = _travel(self._rack, self._frame(op, key))
        if way.incarnation > self._incarnation:
            self._incarnation = way.incarnation
            way = _travel(self._rack, self._frame(op, key))
        return way

    def _frame(self, op: _engine.Op, key: bytes) -> bytes:
        value = _VALUE if op == _engine.Op.PUT else b""
        self._request += 1
        return _engine.write_frame(
            op,
            key,
            self._request,
            _engine.client_ip(1),
            sender=1,
            length=len(value),
            value=value,
            stamp=(self._incarnation, 0, 0, 0)
            if self._rack.scheme.traits.stamped_requests
            else None,
        )


@dataclass
class _Way:
    """The way of a frame of the first client through the network."""

    arrivals: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    """Port and frame of the first arrival at each switch."""
    incarnation: int = 0
    """The largest in a stamp that leaves the network; clients learn it from replies."""


def _travel(rack: SimRack, frame: bytes) -> _Way:
    """Send a frame of the first client through the programs of the switches."""
    peers = rack.network.peers()
    numbers = {plan.name: at for at, plan in enumerate(rack.network.switches)}
    first = rack.network.hosts[0]
    way = _Way()
    waiting = deque([(first.switch, first.host.port, frame)])
    for _ in range(_MAX_HOPS):
        if not waiting:
            break
        at, port, data = waiting.popleft()
        way.arrivals.setdefault(at, (port, data))
        for out, each in rack.engines[numbers[at]].process(port, data):
            if (peer := peers.get((at, out))) is not None:
                waiting.append((*peer, each))
            elif (sent := packets.message(each)) is not None and sent.stamp is not None:
                way.incarnation = max(way.incarnation, sent.stamp.incarnation)
    return way


def _packet(port: int, frame: bytes, title: str) -> Packet:
    """A packet as a message if that has all of the frame, else as bytes."""
    whole = Packet(port=port, message=packets.message(frame), title=title)
    if whole.message is not None and packets.frame(whole, "") == frame:
        return whole
    return Packet(port=port, frame=frame.hex(), title=title)
