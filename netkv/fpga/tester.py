"""A traffic tester on the ports of a design, in cycles: what OSNT is to a board in the papers.

`measure` stores keys, offers GETs at a share of the line rate, and counts in a window of cycles.
Nothing depends on wall time: a load and a seed give the same result every time.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from netkv._engine import FpgaDesign
from netkv.errors import NetkvError, UsageError
from netkv.fpga import replay
from netkv.fpga.build import Library
from netkv.model.manifest import Manifest

HEADER_BYTES = 42
"""Ethernet, IPv4 and UDP in front of the operation."""
LINE_OVERHEAD_BYTES = 24
"""FCS, preamble and inter-frame gap of a frame."""
MEMCACHED_PORT = 11211
_SERVER = b"\x0a\x00\x00\xfe"
_OPERATION = struct.Struct(">BBHBBHIIQ")
_UDP = 17
_GET, _SET, _REPLY = 0x00, 0x01, 0x81
_ABSENT = 1 << 31
_STORE_BATCH = 16
_STORE_CYCLES = 4096
_START_CYCLES = 1 << 20
_MAX_QUERIES = 60_000
_LEAD_CYCLES = 64


@dataclass(frozen=True)
class Load:
    """GETs for stored and absent keys."""

    ports: Sequence[int] = (0,)
    """Which of the `client_ports` send, from 0. A reply leaves at the port of its query."""
    share: float = 1.0
    """Of the line rate of each port; 1.0 leaves no gap."""
    shares: Mapping[int, float] = field(default_factory=dict)
    """The shares of single ports, in place of `share`."""
    rate_gbps: float | None = None
    """Line rate of the ports; None: that of the manifest (of a virtio function: that of the network
    port)."""
    keys: int = 64
    """Keys that are stored before; each query draws one of them at random."""
    hits: float = 1.0
    """Share of the queries that ask for a stored key."""
    key_bytes: int = 4
    value_bytes: int = 8
    cycles: int = 20_000
    """Length of the window in which queries are counted."""
    warmup_cycles: int = 4_000
    """Cycles under load before the window."""
    seed: int = 1
    """Of the keys of the queries, of memory models, and of registers without reset value."""

    def share_of(self, port: int) -> float:
        """What a port offers, of its line rate."""
        return self.shares.get(port, self.share)

    def query_bytes(self) -> int:
        """Length of a query with FCS, as the papers give it: 74 for a key of 4 bytes."""
        return HEADER_BYTES + _OPERATION.size + self.key_bytes + 4


@dataclass(frozen=True)
class Result:
    """What happened in the window."""

    cycles: int
    clock_mhz: float
    offered: int
    """Queries that the MACs gave to the design."""
    hits: int
    """Queries that the design answered with a value."""
    misses: int
    dropped: int
    """Queries that the design dropped."""
    replies: int
    """Replies that left at the ports of the queries; a transmit line carries fewer than a receive
    line."""
    lost_replies: int
    """Replies that found the queue of their port full."""
    latencies: Sequence[int] = field(repr=False)
    """For each reply in the window, sorted: cycles from the query's last byte at the MAC to the
    first word of the reply. The time of MAC and PHY is not in it."""
    of_clients: Mapping[int, Sequence[int]] = field(repr=False)
    """The same for each client."""
    counters: Mapping[str, int] = field(repr=False)
    """Increase of every counter of the design."""

    @property
    def processed(self) -> int:
        """Queries that were answered or sent on."""
        return self.hits + self.misses

    @property
    def offered_mqps(self) -> float:
        """Million queries offered a second, at the clock of the design."""
        return self.offered * self.clock_mhz / self.cycles

    @property
    def processed_mqps(self) -> float:
        """Million queries processed a second, at the clock of the design."""
        return self.processed * self.clock_mhz / self.cycles

    def latency(self, share: float, client: int | None = None) -> int:
        """Latency in cycles that this share of the replies does not exceed; 0 is the lowest.

        `client`: only replies to this one.
        """
        found = self.latencies if client is None else self.of_clients.get(client, ())
        if not found:
            raise NetkvError("No reply left the design in the window, so there is no latency.")
        return found[min(int(share * len(found)), len(found) - 1)]


def measure(library: Library, load: Load, settings: Mapping[str, int] | None = None) -> Result:
    """Puts a load on a new instance of a design, and counts.

    Args:
        library: a design with the `protocol` memcached. The queries have no frame header, as those
            of the papers.
        load: what is offered.
        settings: registers by name, written after the reset. The tester chooses the others that it
            needs.

    Raises `UsageError` for a load that is not possible, `NetkvError` for a design that fails.
    """
    design, presented = offer(library, load, settings)
    try:
        return _window(library.manifest, design, load, presented)
    except (RuntimeError, OSError) as error:
        raise NetkvError(str(error)) from error


def offer(
    library: Library, load: Load, settings: Mapping[str, int] | None = None
) -> tuple[FpgaDesign, list[int]]:
    """A new instance of a design: keys are stored, and the queries of a load wait at the MACs.

    The second result is the cycle in which each query is presented to the design. Arguments and
    errors are those of `measure`.
    """
    manifest = library.manifest
    _check(manifest, load)
    try:
        design = replay.prepared(library, seed=load.seed, line_rate=True, settings=())
        if load.rate_gbps is not None:
            for port in range(manifest.network_ports):
                rate = round(load.rate_gbps * 1e6 / manifest.clock_mhz)
                design.set_port(port, bits_per_1000_cycles=rate)
        _start(manifest, design, settings or {})
        _store(manifest, design, load)
        return design, _queue(manifest, design, load)
    except (RuntimeError, OSError) as error:
        raise NetkvError(str(error)) from error


def check_protocol(manifest: Manifest) -> None:
    """Raises `UsageError` if a design does not answer the queries of this tester."""
    if manifest.protocol is None:
        raise UsageError(
            f"'{manifest.name}' answers no GETs of memcached: its manifest has no 'protocol'."
        )


def _check(manifest: Manifest, load: Load) -> None:
    check_protocol(manifest)
    clients = len(manifest.client_ports)
    if not load.ports or any(not 0 <= port < clients for port in load.ports):
        raise UsageError(
            f"A load needs ports of clients; '{manifest.name}' has 0 to {clients - 1}."
        )
    if load.rate_gbps is None and None in _rates(manifest, load):
        raise UsageError(f"A port of '{manifest.name}' has no line rate, so it has no share of it.")
    if not all(0 < load.share_of(port) <= 1 for port in load.ports) or not 0 <= load.hits <= 1:
        raise UsageError("The shares of a load are above 0 and at most 1 (hits: at least 0).")
    if not 4 <= load.key_bytes <= 250 or load.keys < 1 or load.cycles < 1:
        raise UsageError("A load has at least one key of 4 to 250 bytes, and at least one cycle.")


def _rates(manifest: Manifest, load: Load) -> list[float | None]:
    """Line rate of the port of each client, in Gbit/s."""
    lines = [0] * len(manifest.client_ports) if manifest.functions else manifest.client_ports
    return [load.rate_gbps or manifest.ports[lines[client]].rate_gbps for client in load.ports]


def _frame(port: int, operation: bytes, *, reply: bool = False) -> bytes:
    """A datagram between the client at a port and the server."""
    client, mac = bytes([10, 0, 1, port + 1]), bytes([2, 0, 0, 0, 0, port + 1])
    server_mac = b"\x02\x00\x00\x00\x00\xfe"
    macs = mac + server_mac if reply else server_mac + mac
    addresses = _SERVER + client if reply else client + _SERVER
    ports = (MEMCACHED_PORT, 40_000) if reply else (40_000, MEMCACHED_PORT)
    length = 8 + len(operation)
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + length, 0, 0, 64, _UDP, 0) + addresses
    ip = ip[:10] + _checksum(ip) + ip[12:]
    pseudo_header = addresses + struct.pack(">HH", _UDP, length)
    udp = struct.pack(">HHH", *ports, length)
    # A computed 0 is sent as its other form: 0 says that there is no checksum.
    checksum = _checksum(pseudo_header + udp + operation)
    udp += b"\xff\xff" if checksum == b"\0\0" else checksum
    return (macs + b"\x08\x00" + ip + udp + operation).ljust(60, b"\0")


def _checksum(data: bytes) -> bytes:
    """The Internet checksum (RFC 1071): the complement of the sum of all 16-bit words."""
    words = data + bytes(len(data) % 2)
    total = sum(struct.unpack(f">{len(words) // 2}H", words))
    total = (total & 0xFFFF) + (total >> 16)
    return struct.pack(">H", ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF)


def _key(number: int, load: Load) -> bytes:
    return number.to_bytes(load.key_bytes, "big")


def get_frame(port: int, key: bytes, opaque: int) -> bytes:
    """A GET of a client, given by the number of its port among those of the clients."""
    return _frame(port, _OPERATION.pack(0x80, _GET, len(key), 0, 0, 0, len(key), opaque, 0) + key)


def _set(port: int, key: bytes, value: bytes, opaque: int) -> bytes:
    body = bytes(8) + key + value
    head = _OPERATION.pack(0x80, _SET, len(key), 8, 0, 0, len(body), opaque, 0)
    return _frame(port, head + body)


def _stored(port: int, opaque: int) -> bytes:
    """The server's acknowledgement of a SET."""
    head = _OPERATION.pack(_REPLY, _SET, 0, 0, 0, 0, 0, opaque, opaque + 1)
    return _frame(port, head, reply=True)


def _found(port: int, value: bytes, opaque: int) -> bytes:
    """The server's answer to a GET."""
    head = _OPERATION.pack(_REPLY, _GET, 0, 4, 0, 0, 4 + len(value), opaque, opaque + 1)
    return _frame(port, head + bytes(4) + value, reply=True)


def _start(manifest: Manifest, design: FpgaDesign, settings: Mapping[str, int]) -> None:
    """Writes registers, and waits until the design stores values."""

    def write(name: str, value: int) -> None:
        register, address = manifest.register(name)
        if register.access == "ro":
            raise UsageError(f"The register '{name}' of '{manifest.name}' can only be read.")
        design.write_register(address, value)

    names = {register.name for register in manifest.registers}
    if "mode" in names and "on" in manifest.register("mode")[0].values:
        write("mode", manifest.register("mode")[0].values["on"])
    if "options" in names:
        _, address = manifest.register("options")
        write("options", design.read_register(address) & ~1)
    for name, value in settings.items():
        write(name, value)
    if "lifetime" in names and "state" in names:
        # Nothing is stored within a lifetime after the start, so the first one is short.
        _, address = manifest.register("lifetime")
        lifetime = design.read_register(address)
        write("lifetime", 1)
        write("command", 1)
        _, state = manifest.register("state")
        for _ in range(_START_CYCLES // 1024):
            design.step(1024)
            if design.read_register(state) & 0b101 == 0b101:
                break
        else:
            raise NetkvError(f"'{manifest.name}' does not start within {_START_CYCLES:,} cycles.")
        write("lifetime", lifetime)
    else:
        design.step(1 << 14)


def _store(manifest: Manifest, design: FpgaDesign, load: Load) -> None:
    """Stores the keys; a server acknowledges the SETs that get there.

    A card in the client stores what its clients read, and those may not see entries of others: so
    each of them reads each key once, too.
    """
    steps = [(_SET, load.ports[0])]
    if manifest.functions:
        steps += [(_GET, client) for client in load.ports]
    for opcode, client in steps:
        for first in range(0, load.keys, _STORE_BATCH):
            keys = range(first, min(first + _STORE_BATCH, load.keys))
            _ask(manifest, design, load, opcode, client, keys)
    design.step(_STORE_CYCLES)
    design.tx()


def _ask(
    manifest: Manifest,
    design: FpgaDesign,
    load: Load,
    opcode: int,
    client: int,
    keys: Sequence[int],
) -> None:
    """Sends a request for each key, and waits until the server or the design has answered."""
    server = manifest.server_port
    port, waiting = manifest.client_ports[client], set(keys)
    for number in keys:
        key, value = _key(number, load), _value(number, load)
        is_set = opcode == _SET
        design.rx(
            port, _set(client, key, value, number) if is_set else get_frame(client, key, number)
        )
    ends = design.cycle + _STORE_CYCLES
    while waiting and design.cycle < ends:
        design.step(ends - design.cycle, until_frame=True)
        for at, frame, *_ in design.tx():
            magic, found, _, _, _, _, _, opaque, _ = _OPERATION.unpack_from(frame, HEADER_BYTES)
            if found != opcode:
                continue
            waiting.discard(opaque)
            if at == server and magic != _REPLY:
                value = _value(opaque, load)
                is_set = opcode == _SET
                design.rx(
                    server, _stored(client, opaque) if is_set else _found(client, value, opaque)
                )
    if waiting:
        raise NetkvError(f"'{manifest.name}' lost {len(waiting)} requests while keys were stored.")


def _value(number: int, load: Load) -> bytes:
    return bytes((number + each) & 0xFF for each in range(load.value_bytes))


def most_cycles(manifest: Manifest, load: Load) -> int:
    """How many cycles such a load can have: its queries are limited."""
    gaps = (_interval(manifest, load) / load.share_of(client) for client in load.ports)
    return int(min(gaps) * (_MAX_QUERIES - 8)) - load.warmup_cycles


def _interval(manifest: Manifest, load: Load) -> float:
    """Cycles between two queries of a port at the line rate."""
    rates = [rate or 0 for rate in _rates(manifest, load)]
    bits = (max(60, load.query_bytes() - 4) + LINE_OVERHEAD_BYTES) * 8
    return bits * manifest.clock_mhz / 1e3 / min(rates)


def _times(load: Load, every: float) -> list[tuple[float, int]]:
    """When each query begins, in cycles from the first, and its client.

    `every`: cycles between two queries of a port at the line rate.
    """
    ends, found = load.warmup_cycles + load.cycles, list[tuple[float, int]]()
    for at, client in enumerate(load.ports):
        gap = every / load.share_of(client)
        each = int(ends / gap) + 8
        if each > _MAX_QUERIES:
            raise UsageError(
                f"A load has at most {_MAX_QUERIES:,} queries a port; this has {each:,}."
            )
        # Ports do not send in step: each begins a part of an interval later.
        found += (((turn + at / len(load.ports)) * gap, client) for turn in range(each))
    return sorted(found, key=lambda query: query[0])


def _queue(manifest: Manifest, design: FpgaDesign, load: Load) -> list[int]:
    """Queues the queries; the cycle in which each is presented, by its opaque."""
    begin, presented, draw = design.cycle + _LEAD_CYCLES, list[int](), random.Random(load.seed)
    for when, client in _times(load, _interval(manifest, load)):
        number = draw.randrange(load.keys)
        number = number if draw.random() < load.hits else number | _ABSENT
        frame = get_frame(client, _key(number, load), len(presented))
        presented.append(design.rx(manifest.client_ports[client], frame, begin + int(when)))
    return presented


def _window(manifest: Manifest, design: FpgaDesign, load: Load, presented: Sequence[int]) -> Result:
    design.step(_LEAD_CYCLES + load.warmup_cycles)
    design.tx()
    # A register takes a cycle to read: each one is read `load.cycles` after its first reading.
    opens, counts = design.cycle, _taken(manifest, design, load)
    before = _counters(manifest, design)
    design.step(max(0, load.cycles - (design.cycle - opens)))
    cycles, offered = design.cycle - opens, _taken(manifest, design, load) - counts
    clients = {port: client for client, port in enumerate(manifest.client_ports)}
    of_clients: dict[int, list[int]] = {client: [] for client in load.ports}
    for port, frame, first, *_ in design.tx():
        magic, opcode, *_, opaque, _ = _OPERATION.unpack_from(frame, HEADER_BYTES)
        if port in clients and (magic, opcode) == (_REPLY, _GET):
            of_clients[clients[port]].append(first - presented[opaque])
    latencies = sorted(latency for each in of_clients.values() for latency in each)
    after = _counters(manifest, design)
    grown = {name: (value - before[name]) % (1 << 32) for name, value in after.items()}
    return Result(
        cycles=cycles,
        clock_mhz=manifest.clock_mhz,
        offered=offered,
        hits=_total(grown, "hits"),
        misses=_total(grown, "misses"),
        dropped=_total(grown, "dropped"),
        replies=len(latencies),
        lost_replies=sum(
            value for name, value in grown.items() if name.startswith("queue_dropped")
        ),
        latencies=latencies,
        of_clients={client: sorted(each) for client, each in of_clients.items()},
        counters=grown,
    )


def _total(counts: Mapping[str, int], name: str) -> int:
    """A counter, or the sum of all of this name."""
    return sum(value for each, value in counts.items() if each.partition(".")[0] == name)


def _taken(manifest: Manifest, design: FpgaDesign, load: Load) -> int:
    ports = manifest.client_ports
    return sum(design.counters(ports[client])["rx_frames"] for client in load.ports)


def _counters(manifest: Manifest, design: FpgaDesign) -> dict[str, int]:
    """All counters. A reading takes a cycle."""
    return {
        name: design.read_register(address)
        for register in manifest.registers
        if register.kind == "counter"
        for name, address in register.addresses()
    }
