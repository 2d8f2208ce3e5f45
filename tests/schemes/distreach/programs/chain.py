"""A chain of engine switches that run p4/distreach, a server, and a controller driven by hand.

Frames between them wait in `Chain.frames` until the test delivers, loses or copies them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from netkv import _engine
from netkv.control import base
from netkv.control.forwarding import ForwardingOnly
from netkv.model.messages import (
    MAX_CACHED_BYTES,
    Bit,
    Message,
    Op,
    Slot,
    Stamp,
    Status,
    decode,
    encode,
)
from netkv.model.topology import CPU_PORT, SERVICE_IP, Topology, client_ip, server_ip
from netkv.sim.tables import Tables
from tests.checksums import with_udp_checksum
from tests.p4programs.defects import Patch, compiled
from tests.p4programs.stf import packet_out

UP, DOWN = 1, 2
"""Ports of a switch: towards the clients, towards the server."""
CLIENTS = 3
TOPOLOGY = Topology.of_ports([UP] * CLIENTS, [DOWN])
CLOSED, OPEN, HOLD = 0, 1, 2
SEQUENCED, STORED = Bit.VALID, Bit.LATEST
"""Names of these bits between switches."""


@cache
def program(name: str, defect: Patch | None = None) -> bytes:
    """`upper` or `tail`, compiled, with a defect."""
    return compiled(f"distreach/{name}.p4", defect)


class Switch:
    """One switch of the chain."""

    def __init__(self, bundle: bytes, executor: str = "compiled") -> None:
        self.bundle = bundle
        self.engine = _engine.Switch(bundle, 0, executor)
        self.tables = Tables(self.engine, bundle)
        self.alive = True
        self.open = False
        """Whether its mode is not CLOSED."""
        self.empty = False
        """Whether it has restarted, and no recovery has filled it since."""
        self.lookup: dict[bytes, tuple[int, int]] = {}
        self._set_up()

    def _set_up(self) -> None:
        self.lookup = {}
        self.open = False
        for write in ForwardingOnly(TOPOLOGY).tables():
            self.write(write)
        for port in (UP, DOWN, CPU_PORT):
            self.write(base.CloneSession(0, port, port))
        match, action = {"address": server_ip(0)}, "NetkvIngress.chain.of_this_chain"
        self.write(base.InsertEntry(0, "NetkvIngress.chain.servers", match, action, {}))

    def restart(self) -> None:
        """Run the program again, with empty tables and registers but for its initial tables."""
        self.engine.load(self.bundle)
        self.alive = self.empty = True
        self._set_up()

    def write(self, write: base.TableWrite) -> None:
        refusal = self.tables.carry_out(write, 0)
        assert not refusal, refusal

    def mode(self, mode: int, *, below: int = 0, threshold: int = 0xFFFF) -> None:
        table, action = "NetkvIngress.settings.settings", "NetkvIngress.settings.configure"
        params = {"sample_below": below, "hot_threshold": threshold, "epoch": 1, "mode": mode}
        self.write(base.SetDefault(0, table, action, params))
        self.open = mode != CLOSED

    def incarnation(self, incarnation: int, *, position: int, loss: int, previous: int = 0) -> None:
        table, action = "NetkvEgress.incarnation.current", "NetkvEgress.incarnation.set"
        params = {"incarnation": incarnation, "previous": previous, "last_loss": loss}
        self.write(base.SetDefault(0, table, action, params | {"position": position}))

    def cache(self, key: bytes, entry: int, generation: int) -> None:
        """Insert a lookup entry."""
        match, params = {"key": int.from_bytes(key)}, {"entry": entry, "generation": generation}
        table, action = "NetkvIngress.lookup.cache", "NetkvIngress.lookup.cached"
        self.write(base.InsertEntry(0, table, match, action, params))
        self.lookup[key] = (entry, generation)

    def forget(self, key: bytes) -> None:
        """Delete a lookup entry."""
        match = {"key": int.from_bytes(key)}
        self.write(base.DeleteEntry(0, "NetkvIngress.lookup.cache", match))
        del self.lookup[key]

    def control(self, op: Op, key: bytes, entry: int, stamp: Stamp, value: bytes = b"") -> Message:
        """A message of the controller, and its answer."""
        slot = Slot(entry, 0)
        message = Message(op, key, 9, stamp=stamp, slot=slot, length=len(value), value=value)
        ((port, frame),) = self.engine.process(CPU_PORT, packet_out(0) + encode(message))
        assert port == CPU_PORT
        answer = decode(frame[2:]).message
        assert answer.op == op + 1
        return answer


@dataclass
class Record:
    """A record of the server; `value` None: deleted."""

    stamp: Stamp
    value: bytes | None


def older(a: Stamp, b: Stamp) -> bool:
    """Whether `a` is an older sequence than `b`. Tests do not wrap."""
    return (a.incarnation, a.number) < (b.incarnation, b.number)


@dataclass
class Server:
    """FarReach's server (docs/schemes/farreach.md), as far as the switches see it."""

    records: dict[bytes, Record] = field(default_factory=dict)
    answered: dict[tuple[int, int], Status] = field(default_factory=dict)

    def stored(self, key: bytes) -> Record:
        return self.records.get(key, Record(Stamp(), None))

    def restore(self, key: bytes, record: Record) -> None:
        if older(self.stored(key).stamp, record.stamp):
            self.records[key] = record

    def serve(self, message: Message) -> Message:
        """The reply to a request."""
        stamp = message.stamp
        assert stamp
        if message.op is Op.GET:
            record, bits = self.stored(message.key), Bit(0)
            if stamp.bits & Bit.EMBEDDED:
                value = None if stamp.bits & Bit.DELETED else message.value[: message.length]
                if older(record.stamp, stamp):
                    record, bits = Record(stamp, value), Bit.EMBEDDED
            status = Status.NOT_FOUND if record.value is None else Status.OK
            value = record.value or b""
            stamp = replace(record.stamp, generation=stamp.generation, bits=bits)
            return message.reply(status=status, stamp=stamp, value=value, length=len(value))
        sent = (message.sender, message.request)
        if sent not in self.answered:
            if stamp.bits & Bit.PAST:
                # A refusal has the incarnation of the chain, and no sequence number.
                return message.reply(status=Status.UNKNOWN, stamp=Stamp(stamp.incarnation))
            value = None if message.op is Op.DELETE else message.value[: message.length]
            self.restore(message.key, Record(Stamp(stamp.incarnation, stamp.number), value))
            self.answered[sent] = Status.OK
        mine = self.stored(message.key).stamp
        return message.reply(status=Status.OK, stamp=Stamp(mine.incarnation, mine.number))


SERVER, CLIENT = -2, -1
"""Places of frames that are not at a switch."""


@dataclass
class Frame:
    """A frame on its way to the switch with number `to`, the server, or a client."""

    to: int
    port: int
    data: bytes


@dataclass
class Chain:
    """Switches from the head to the tail, in this order."""

    switches: list[Switch]
    server: Server = field(default_factory=Server)
    frames: list[Frame] = field(default_factory=list)
    number: int = 40
    """The incarnation."""
    loss: int = 40
    """That of the last loss of a switch."""
    generation: int = 0
    requests_to: int = SERVICE_IP
    """Address of requests: of the service, or of the server if another switch has rewritten it."""
    checksums: bool = True
    """Whether clients and the server send UDP checksums."""
    bypassed: set[int] = field(default_factory=set)
    """Switches above the tail that requests and replies do not pass, since others are down."""

    @classmethod
    def of(
        cls,
        length: int,
        upper: Patch | None = None,
        tail: Patch | None = None,
        executor: str = "compiled",
    ) -> Chain:
        """A chain of so many switches, open; `upper`, `tail`: defects."""
        bundles = [program("upper", upper)] * (length - 1) + [program("tail", tail)]
        chain = cls([Switch(bundle, executor) for bundle in bundles])
        for _ in chain.begin():
            pass
        for switch in chain.switches:
            switch.mode(OPEN)
        return chain

    @property
    def live(self) -> list[int]:
        return [number for number, switch in enumerate(self.switches) if switch.alive]

    @property
    def path(self) -> list[int]:
        """The switches that requests pass, in this order."""
        return [place for place in self.live if place not in self.bypassed]

    @property
    def head(self) -> Switch:
        return self.switches[self.live[0]]

    @property
    def tail(self) -> Switch:
        return self.switches[-1]

    def begin(self, switches: Sequence[Switch] | None = None) -> Iterator[str]:
        """The incarnation of the whole chain after a loss, for these switches (None: all), one
        after another."""
        self.loss = self.number
        for switch in self.switches if switches is None else switches:
            position = self.switches.index(switch)
            switch.incarnation(self.number, position=position, loss=self.loss)
            yield "a new incarnation"

    def tail_begins(self, *, empty: bool = False) -> None:
        """The next incarnation, in which the tail is the head; `empty`: it has no records."""
        self.number += 1
        self.loss = self.number
        previous = self.number if empty else 0
        self.tail.incarnation(self.number, position=0, loss=self.loss, previous=previous)

    def raise_incarnation(self) -> Iterator[str]:
        """The next incarnation, without a loss. The tail is the first to know it, so what the
        others stamp is never of an incarnation that the next switch does not know."""
        previous, self.number = self.number, self.number + 1
        for place in reversed(self.live):
            switch = self.switches[place]
            switch.incarnation(self.number, position=place, previous=previous, loss=self.loss)
            yield "a new incarnation"

    # ------------------------------------------------------------------------------ frames

    def send(self, message: Message) -> None:
        """A client sends a request; it is at the first live switch next."""
        frame = self._sent(encode(message, client_ip(message.sender), self.requests_to))
        # The servers are behind the tail.
        first = self.path[0] if self.path else len(self.switches) - 1
        self.frames.append(Frame(first, UP, frame))

    def _sent(self, frame: bytes) -> bytes:
        """A frame as its sender sends it."""
        return with_udp_checksum(frame, None if self.checksums else 0)

    def deliver(self, frame: Frame) -> list[Message]:
        """Deliver a frame; return the messages that a client gets."""
        if frame.to == CLIENT:
            return [decode(frame.data).message]
        if frame.to == SERVER:
            datagram = decode(frame.data)
            reply = encode(
                self.server.serve(datagram.message),
                server_ip(0),
                client_ip(datagram.message.sender),
            )
            self.frames.append(Frame(len(self.switches) - 1, DOWN, self._sent(reply)))
            return []
        switch = self.switches[frame.to]
        if not switch.alive:
            return []
        for port, data in switch.engine.process(frame.port, frame.data):
            # What leaves has a right checksum if what arrived has one.
            assert data == with_udp_checksum(data, None if any(frame.data[40:42]) else 0)
            self.frames.append(Frame(*self._beyond(frame.to, port), data))
        return []

    def _beyond(self, place: int, port: int) -> tuple[int, int]:
        """What is at the other end of a port, and its port there."""
        assert port in (UP, DOWN)
        if port == DOWN:
            below = [other for other in self.path if other > place]
            if below:
                return below[0], UP
            last = len(self.switches) - 1
            return (SERVER, 0) if place == last else (last, UP)
        above = [other for other in self.path if other < place]
        return (above[-1], DOWN) if above else (CLIENT, 0)

    def step(self) -> list[Message]:
        """Deliver the frame that waits longest."""
        return self.deliver(self.frames.pop(0))

    def ask(self, message: Message) -> list[Message]:
        """Send a request and deliver everything; return what clients get."""
        self.send(message)
        return self.settle()

    def settle(self) -> list[Message]:
        """Deliver everything that is under way; return what clients get."""
        received = []
        while self.frames:
            received += self.step()
        return received

    # -------------------------------------------------------------------------- controller

    def admit(self, key: bytes, entry: int, record: Record | None = None) -> None:
        """Admit a key to the whole chain, first layer first. `record`: None for the server's."""
        for _ in self.admitting(key, entry, record):
            pass

    def admitting(self, key: bytes, entry: int, record: Record | None = None) -> Iterator[str]:
        """`admit` in steps, from the head to the tail."""
        self.generation += 1
        generation = self.generation
        record = record or self.server.stored(key)
        if len(record.value or b"") > MAX_CACHED_BYTES:
            return
        bits = Bit.DELETED if record.value is None else Bit(0)
        stamp = replace(record.stamp, generation=generation, bits=bits)
        for place in self.live:
            switch = self.switches[place]
            switch.control(Op.FILL, key, entry, stamp, record.value or b"")
            switch.cache(key, entry, generation)
            yield "filled"
            switch.control(Op.VALIDATE, key, entry, Stamp(generation=generation))
            yield "valid"

    def evict(self, key: bytes) -> None:
        """Evict a key from the whole chain, last layer first."""
        for _ in self.evicting(key):
            pass

    def evicting(self, key: bytes) -> Iterator[str]:
        """`evict` in steps: yields `frozen`, `restored`, `gone from the tail`."""
        entry, generation = self.tail.lookup[key]
        stamp = Stamp(generation=generation)
        record = recorded(self.tail.control(Op.EVICT, key, entry, stamp))
        yield "frozen"
        self.server.restore(key, record)
        yield "restored"
        for place in reversed(self.live):
            switch = self.switches[place]
            if key in switch.lookup:
                switch.control(Op.RETIRE, key, entry, stamp)
                switch.forget(key)
            if switch is self.tail:
                yield "gone from the tail"

    def tolerates(self, place: int) -> bool:
        """Whether another switch has records, so that this one may lose its state."""
        return any(it.alive and not it.empty for n, it in enumerate(self.switches) if n != place)

    def crash(self, place: int) -> None:
        """A switch loses its state and stays down."""
        self.switches[place].alive = False

    def recover(self, restart: Sequence[int] = ()) -> None:
        """The recovery of the chain after a loss; `restart`: switches that run again, empty."""
        for _ in self.recovering(restart):
            pass

    def recovering(self, restart: Sequence[int] = ()) -> Iterator[str]:
        """`recover` in steps (docs/schemes/distreach.md, "Recovery"): yields what was done."""
        survivors = [it for it in self.switches if it.alive and not it.empty]
        for switch in survivors:
            switch.mode(HOLD)
            yield "holding"
        for place in restart:
            self.switches[place].restart()
            if self.switches[place] is not self.tail:
                self.switches[place].mode(HOLD)
            yield "restarting"
        if self.tail not in survivors and self.tail.alive:
            # An earlier recovery may have begun to write its lookup table.
            assert survivors[-1].lookup.keys() >= self.tail.lookup.keys()
            for key in survivors[-1].lookup:
                self.generation += 1
                if key in self.tail.lookup:
                    self.tail.forget(key)
                self.tail.cache(key, survivors[-1].lookup[key][0], self.generation)
                yield "held by the restarted tail"
        if self.tail.alive:
            self.tail_begins(empty=self.tail not in survivors)
            self.tail.mode(HOLD)
            yield "the tail is the head"
        loaded: list[tuple[bytes, int, Record]] = []
        for key, (entry, generation) in survivors[-1].lookup.items():
            report = survivors[-1].control(Op.LOAD, key, entry, Stamp(generation=generation))
            assert report.stamp
            if report.status is Status.OK and report.stamp.bits & Bit.VALID:
                loaded.append((key, entry, recorded(report)))
            yield "loading"
        for key, _, record in loaded:
            self.server.restore(key, record)
            yield "updating the server"
        for switch in self.switches:
            switch.empty = False  # the server has all records
        if len(self.live) == len(self.switches):
            yield from self._admitting_again(loaded)
            return
        for switch in self.switches:
            for key in list(switch.lookup) if switch.alive else ():
                switch.forget(key)
                yield "removing"
        if self.tail.alive:
            self.tail.incarnation(self.number, position=0, loss=self.loss)
            self.tail.mode(OPEN)
            yield "open without a cache"

    def _admitting_again(self, loaded: list[tuple[bytes, int, Record]]) -> Iterator[str]:
        """The last part of a recovery of a whole chain."""
        fillings = {}
        for key, entry, record in loaded:
            self.generation += 1
            fillings[key] = (entry, self.generation, record)
        for switch in self.switches:
            for key in [key for key in switch.lookup if key not in fillings]:
                switch.forget(key)
            for key, (entry, generation, _) in fillings.items():
                if key in switch.lookup:
                    switch.forget(key)
                switch.cache(key, entry, generation)
                yield "a lookup entry"
        self.number += 1
        # Before its entries are filled, so that they have no numbers of an earlier incarnation. The
        # tail has an incarnation of its own.
        yield from self.begin(self.switches[:-1])
        for switch in self.switches:
            for key, (entry, generation, record) in fillings.items():
                bits = Bit.VALID | (Bit.DELETED if record.value is None else Bit(0))
                stamp = replace(record.stamp, generation=generation, bits=bits)
                switch.control(Op.FILL, key, entry, stamp, record.value or b"")
                yield "filled"
        yield from self.begin([self.tail])
        # From the tail up: what a switch lets pass finds the next one open.
        for switch in reversed(self.switches):
            switch.mode(OPEN)
            yield "opening"


def recorded(report: Message) -> Record:
    """The record in a report of a switch."""
    assert report.stamp
    value = None if report.stamp.bits & Bit.DELETED else report.value[: report.length]
    return Record(Stamp(report.stamp.incarnation, report.stamp.number), value)
