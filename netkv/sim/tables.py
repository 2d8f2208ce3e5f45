"""Carries out the table writes of a control plane on a simulated switch.

Like a P4Runtime server, it translates names to ids, numbers to bytes, and errors to sentences. It
also computes the sizes of the P4Runtime messages, since control-plane bandwidth is a metric.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from netkv.control import base
from netkv.p4rt import entities, p4info
from netkv.p4rt.schema import Action, Field, Table
from netkv.p4rt.updates import plain_writes, update

if TYPE_CHECKING:
    from netkv import _engine

PACKET_HEADER_BYTES = 2
"""Size of the controller headers: a port of 9 bits and padding (p4/common/wire.p4)."""


class Tables:
    """The tables of one switch, by the names of its program."""

    def __init__(self, switch: _engine.Switch, bundle: bytes) -> None:
        self._switch = switch
        self._names = _names_of(bundle)
        self._schema = self._names.schema
        self.plain = _plain_writes_of(bundle)
        """Reads plain writes."""
        self._sizes: dict[tuple[type, str, str], int] = {}
        """Size of the messages of each kind of write; it hardly depends on the values."""
        self._digests = {
            digest.id: (digest.name, tuple(member.name for member in digest.members))
            for digest in self._schema.digests
        }
        """Name and members of each digest, by number."""
        self.pipelines = switch.pipelines
        """Number of pipelines of the switch; each has its own tables."""

    @cached_property
    def packet_bytes(self) -> int:
        """Bytes of a P4Runtime packet-in or packet-out without its frame."""
        packet = self._names.packet_out(b"", {"egress_port": 0, "pad": 0})
        # The payload's tag and length take 3 bytes for frames of 128 to 16,383 bytes.
        return packet.ByteSize() + 3

    def carry_out(self, write: base.TableWrite, pipeline: int) -> str:
        """Carries out `write` in a pipeline; returns the reason if the switch refuses it, or ""."""
        reason = self.plain.carry_out(self._switch, write, pipeline)
        if reason is not None:
            return reason
        from netkv import _engine

        try:
            self._carry_out(write, pipeline)
        except _engine.ControlError as error:
            return str(error)
        return ""

    def _carry_out(self, write: base.TableWrite, pipeline: int) -> None:
        if isinstance(write, base.CloneSession):
            if pipeline == 0:  # the packet replication engine is shared by all pipelines
                self._switch.insert_clone_session(write.session, [(write.port, 0)])
            return
        if isinstance(write, base.MulticastGroup):
            if pipeline == 0:
                replicas = [(port, 0) for port in write.ports]
                self._switch.insert_multicast_group(write.group, replicas)
            return
        table = self._schema.tables.named(write.table)
        switch = self._switch
        match write:
            case base.InsertEntry() | base.ModifyEntry():
                action = self._schema.actions.named(write.action)
                call: _engine.Action = ("action", action.id, _params(action, write.params))
                matches = _matches(table, write)
                if isinstance(write, base.InsertEntry):
                    switch.insert_entry(table.id, matches, call, write.priority, pipeline=pipeline)
                else:
                    switch.modify_entry(table.id, matches, call, write.priority, pipeline=pipeline)
            case base.DeleteEntry():
                matches = _matches(table, write)
                switch.delete_entry(table.id, matches, write.priority, pipeline=pipeline)
            case base.SetDefault():
                action = self._schema.actions.named(write.action)
                params = _params(action, write.params)
                switch.set_default(table.id, action.id, params, pipeline=pipeline)

    def read_message_bytes(self, request: base.ReadTable, read: base.TableRead) -> int:
        """Bytes of the P4Runtime entities of a read table."""
        if not read.entries:
            return 0
        first = read.entries[0]
        insert = base.InsertEntry(0, request.table, first.match, first.action, first.params)
        return len(read.entries) * self.write_message_bytes(insert)

    def write_message_bytes(self, write: base.TableWrite) -> int:
        """Bytes of the P4Runtime update."""
        kind = (type(write), getattr(write, "table", ""), getattr(write, "action", ""))
        size = self._sizes.get(kind)
        if size is None:
            size = self._sizes[kind] = update(self._names, write).ByteSize()
        return size

    def read(self, request: base.ReadTable, switch: str, pipeline: int = 0) -> base.TableRead:
        """Reads a table of a pipeline; `switch`: its name in the answer."""
        from netkv import _engine

        try:
            table = self._schema.tables.named(request.table)
            found = self._switch.read_entries(table.id, pipeline=pipeline)
            entries = tuple(self._entry(table, each) for each in found)
            default = self._default(table, pipeline)
        except (_engine.ControlError, KeyError) as error:
            return base.TableRead(request.read, error=str(error), switch=switch)
        return base.TableRead(request.read, entries, default, switch=switch)

    def _entry(self, table: Table, entry: _engine.TableEntry) -> base.Entry:
        names = {key.id: key.name for key in table.keys}
        match: dict[str, base.MatchValue] = {}
        for each in entry["matches"]:
            assert each[1] == "exact", "tables that are read have exact matches"
            match[names[each[0]]] = int.from_bytes(each[2])
        action = entry["action"]
        assert action[0] == "action", "tables that are read have no action profile"
        return self._called(match, action[1], action[2])

    def _default(self, table: Table, pipeline: int) -> base.Entry:
        return self._called({}, *self._switch.get_default(table.id, pipeline=pipeline))

    def _called(
        self, match: dict[str, base.MatchValue], number: int, values: Sequence[bytes]
    ) -> base.Entry:
        action = self._schema.actions.get(number)
        pairs = zip(action.params, values, strict=True)
        params = {param.name: int.from_bytes(value) for param, value in pairs}
        return base.Entry(match, action.name, params)

    def digest(self, message: _engine.DigestMessage, switch: str = "") -> base.Digest:
        """A digest of the switch, its members by name."""
        number, values = message
        name, members = self._digests[number]
        return base.Digest(
            name, dict(zip(members, map(int.from_bytes, values), strict=True)), switch
        )

    def digest_message_bytes(self, message: _engine.DigestMessage) -> int:
        """Bytes of a digest list with one digest, and of its acknowledgement."""
        return sum(len(value) + 4 for value in message[1]) + 40


@lru_cache(maxsize=8)
def _names_of(bundle: bytes) -> entities.Names:
    return entities.Names(p4info.from_bundle(bundle))


@lru_cache(maxsize=8)
def _plain_writes_of(bundle: bytes) -> _engine.PlainWrites:
    return plain_writes(_names_of(bundle).schema)


def _matches(
    table: Table, write: base.InsertEntry | base.ModifyEntry | base.DeleteEntry
) -> list[_engine.Match]:
    matches: list[_engine.Match] = []
    for name, value in write.match.items():
        key = table.key(name)
        if isinstance(value, base.Range):
            if value.low == 0 and value.high == (1 << key.width) - 1:
                continue  # P4Runtime omits a match that allows all values
            matches.append((key.id, "range", _bytes(key, value.low), _bytes(key, value.high)))
        else:
            matches.append((key.id, "exact", _bytes(key, value)))
    return matches


def _params(action: Action, params: Mapping[str, int]) -> list[bytes]:
    return [_bytes(param, params[param.name]) for param in action.params]


def _bytes(field: Field, value: int) -> bytes:
    return value.to_bytes((field.width + 7) // 8, "big")
