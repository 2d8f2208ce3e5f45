"""Build updates and read packets by the names of the program, from P4Info alone.

Callers write `names.table_entry("Ingress.lookup.cache", {"hdr.kv.key": key}, ...)`; this module
looks up the ids and encodes the values, for any target whose P4Info is known. A wrong name raises
`RpcError` with the nearest known name, before anything is sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from finsy.proto import p4d, p4i, p4r

from netkv.p4rt import values
from netkv.p4rt.errors import invalid
from netkv.p4rt.schema import Field, Schema

Value: TypeAlias = int | bytes
"""A number, or big-endian bytes."""


@dataclass(frozen=True)
class Lpm:
    """The `prefix` highest bits of `value`; 0 matches everything."""

    value: Value
    prefix: int


@dataclass(frozen=True)
class Ternary:
    """The bits of `value` where `mask` is 1; mask 0 matches everything."""

    value: Value
    mask: Value


@dataclass(frozen=True)
class Range:
    """`low` to `high`, both included."""

    low: Value
    high: Value


MatchValue: TypeAlias = Value | Lpm | Ternary | Range
"""A bare value is exact (or optional)."""


@dataclass(frozen=True)
class Call:
    """An action by name with its parameters by name."""

    action: str
    params: Mapping[str, Value]


def insert(entity: p4r.Entity) -> p4r.Update:
    """An update that inserts `entity`."""
    return p4r.Update(type=p4r.Update.INSERT, entity=entity)


def modify(entity: p4r.Entity) -> p4r.Update:
    """An update that modifies `entity`."""
    return p4r.Update(type=p4r.Update.MODIFY, entity=entity)


def delete(entity: p4r.Entity) -> p4r.Update:
    """An update that deletes `entity`."""
    return p4r.Update(type=p4r.Update.DELETE, entity=entity)


def multicast_group(group: int, replicas: Sequence[tuple[int, int]]) -> p4r.Entity:
    """A multicast group: (port, instance) for each copy."""
    return p4r.Entity(
        packet_replication_engine_entry=p4r.PacketReplicationEngineEntry(
            multicast_group_entry=p4r.MulticastGroupEntry(
                multicast_group_id=group, replicas=_replicas(replicas)
            )
        )
    )


def clone_session(
    session: int, replicas: Sequence[tuple[int, int]], *, packet_length: int = 0
) -> p4r.Entity:
    """A clone session; `packet_length` is the bytes that are kept, 0 for all."""
    return p4r.Entity(
        packet_replication_engine_entry=p4r.PacketReplicationEngineEntry(
            clone_session_entry=p4r.CloneSessionEntry(
                session_id=session,
                replicas=_replicas(replicas),
                packet_length_bytes=packet_length,
            )
        )
    )


def _replicas(replicas: Sequence[tuple[int, int]]) -> list[p4r.Replica]:
    # `egress_port` is deprecated since 1.4, but every target accepts it, bmv2 included.
    return [p4r.Replica(egress_port=port, instance=instance) for port, instance in replicas]


class Names:
    """The names of one program."""

    def __init__(self, info: p4i.P4Info) -> None:
        self.schema = Schema(info)
        header = self.schema.packet_in
        self._packet_in = {field.id: field.name for field in header.fields} if header else {}

    def table_entry(
        self,
        table: str,
        match: Mapping[str, MatchValue],
        action: Call | None = None,
        *,
        priority: int = 0,
        metadata: bytes = b"",
    ) -> p4r.Entity:
        """An entry of a table; `action` None to delete or to read it."""
        known = self.schema.tables.named(table)
        entry = p4r.TableEntry(table_id=known.id, priority=priority, metadata=metadata)
        for name, value in match.items():
            message = _match(known.key(name), value)
            if message is not None:
                entry.match.append(message)
        if action is not None:
            entry.action.action.CopyFrom(self.call(action))
        return p4r.Entity(table_entry=entry)

    def default_entry(self, table: str, action: Call | None = None) -> p4r.Entity:
        """The default entry of a table; without an action, the one that the program states."""
        known = self.schema.tables.named(table)
        entry = p4r.TableEntry(table_id=known.id, is_default_action=True)
        if action is not None:
            entry.action.action.CopyFrom(self.call(action))
        return p4r.Entity(table_entry=entry)

    def call(self, call: Call) -> p4r.Action:
        """An action with all of its parameters."""
        action = self.schema.actions.named(call.action)
        params = [
            p4r.Action.Param(param_id=param.id, value=_bytes(param, value))
            for param, value in ((action.param(name), value) for name, value in call.params.items())
        ]
        return p4r.Action(action_id=action.id, params=params)

    def table_entries(self, table: str | None = None, *, counters: bool = False) -> p4r.Entity:
        """A read of all entries of a table, or of all tables."""
        entry = p4r.TableEntry(table_id=self.schema.tables.named(table).id if table else 0)
        if counters:
            entry.counter_data.SetInParent()
        return p4r.Entity(table_entry=entry)

    def counter(self, counter: str, index: int | None = None) -> p4r.Entity:
        """A read of a counter's cell, or of all its cells."""
        entry = p4r.CounterEntry(counter_id=self.schema.counters.named(counter).id)
        if index is not None:
            entry.index.index = index
        return p4r.Entity(counter_entry=entry)

    def register(
        self, register: str, index: int | None = None, value: Value | None = None
    ) -> p4r.Entity:
        """A register's cell (or all cells) to read, or with a value to write."""
        known = self.schema.registers.named(register)
        entry = p4r.RegisterEntry(register_id=known.id)
        if index is not None:
            entry.index.index = index
        if value is not None:
            cell = Field(known.id, known.name, known.width)
            entry.data.CopyFrom(p4d.P4Data(bitstring=_bytes(cell, value)))
        return p4r.Entity(register_entry=entry)

    def digest(
        self,
        digest: str,
        *,
        max_timeout_ns: int = 0,
        max_list_size: int = 0,
        ack_timeout_ns: int = 0,
    ) -> p4r.Entity:
        """The configuration of a digest; inserting it turns the digest on."""
        return p4r.Entity(
            digest_entry=p4r.DigestEntry(
                digest_id=self.schema.digests.named(digest).id,
                config=p4r.DigestEntry.Config(
                    max_timeout_ns=max_timeout_ns,
                    max_list_size=max_list_size,
                    ack_timeout_ns=ack_timeout_ns,
                ),
            )
        )

    def packet_out(self, payload: bytes, metadata: Mapping[str, Value]) -> p4r.PacketOut:
        """A packet with the metadata of the program's packet_out header."""
        header = self.schema.packet_out
        if header is None:
            if metadata:
                raise invalid("the program has no packet_out header; leave the metadata out")
            return p4r.PacketOut(payload=payload)
        return p4r.PacketOut(
            payload=payload,
            metadata=(
                p4r.PacketMetadata(metadata_id=field.id, value=_bytes(field, value))
                for field, value in ((header.field(name), v) for name, v in metadata.items())
            ),
        )

    def packet_metadata(self, packet: p4r.PacketIn) -> dict[str, int]:
        """The metadata of a packet-in by name."""
        names = self._packet_in
        return {
            names.get(each.metadata_id, str(each.metadata_id)): int.from_bytes(each.value, "big")
            for each in packet.metadata
        }

    def digest_members(self, message: p4r.DigestList) -> list[dict[str, int]]:
        """The digests of a list, their members by name."""
        digest = self.schema.digests.get(message.digest_id)
        names = [member.name for member in digest.members]
        return [
            dict(zip(names, map(_number, _members(data)), strict=True)) for data in message.data
        ]


def _members(data: p4d.P4Data) -> Sequence[p4d.P4Data]:
    match data.WhichOneof("data"):
        case "struct":
            return data.struct.members
        case "tuple":
            return data.tuple.members
    return [data]


def _number(data: p4d.P4Data) -> int:
    return int.from_bytes(data.bitstring, "big")


def _bytes(field: Field, value: Value) -> bytes:
    """The canonical string of a value that must fit into the field."""
    if isinstance(value, int):
        if value < 0:
            raise invalid(f"{field.name} is unsigned and cannot be {value}")
        value = values.encode(value)
    values.decode(value, field.width, field.name)
    return values.canonical(value)


def _match(field: Field, value: MatchValue) -> p4r.FieldMatch | None:
    """None for a match without restriction, which P4Runtime requires to be left out."""
    match field.kind, value:
        case "exact", int() | bytes():
            exact = p4r.FieldMatch.Exact(value=_bytes(field, value))
            return p4r.FieldMatch(field_id=field.id, exact=exact)
        case "optional", int() | bytes():
            optional = p4r.FieldMatch.Optional(value=_bytes(field, value))
            return p4r.FieldMatch(field_id=field.id, optional=optional)
        case "lpm", Lpm(number, prefix):
            lpm = p4r.FieldMatch.LPM(value=_bytes(field, number), prefix_len=prefix)
            return p4r.FieldMatch(field_id=field.id, lpm=lpm) if prefix else None
        case "ternary", Ternary(number, mask):
            ternary = p4r.FieldMatch.Ternary(value=_bytes(field, number), mask=_bytes(field, mask))
            return p4r.FieldMatch(field_id=field.id, ternary=ternary) if any(ternary.mask) else None
        case "range", Range(low, high):
            span = p4r.FieldMatch.Range(low=_bytes(field, low), high=_bytes(field, high))
            whole = not any(span.low) and span.high == _bytes(field, (1 << field.width) - 1)
            return None if whole else p4r.FieldMatch(field_id=field.id, range=span)
    raise invalid(
        f"match field {field.name} is matched {field.kind}; {value!r} is no value for that"
    )
