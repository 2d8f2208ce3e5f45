"""The switch of the test rack: p4/farreach, run by netkv's engine.

`apply` carries out a table write in one pipeline and records it. It asserts that no entry number is
in two lookup entries and that no generation is used twice, which a real switch would not detect.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

from netkv import _engine, resources
from netkv.control.base import (
    DeleteEntry,
    InsertEntry,
    ModifyEntry,
    SetDefault,
    TableWrite,
)
from netkv.control.message_numbers import is_newer
from netkv.model.messages import Bit, Datagram, Message, Op, Slot, Stamp, decode, encode
from netkv.model.topology import CONTROLLER_IP, CPU_PORT, SERVICE_IP, Topology
from netkv.p4rt import entities, p4info
from netkv.sim.tables import PACKET_HEADER_BYTES, Tables

LOOKUP = "NetkvIngress.lookup.cache"
SNAPSHOT = "NetkvIngress.snapshot.snapshot"
PORTS = "NetkvIngress.ingress_pipeline.ports"
SETTINGS = "NetkvIngress.settings.settings"
INCARNATION = "NetkvEgress.incarnation.current"
COUNTERS = "NetkvEgress.sequence.counters"
UNUSED_SENDER = 64
"""A sender that no process of a rack has."""

Out = list[tuple[int, Datagram]]
OnSequence = Callable[[bytes, bytes, tuple[int, int]], None]


@cache
def bundle() -> bytes:
    """The program, compiled."""
    program = resources.programs()["farreach"]
    return _engine.compile_p4(str(program), [str(resources.path("p4"))])


@cache
def counters() -> int:
    """The id of the register of sequence numbers."""
    names = entities.Names(p4info.from_bundle(bundle()))
    return names.schema.registers.named(COUNTERS).id


@dataclass
class Pipeline:
    """The content of the tables of one pipeline."""

    lookup: dict[bytes, tuple[int, int]] = field(default_factory=dict)
    """Entry number and generation of each cached key."""
    rows: dict[int, tuple[str, int]] = field(default_factory=dict)
    """Rows of the table `snapshot`: pipeline → action and number of the snapshot."""
    ports: dict[int, int] = field(default_factory=dict)
    """The pipeline of each port."""
    settings: dict[str, int] = field(default_factory=dict)
    incarnation: int = 0

    def record(self, write: TableWrite) -> None:
        """Record a write that the switch has accepted."""
        match write:
            case InsertEntry(table=table) | ModifyEntry(table=table):
                self._record_entry(table, write)
            case DeleteEntry(table=table, match=match):
                (key,) = match.values()
                assert isinstance(key, int)
                if table == LOOKUP:
                    del self.lookup[key.to_bytes(16)]
                elif table == SNAPSHOT:
                    del self.rows[key]
            case SetDefault(table=table, params=params):
                if table == INCARNATION:
                    self.incarnation = params["incarnation"]
                elif table == SETTINGS:
                    self.settings = dict(params)

    def _record_entry(self, table: str, write: InsertEntry | ModifyEntry) -> None:
        params = write.params
        for key in write.match.values():
            if table == LOOKUP and isinstance(key, int):
                entry = params["entry"]
                others = (other for other, _ in self.lookup.values())
                assert entry not in others, "an entry number for two keys"
                self.lookup[key.to_bytes(16)] = (entry, params["generation"])
            elif table == SNAPSHOT and isinstance(key, int):
                self.rows[key] = (write.action.rsplit(".", 1)[1], params.get("number", 0))
            elif table == PORTS and isinstance(key, int):
                self.ports[key] = params["pipeline"]


class Switch:
    """A switch of 1, 2 or 4 pipelines with the servers of `topology`."""

    def __init__(self, topology: Topology, pipelines: int, on_sequence: OnSequence) -> None:
        """`on_sequence` is called for each write with key, value and sequence."""
        self._topology = topology
        self._on_sequence = on_sequence
        self._engine = _engine.Switch(bundle(), 0, "compiled", pipelines)
        self._tables = Tables(self._engine, bundle())
        self._first_number = 0
        self._generations: set[int] = set()
        """All generations so far."""
        self._filled: dict[tuple[int, int], int] = {}
        """The generation of each entry, by pipeline and number."""
        self.pipelines = [Pipeline() for _ in range(pipelines)]

    def restart(self) -> None:
        """Restart the switch: all tables and registers are empty."""
        self._engine.load(bundle())
        self.pipelines = [Pipeline() for _ in self.pipelines]
        self._filled.clear()
        self.count_from(self._first_number)

    def count_from(self, number: int) -> None:
        """Set the last sequence number of all counters, now and after each restart."""
        self._first_number = number
        if number:
            self._engine.write_register(counters(), None, number.to_bytes(4))

    def apply(self, write: TableWrite, pipeline: int) -> None:
        """Apply a write to one pipeline."""
        error = self._tables.carry_out(write, pipeline)
        assert not error, error
        self.pipelines[pipeline].record(write)

    def receive(self, port: int, datagram: Datagram) -> Out:
        """Process a frame; return the frames that leave."""
        request = datagram.message
        if request.op is Op.FILL and port == CPU_PORT:
            self._record_fill(request)
        out = self._process(port, datagram)
        for _, left in out:
            message = left.message
            applied = message.cache_hit and message.op in (Op.PUT_REPLY, Op.DELETE_REPLY)
            if (applied or message.op in (Op.PUT, Op.DELETE)) and message.stamp is not None:
                stamp = message.stamp
                self._on_sequence(request.key, request.value, (stamp.incarnation, stamp.number))
        return out

    def _record_fill(self, fill: Message) -> None:
        assert fill.stamp is not None
        assert fill.slot is not None
        generation = fill.stamp.generation
        entry = self._topology.owner(fill.key).port % len(self.pipelines), fill.slot.entry
        if is_newer(generation, self._filled.get(entry, 0)):
            assert generation not in self._generations, "a generation used twice"
            self._generations.add(generation)
            self._filled[entry] = generation

    def _process(self, port: int, datagram: Datagram) -> Out:
        frame = encode(datagram.message, datagram.source, datagram.destination)
        if port == CPU_PORT:
            frame = bytes(PACKET_HEADER_BYTES) + frame
        return [
            (egress, decode(sent[PACKET_HEADER_BYTES:] if egress == CPU_PORT else sent))
            for egress, sent in self._engine.process(port, frame)
        ]

    # ------------------------------------------------------------------------ inspection

    def ask(self, op: Op, key: bytes, entry: int, generation: int) -> Message:
        """The answer to a message of the controller about an entry."""
        stamp, slot = Stamp(generation=generation), Slot(entry)
        message = Message(op, key, stamp=stamp, slot=slot)
        ((_, answer),) = self._process(CPU_PORT, Datagram(CONTROLLER_IP, SERVICE_IP, message))
        return answer.message

    def record(self, key: bytes) -> Message:
        """The reply to LOAD of a cached key."""
        return self.ask(Op.LOAD, key, *self.pipelines[0].lookup[key])

    def records(self) -> dict[bytes, Message]:
        """The replies to LOAD of all keys whose entries are valid."""
        found = {key: self.record(key) for key in self.pipelines[0].lookup}
        return {key: record for key, record in found.items() if is_valid(record)}

    def outdate(self, key: bytes) -> int:
        """Outdate an entry by a too large write, which is then lost; return its number."""
        client, value = self._topology.clients[0], bytes(200)
        stamp = Stamp(self.pipelines[0].incarnation)
        put = Message(Op.PUT, key, 1, UNUSED_SENDER, length=len(value), value=value, stamp=stamp)
        ((_, forwarded),) = self._process(client.port, Datagram(client.ip, SERVICE_IP, put))
        assert forwarded.message.stamp is not None
        return forwarded.message.stamp.number


def is_valid(record: Message) -> bool:
    """Whether a reply to LOAD has the bit VALID."""
    return record.stamp is not None and bool(record.stamp.bits & Bit.VALID)
