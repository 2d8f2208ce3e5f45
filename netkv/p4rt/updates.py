"""Table writes and reads of a control plane as P4Runtime messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from finsy.proto import p4r

from netkv import _engine
from netkv.control import base
from netkv.p4rt import entities
from netkv.p4rt.schema import Field, Named, Schema

_INSTANCE = 0
"""Replication id of copies: programs distinguish them by their ports."""


def update(names: entities.Names, write: base.TableWrite) -> p4r.Update:
    """The update that carries `write` out; `names` are those of the switch's program."""
    match write:
        case base.InsertEntry():
            call = entities.Call(write.action, write.params)
            return entities.insert(
                names.table_entry(write.table, _matches(write), call, priority=write.priority)
            )
        case base.ModifyEntry():
            call = entities.Call(write.action, write.params)
            return entities.modify(
                names.table_entry(write.table, _matches(write), call, priority=write.priority)
            )
        case base.DeleteEntry():
            return entities.delete(
                names.table_entry(write.table, _matches(write), priority=write.priority)
            )
        case base.SetDefault():
            call = entities.Call(write.action, write.params)
            return entities.modify(names.default_entry(write.table, call))
        case base.CloneSession():
            return entities.insert(entities.clone_session(write.session, [(write.port, _INSTANCE)]))
        case base.MulticastGroup():
            replicas = [(port, _INSTANCE) for port in write.ports]
            return entities.insert(entities.multicast_group(write.group, replicas))


class Encoder:
    """Serializes table writes; those of tables with exact matches in the engine, thousands at once
    without a message for each."""

    def __init__(self, names: entities.Names) -> None:
        self._names = names
        self._plain = plain_writes(names.schema)

    def encode(self, write: base.TableWrite) -> bytes:
        """A serialized WriteRequest that has only this update. Joined, such requests are the
        request with all of their updates."""
        plain = self._plain.encode(write)
        if plain is not None:
            return plain
        return p4r.WriteRequest(updates=[update(self._names, write)]).SerializeToString()


def plain_writes(schema: Schema) -> _engine.PlainWrites:
    """The plain table writes of a program."""
    tables = [
        (table, table.keys)
        for table in schema.tables
        if all(key.kind == "exact" for key in table.keys)
    ]
    actions = [(action, action.params) for action in schema.actions]
    kinds = (base.InsertEntry, base.ModifyEntry, base.DeleteEntry)
    return _engine.PlainWrites(_by_name(tables), _by_name(actions), kinds)


_Fields = tuple[int, dict[str, tuple[int, int]]]


def _by_name(objects: Iterable[tuple[Named, Sequence[Field]]]) -> dict[str, _Fields]:
    """Id and fields (id and width) of each object, by its alias and by its name."""
    listed = [
        (each, (each.id, {field.name: (field.id, field.width) for field in fields}))
        for each, fields in objects
    ]
    aliases = {each.alias: found for each, found in listed}
    return aliases | {each.name: found for each, found in listed}


def reads(names: entities.Names, table: str) -> tuple[p4r.Entity, p4r.Entity]:
    """The entities that select all entries of a table, and its default action."""
    return names.table_entries(table), names.default_entry(table)


def table_read(
    names: entities.Names, request: base.ReadTable, found: Sequence[p4r.Entity]
) -> base.TableRead:
    """The answer to `request`, from the entities that the switch has returned."""
    table = names.schema.tables.named(request.table)
    keys = {key.id: key.name for key in table.keys}
    entries: list[base.Entry] = []
    default: base.Entry | None = None
    for entity in found:
        entry = entity.table_entry
        match = {keys[it.field_id]: int.from_bytes(it.exact.value) for it in entry.match}
        call = entry.action.action
        action = names.schema.actions.get(call.action_id)
        params = {param.id: param.name for param in action.params}
        values = {params[it.param_id]: int.from_bytes(it.value) for it in call.params}
        read = base.Entry(match, action.name, values)
        if entry.is_default_action:
            default = read
        else:
            entries.append(read)
    return base.TableRead(request.read, tuple(entries), default, switch=request.switch)


def _matches(
    write: base.InsertEntry | base.ModifyEntry | base.DeleteEntry,
) -> dict[str, entities.MatchValue]:
    return {
        name: entities.Range(value.low, value.high) if isinstance(value, base.Range) else value
        for name, value in write.match.items()
    }
