"""The vocabulary of the packet tests of p4/farreach: messages, and the number of each write.

The scenarios go through the rules of docs/schemes/farreach.md. The expected frames are encoded by
the codec. Entries are filled by messages of the controller.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from netkv.control.base import CloneSession, InsertEntry, SetDefault, TableWrite
from netkv.control.forwarding import ForwardingOnly
from netkv.model.messages import NO_BITS, Bit, Message, Op, Slot, Stamp, Status
from netkv.model.topology import CONTROLLER_IP, CPU_PORT, SERVICE_IP, Topology, client_ip, key_hash
from tests.p4programs.stf import SERVER_PORTS, Stf, encode, packet_in

INCARNATION = 40
FULL = bytes(range(128))
ZERO = Stamp()

TAKING_7, TAKING_8, REDIRECTED, TAKING_9 = (11, 12), (21, 22), (31, 32), (41, 42)
"""Ports whose ingress pipeline takes a snapshot, or redirects.

A reply that arrives at one of them must be in the pipeline of its server's port, with 1, 2 or 4
pipelines. Modulo 4, ports 11 and 31 equal the port of server 0, ports 12 and 32 the others'.
"""

TOPOLOGY = Topology.of_ports([1, 2], SERVER_PORTS)


def tables() -> Iterator[TableWrite]:
    """The table writes of a controller.

    Pipelines 0, 1 and 2 take snapshots, pipeline 3 redirects to pipeline 0, and pipeline 4, which
    has the hosts, is idle.
    """
    yield from ForwardingOnly(TOPOLOGY).tables()
    pipelines = {0: (), 1: TAKING_7, 2: TAKING_8, 3: REDIRECTED, 4: (1, 2, 3, 4)}
    for pipeline, ports in pipelines.items():
        for port in ports:
            control = "NetkvIngress.ingress_pipeline"
            table, action = f"{control}.ports", f"{control}.of_pipeline"
            yield InsertEntry(0, table, {"port": port}, action, {"pipeline": pipeline})
            yield CloneSession(0, port, port)
    yield CloneSession(0, CPU_PORT, CPU_PORT)
    for port in TAKING_9:
        yield CloneSession(0, port, port)
    for pipeline, action, params in (
        (0, "taking", {"number": 9}),
        (1, "taking", {"number": 7}),
        (2, "taking", {"number": 8}),
        (3, "redirect", {}),
    ):
        name = f"NetkvIngress.snapshot.{action}"
        match = {"pipeline": pipeline}
        yield InsertEntry(0, "NetkvIngress.snapshot.snapshot", match, name, params)


@dataclass
class WriteBackStf(Stf):
    """The packet test of a switch with a write-back cache; it counts the writes of each key."""

    incarnation: int = INCARNATION
    epoch: int = 1
    counters: Counter[int] = field(default_factory=Counter)
    generations: int = 100
    requests: int = 1000

    # Settings

    def settings(self, *, below: int = 0, threshold: int = 4, opened: int = 1) -> None:
        params = {"sample_below": below, "hot_threshold": threshold, "epoch": self.epoch}
        params["open"] = opened
        table, action = "NetkvIngress.settings.settings", "NetkvIngress.settings.configure"
        self.write([SetDefault(0, table, action, params)])

    def begin_incarnation(self, incarnation: int) -> None:
        self.incarnation = incarnation
        table, action = "NetkvEgress.incarnation.current", "NetkvEgress.incarnation.set"
        self.write([SetDefault(0, table, action, {"incarnation": incarnation})])

    def cached(self, key: bytes, entry: int, generation: int) -> None:
        """Insert a lookup entry."""
        params = {"entry": entry, "generation": generation}
        match = {"key": int.from_bytes(key)}
        lookup, action = "NetkvIngress.lookup.cache", "NetkvIngress.lookup.cached"
        self.write([InsertEntry(0, lookup, match, action, params)])

    # Frames

    def request(self, message: Message) -> Message:
        return replace(message, stamp=Stamp(self.incarnation)) if message.stamp is None else message

    def server_receives(self, message: Message, client: int = 1, server: int | None = None) -> None:
        """Expect a request at the server. A write has its number, unless a stamp is given."""
        if message.op in (Op.PUT, Op.DELETE) and message.stamp == Stamp(self.incarnation):
            message = replace(message, stamp=Stamp(self.incarnation, self.next_number(message.key)))
        super().server_receives(message, client, server)

    def new_request(self) -> int:
        """A request number that no client has used so far."""
        self.requests += 1
        return self.requests

    def next_number(self, key: bytes) -> int:
        """Advance the counter of this key, and return the number that the last write took."""
        counter = counter_of(key)
        self.counters[counter] = self.counters[counter] % 0xFFFFFFFF + 1
        return self.counters[counter]

    def set_counter(self, key: bytes, number: int) -> None:
        """Set the counter of this key, in the switch and here."""
        self.register("NetkvEgress.sequence.counters", counter_of(key), number)
        self.counters[counter_of(key)] = number

    def arrives_at(self, port: int, message: Message, client: int = 1) -> None:
        """A client's request arrives at `port`, which may not be the client's."""
        self.packet(port, encode(message, client_ip(client), SERVICE_IP))

    def answered_at(self, port: int, message: Message, client: int = 1) -> None:
        """The switch answers the client at `port`."""
        self.expect(port, encode(message, SERVICE_IP, client_ip(client)))

    def controller_asks(self, message: Message, reply: Message) -> None:
        """A message of the controller, and the answer of the switch."""
        self.controller_sends(message)
        self.controller_receives(reply)

    def controller_receives_original(self, port: int, message: Message, client: int = 1) -> None:
        """Three copies of an ORIGINAL about a write that arrived at `port`."""
        frame = encode(message, client_ip(client), CONTROLLER_IP)
        for _ in range(3):
            self.expect(CPU_PORT, packet_in(port) + frame)

    def server_replies(self, message: Message, port: int | None = None, client: int = 1) -> None:
        """A server's reply to a client; the switch forwards it unchanged."""
        server = TOPOLOGY.owner(message.key)
        frame = encode(message, server.ip, client_ip(client))
        self.packet(server.port if port is None else port, frame)
        self.expect(client, frame)

    # Exchanges

    def fill(
        self,
        key: bytes,
        entry: int,
        value: bytes = b"filled",
        stamp: Stamp | None = None,
        valid: bool = True,
    ) -> int:
        """FILL an entry, insert its lookup entry, VALIDATE it; return the generation."""
        self.generations += 1
        stamp = replace(stamp or Stamp(), generation=self.generations)
        message = about(Op.FILL, key, entry, stamp, value)
        self.controller_asks(message, message.reply(stamp=stamp, slot=Slot(entry)))
        self.cached(key, entry, self.generations)
        if valid:
            self.control(Op.VALIDATE, key, entry, self.generations)
        return self.generations

    def control(
        self, op: Op, key: bytes, entry: int, generation: int, status: Status = Status.OK
    ) -> None:
        """A message about an entry that is answered without a record."""
        message = about(op, key, entry, Stamp(generation=generation))
        self.controller_asks(
            message, message.reply(stamp=message.stamp, slot=Slot(entry), status=status)
        )

    def controller_reads(
        self,
        op: Op,
        key: bytes,
        entry: int,
        record: Stamp,
        value: bytes = b"",
        snapshot: int = 0,
    ) -> None:
        """EVICT or LOAD of the generation in `record`, answered with this record."""
        message = about(op, key, entry, Stamp(generation=record.generation), snapshot=snapshot)
        reply = message.reply(stamp=record, slot=message.slot, value=value, length=len(value))
        self.controller_asks(message, reply)

    def applied_write(self, key: bytes, value: bytes | None, client: int = 1, port: int = 1) -> int:
        """A write that the switch applies; its number is returned. Value None: DELETE."""
        message = write(key, value, self.new_request(), client, Stamp(self.incarnation))
        self.arrives_at(port, message, client)
        number = self.next_number(key)
        self.answered_at(port, applied(message, Stamp(self.incarnation, number)), client)
        return number

    def forwarded_write(self, message: Message, bits: Bit = NO_BITS) -> int:
        """A write that the switch stamps and forwards; its number is returned."""
        self.client_sends(message)
        number = self.next_number(message.key)
        self.server_receives(replace(message, stamp=Stamp(self.incarnation, number, 0, bits)))
        return number

    def hit(
        self, key: bytes, value: bytes | None, stamp: Stamp, request: int = 1, client: int = 1
    ) -> None:
        """A read that the switch answers."""
        message = read(key, request, client, Stamp(self.incarnation))
        self.client_sends(message, client)
        self.switch_answers(found(message, value, stamp), client)

    def missed(self, key: bytes, stamp: Stamp, value: bytes = b"", request: int = 1) -> None:
        """A read that the switch forwards with this stamp, and with an embedded `value`."""
        message = read(key, request, 1, Stamp(stamp.incarnation))
        self.client_sends(replace(message, stamp=Stamp(self.incarnation)))
        self.server_receives(replace(message, stamp=stamp, value=value, length=len(value)))


def read(key: bytes, request: int = 1, client: int = 1, stamp: Stamp = ZERO) -> Message:
    return Message(Op.GET, key, request, client, stamp=stamp)


def write(
    key: bytes, value: bytes | None, request: int, client: int = 1, stamp: Stamp = ZERO
) -> Message:
    """PUT, or DELETE for None."""
    op = Op.DELETE if value is None else Op.PUT
    value = value or b""
    return Message(op, key, request, client, stamp=stamp, length=len(value), value=value)


def applied(message: Message, stamp: Stamp) -> Message:
    """The switch's answer to a write."""
    return message.reply(stamp=stamp, cache_hit=True)


def found(message: Message, value: bytes | None, stamp: Stamp) -> Message:
    """The switch's answer to a read."""
    status = Status.NOT_FOUND if value is None else Status.OK
    value = value or b""
    fields = {"stamp": stamp, "value": value, "length": len(value), "status": status}
    return message.reply(cache_hit=True, **fields)


def about(
    op: Op, key: bytes, entry: int, stamp: Stamp, value: bytes = b"", snapshot: int = 0
) -> Message:
    """A message of the controller about an entry."""
    slot = Slot(entry, snapshot)
    return Message(op, key, 9, stamp=stamp, slot=slot, length=len(value), value=value)


def owned_by(server: int, number: int) -> bytes:
    """The `number`-th of the keys that this server owns."""
    for tried in range(1 << 20):
        key = (0xA0_0000_0000 + tried).to_bytes(16)
        if TOPOLOGY.owner(key).index == server:
            if not number:
                return key
            number -= 1
    raise AssertionError("no such key")


def counter_of(key: bytes) -> int:
    """Index of the counter that numbers the writes of this key."""
    return key_hash(key) & 0x7FFF


def sharing_counter(key: bytes) -> bytes:
    """Another key of the same owner whose writes are numbered by the same counter."""
    owner, counter = TOPOLOGY.owner(key), counter_of(key)
    for tried in range(1 << 22):
        other = (0xB0_0000_0000 + tried).to_bytes(16)
        if counter_of(other) == counter and TOPOLOGY.owner(other) == owner:
            return other
    raise AssertionError("no such key")
