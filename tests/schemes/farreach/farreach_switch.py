"""FarReach's switch in miniature, rule by rule as docs/farreach.md has them.

It handles messages, not bytes. Table writes reach its pipelines one by one, as `apply` is called.
It asserts what a real one would suffer from silently: an entry number in two lookup entries, a
generation given twice.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from netkv.control.base import (
    CloneSession,
    InsertEntry,
    ModifyEntry,
    MulticastGroup,
    SetDefault,
    TableWrite,
)
from netkv.control.message_numbers import is_newer
from netkv.control.messages import NO_BITS, Bit, Datagram, Message, Op, Place, Stamp, Status
from netkv.control.topology import CPU_PORT, SERVICE_IP, Topology, key_hash

RANGE = 1 << 32
COUNTERS = 32_768
FITS = 128
WRITES = (Op.PUT, Op.DELETE)
REPLIES = (Op.GET_REPLY, Op.PUT_REPLY, Op.DELETE_REPLY)

INVALID, VALID, TO_BE_EVICTED = 0, 1, 3

Sequence = tuple[int, int]


def newer(a: int, b: int) -> bool:
    """Of two numbers of this life; 0 is from before."""
    return a != 0 and (b == 0 or is_newer(a, b))


@dataclass
class Held:
    """The record of an entry."""

    value: bytes = b""
    sequence: Sequence = (0, 0)
    latest: bool = False
    dirty: bool = False
    deleted: bool = False

    @property
    def number(self) -> int:
        return self.sequence[1]


@dataclass
class Cell:
    """All that is known under an entry number."""

    generation: int = 0
    key: bytes = b""
    validity: int = INVALID
    retired: bool = False
    frequency: tuple[int, int] = (0, 0)
    floor: int = 0
    reported: int = 0
    held: Held = field(default_factory=Held)


@dataclass
class Ingress:
    """What one pipeline knows of where frames go."""

    lookup: dict[int, tuple[int, int]] = field(default_factory=dict)
    settings: dict[str, int] = field(default_factory=dict)
    rows: dict[int, tuple[str, int]] = field(default_factory=dict)
    ports: dict[int, int] = field(default_factory=dict)
    routes: dict[int, int] = field(default_factory=dict)


@dataclass
class Egress:
    """An instance of the cache."""

    incarnation: int = 0
    counters: dict[int, int] = field(default_factory=dict)
    cells: dict[int, Cell] = field(default_factory=dict)
    sketch: dict[bytes, tuple[int, int]] = field(default_factory=dict)
    seen: dict[tuple[int, int], tuple[int, Sequence | None]] = field(default_factory=dict)

    def cell(self, entry: int) -> Cell:
        return self.cells.setdefault(entry, Cell())

    def number_of(self, stamp: Stamp) -> int:
        """The number of a stamp, if its life is this one."""
        return stamp.number if self.is_this(stamp.life) else 0

    def is_this(self, incarnation: int) -> bool:
        return (
            incarnation in (self.incarnation, (self.incarnation - 1) % RANGE) and incarnation != 0
        )


Out = list[tuple[int, Datagram]]
Passed = Callable[[bytes, bytes, Sequence], None]


class ModelSwitch:
    """A switch of 1, 2 or 4 pipelines with the servers of `topology`."""

    def __init__(
        self,
        topology: Topology,
        pipelines: int,
        passed: Passed,
    ) -> None:
        """`passed` hears of each write: key, value and the sequence that it got."""
        self.topology = topology
        self.passed = passed
        self.pipelines = pipelines
        self.generations: set[int] = set()
        self.dropped: dict[str, int] = {}
        self.first_number = 0  # counters begin here after a start
        self.power_on()

    def power_on(self) -> None:
        """Tables and registers are empty."""
        self.ingress = [Ingress() for _ in range(self.pipelines)]
        self.egress = [Egress() for _ in range(self.pipelines)]
        self.sessions: dict[int, int] = {}

    # -------------------------------------------------------------------------- tables

    def apply(self, write: TableWrite, pipeline: int) -> None:
        """A write reaches one pipeline."""
        into = self.ingress[pipeline]
        if isinstance(write, CloneSession):
            self.sessions[write.session] = write.port
            return
        if isinstance(write, SetDefault):
            if write.table == "NetkvEgress.incarnation.current":
                self.egress[pipeline].incarnation = write.params["incarnation"]
            else:
                assert write.table == "NetkvIngress.settings.settings"
                into.settings = dict(write.params)
            return
        assert not isinstance(write, MulticastGroup)
        name = write.table.rsplit(".", 1)[1]
        key = next(iter(write.match.values()))
        tables: dict[str, dict[int, Any]]
        tables = {"cache": into.lookup, "snapshot": into.rows, "ports": into.ports}
        table = tables.get(name)
        if table is None:
            if name == "ipv4" and isinstance(write, InsertEntry) and isinstance(key, int):
                into.routes[key] = write.params["port"]
            return
        assert isinstance(key, int)
        if isinstance(write, InsertEntry | ModifyEntry):
            assert (key in table) == isinstance(write, ModifyEntry), f"{name}: {key} was there"
            if name == "cache":
                entry, generation = write.params["entry"], write.params["generation"]
                others = [other for other, _ in into.lookup.values()]
                assert entry not in others, "an entry number for two keys"
                into.lookup[key] = (entry, generation)
            elif name == "snapshot":
                action = write.action.rsplit(".", 1)[1]
                into.rows[key] = (action, write.params.get("number", 0))
            else:
                into.ports[key] = write.params["pipeline"]
        else:
            del table[key]

    # ------------------------------------------------------------------------- packets

    def receive(self, port: int, datagram: Datagram) -> Out:
        """A frame comes in."""
        message = datagram.message
        pipeline = 0 if port == CPU_PORT else self.ingress[0].ports.get(port, 0)
        into = self.ingress[pipeline]
        action, number = into.rows.get(pipeline, ("", 0))
        is_request = message.op in (Op.GET, *WRITES)
        if is_request and not into.settings.get("open"):
            return self._drop("closed")
        if action == "redirect" and (message.op in WRITES or message.op in REPLIES):
            into = self.ingress[0]
            action, number = into.rows.get(0, ("", 0))
        taking = number if action == "taking" else 0
        placed = message.op >> 4 == 4
        if placed and port != CPU_PORT:
            return self._drop("forbidden")
        if message.op in REPLIES and message.stamp is not None:
            return self._reply(port, datagram, into, taking)
        if is_request or placed:
            if into.routes == {}:
                return self._drop("no route")
            server = self.topology.owner(message.key)
            egress = self.egress[server.port % self.pipelines]
            if placed:
                return [(CPU_PORT, self._answer(datagram, self._control(egress, message, into)))]
            return self._request(port, server.ip, server.port, datagram, into, egress, taking)
        to = datagram.destination
        if to == SERVICE_IP:
            server = self.topology.owner(message.key)
            to = server.ip
        if to not in into.routes:
            return self._drop("no route")
        return [(into.routes[to], Datagram(datagram.source, to, message))]

    def _drop(self, why: str) -> Out:
        self.dropped[why] = self.dropped.get(why, 0) + 1
        return []

    def _answer(self, datagram: Datagram, reply: Message) -> Datagram:
        return Datagram(SERVICE_IP, datagram.source, reply)

    # ------------------------------------------------------------------- clients' frames

    def _request(
        self,
        port: int,
        server_ip: int,
        server_port: int,
        datagram: Datagram,
        into: Ingress,
        egress: Egress,
        taking: int,
    ) -> Out:
        message = datagram.message
        stamp = message.stamp
        assert stamp is not None, "requests of clients are stamped"
        found = into.lookup.get(int.from_bytes(message.key))
        cell = egress.cell(found[0]) if found else Cell()
        ours = found is not None and cell.generation == found[1]
        hot = self._count(egress, cell if ours and cell.validity else None, message.key, into)
        bits = Bit.HOT if hot else NO_BITS
        onward = Datagram(datagram.source, server_ip, message)
        if message.op is Op.GET:
            return self._get(port, datagram, onward, server_port, cell, ours, bits)

        number = egress.counters.get(key_hash(message.key) % COUNTERS, self.first_number)
        number = (number + 1) % RANGE or 1
        egress.counters[key_hash(message.key) % COUNTERS] = number
        fits = message.op is Op.DELETE or message.length <= FITS
        slot = (message.sender, message.request % 1024)
        known = egress.seen.get(slot)
        new = known is None or known[0] != message.request
        if known is not None and new and not is_newer(message.request, known[0]):
            return self._drop("late")
        if not new:
            assert known is not None
            if known[1] is not None:
                reply = message.reply(stamp=Stamp(*known[1]), cache_hit=True)
                return self._clone(port, self._answer(datagram, reply))
        sequence = (egress.incarnation, number)
        self.passed(message.key, message.value, sequence)
        applied = new and ours and cell.validity == VALID and fits and egress.is_this(stamp.life)
        if new:
            egress.seen[slot] = (message.request, sequence if applied else None)
        if applied:
            out: Out = []
            if taking and cell.reported != taking:
                cell.reported = taking
                original = self._whole(message, cell, found, taking)
                out += self._clone(CPU_PORT, original) * 3
            deleted = message.op is Op.DELETE
            cell.held = Held(message.value, sequence, True, True, deleted)
            cell.floor = number
            reply = message.reply(stamp=Stamp(*sequence), cache_hit=True)
            return out + self._clone(port, self._answer(datagram, reply))
        if ours and (
            cell.validity == TO_BE_EVICTED or (cell.validity == VALID and new and not fits)
        ):
            cell.held.latest = False
            cell.floor = number
        if stamp.life and not egress.is_this(stamp.life):
            bits |= Bit.PAST
        stamped = replace(message, stamp=Stamp(egress.incarnation, number, 0, bits))
        return [(server_port, replace(onward, message=stamped))]

    def _get(
        self,
        port: int,
        datagram: Datagram,
        onward: Datagram,
        server_port: int,
        cell: Cell,
        ours: bool,
        bits: Bit,
    ) -> Out:
        message, held = datagram.message, cell.held
        generation = 0
        if ours and cell.validity:
            if held.latest:
                reply = message.reply(
                    status=Status.NOT_FOUND if held.deleted else Status.OK,
                    stamp=Stamp(*held.sequence, 0, Bit.DIRTY if held.dirty else NO_BITS),
                    value=held.value,
                    length=len(held.value),
                    cache_hit=True,
                )
                return self._clone(port, self._answer(datagram, reply))
            generation = cell.generation if cell.validity == VALID else 0
            if held.dirty:
                bits |= Bit.EMBEDDED | (Bit.DELETED if held.deleted else NO_BITS)
                stamp = Stamp(*held.sequence, generation, bits)
                message = replace(message, stamp=stamp, value=held.value, length=len(held.value))
                return [(server_port, replace(onward, message=message))]
        stamp = replace(message.stamp or Stamp(), generation=generation, bits=bits)
        return [(server_port, replace(onward, message=replace(message, stamp=stamp)))]

    def _count(self, egress: Egress, cell: Cell | None, key: bytes, into: Ingress) -> bool:
        if not into.settings.get("sample_below"):
            return False
        epoch = into.settings["epoch"]
        before = cell.frequency if cell else egress.sketch.get(key, (0, 0))
        count = min((before[1] if before[0] == epoch else 0) + 1, 0xFFFF)
        if cell:
            cell.frequency = (epoch, count)
            return False
        egress.sketch[key] = (epoch, count)
        return count >= into.settings["hot_threshold"]

    def _reply(self, port: int, datagram: Datagram, into: Ingress, taking: int) -> Out:
        """A reply of a server passes the instance of its key on its way to the client."""
        message = datagram.message
        assert message.stamp is not None
        found = into.lookup.get(int.from_bytes(message.key))
        egress = self.egress[port % self.pipelines]
        cell = egress.cell(found[0]) if found else Cell()
        if found and cell.generation == found[1] and cell.validity:
            number = egress.number_of(message.stamp)
            if (
                message.op is Op.GET_REPLY
                and cell.validity == VALID
                and message.stamp.generation == cell.generation
                and not message.stamp.bits & Bit.EMBEDDED
                and message.length <= FITS
                and (number == cell.floor or newer(number, cell.floor))
                and not (taking and cell.reported != taking)
            ):
                sequence = (message.stamp.life, number) if number else (0, 0)
                deleted = message.status is Status.NOT_FOUND
                cell.held = Held(message.value, sequence, True, False, deleted)
                cell.floor = number
            elif newer(number, cell.floor):
                cell.held.latest = False
                cell.floor = number
        if datagram.destination not in into.routes:
            return self._drop("no route")
        return [(into.routes[datagram.destination], datagram)]

    # --------------------------------------------------------------- controller's frames

    def _control(self, egress: Egress, message: Message, into: Ingress) -> Message:
        stamp, place = message.stamp, message.place
        assert stamp is not None
        assert place is not None
        cell = egress.cell(place.entry)
        if message.op is Op.FILL:
            if is_newer(stamp.generation, cell.generation) or cell.generation == 0:
                assert stamp.generation not in self.generations, "a generation given twice"
                self.generations.add(stamp.generation)
                number = egress.number_of(stamp)
                sequence = (stamp.life, number) if number else (0, 0)
                deleted = bool(stamp.bits & Bit.DELETED)
                held = Held(message.value, sequence, False, False, deleted)
                egress.cells[place.entry] = Cell(
                    stamp.generation, message.key, floor=number, held=held
                )
            ok = egress.cell(place.entry).generation == stamp.generation
            return self._said(message, Status.OK if ok else Status.STALE)
        if cell.generation != stamp.generation or not stamp.generation:
            return self._said(message, Status.STALE)
        if message.op is Op.COUNT:
            epoch, count = cell.frequency
            count = count if epoch == into.settings.get("epoch") else 0
            return replace(self._said(message, Status.OK), place=Place(place.entry, count))
        if not cell.retired:
            if message.op is Op.VALIDATE and cell.validity == INVALID:
                cell.validity = VALID
            elif message.op is Op.EVICT:
                cell.validity = TO_BE_EVICTED
            elif message.op is Op.RETIRE:
                cell.validity, cell.retired = INVALID, True
        if message.op in (Op.EVICT, Op.LOAD):
            return self._whole(message, cell, (place.entry, cell.generation), place.number).message
        return self._said(message, Status.OK)

    def _said(self, message: Message, status: Status) -> Message:
        return message.reply(status=status, stamp=message.stamp, place=message.place)

    def _whole(
        self, message: Message, cell: Cell, found: tuple[int, int] | None, number: int
    ) -> Datagram:
        """The record of an entry, for the controller."""
        assert found is not None
        held = cell.held
        bits = NO_BITS
        for bit, is_set in (
            (Bit.LATEST, held.latest),
            (Bit.DIRTY, held.dirty),
            (Bit.DELETED, held.deleted),
            (Bit.VALID, cell.validity != INVALID),
            (Bit.OVERWRITTEN, cell.reported == number != 0),
        ):
            bits |= bit if is_set else NO_BITS
        fields = {
            "stamp": Stamp(*held.sequence, cell.generation, bits),
            "place": Place(found[0], number),
            "value": held.value,
            "length": len(held.value),
        }
        if message.op in WRITES:
            fields["op"] = Op.ORIGINAL
        return Datagram(SERVICE_IP, 0x0A000001, message.reply(**fields))

    def _clone(self, port: int, datagram: Datagram) -> Out:
        return [(self.sessions[port], datagram)] if port in self.sessions else self._drop("session")
