"""What a switch has in its tables and counters, for people: names instead of ids, text for values.

It reads as a further P4Runtime client without a stream, so the controller does not notice. All
values are hexadecimal (`0x0a`), because a key may have more bits than a number in JSON.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from finsy.proto import p4r

from netkv.p4rt.client import P4RuntimeClient
from netkv.p4rt.entities import Names
from netkv.p4rt.match_text import joined
from netkv.p4rt.schema import Table

CONNECT_TIMEOUT_S = 3.0


@dataclass(frozen=True)
class MatchField:
    """A field of the key of a table."""

    name: str
    kind: str
    """`exact`, `lpm`, `ternary`, `range` or `optional`."""
    bits: int


@dataclass(frozen=True)
class TableInfo:
    """A table of a program."""

    name: str
    keys: list[MatchField]
    actions: list[str]
    size: int
    """Entries that it has room for."""


@dataclass(frozen=True)
class CounterInfo:
    """A counter of a program: an array of cells."""

    name: str
    size: int


@dataclass(frozen=True)
class ProgramObjects:
    """The tables and counters of the program of a switch."""

    tables: list[TableInfo]
    counters: list[CounterInfo]


@dataclass(frozen=True)
class EntryInfo:
    """An entry of a table."""

    match: dict[str, str]
    """As in `match_text`; a field that may have any value is left out."""
    action: str
    params: dict[str, str]
    priority: int
    packets: int | None = None
    """Of a direct counter."""
    bytes: int | None = None


@dataclass(frozen=True)
class TableContents:
    """A part of the entries of a table."""

    table: str
    default: EntryInfo | None
    entries: list[EntryInfo] = field(default_factory=list)
    offset: int = 0
    more: bool = False
    """Whether there are further entries."""


@dataclass(frozen=True)
class CounterValue:
    """A cell of a counter."""

    index: int
    packets: int
    bytes: int


class Inspector:
    """A connection to read from one switch."""

    def __init__(self, client: P4RuntimeClient) -> None:
        """Use `connected`."""
        self._client = client
        self._names = client.names

    @classmethod
    @contextlib.asynccontextmanager
    async def connected(cls, address: str, device_id: int) -> AsyncIterator[Inspector]:
        """Connects to a P4Runtime server; raises `ControllerError`, also if it has no program."""
        client = P4RuntimeClient(address, device_id=device_id)
        try:
            await client.connect_to_read(CONNECT_TIMEOUT_S)
            await client.get_pipeline()
            yield cls(client)
        finally:
            await client.close()

    def objects(self) -> ProgramObjects:
        """The tables and counters of the program."""
        schema = self._names.schema
        return ProgramObjects(
            [self._table(table) for table in schema.tables],
            [CounterInfo(counter.name, counter.size) for counter in schema.counters],
        )

    async def table(self, name: str, offset: int, limit: int) -> TableContents:
        """Entries of a table from `offset` on, in the order of the switch.

        Raises `RpcError` (INVALID_ARGUMENT) with the known names for an unknown table.
        """
        table = self._names.schema.tables.named(name)
        default = None
        async for entity in self._client.read(self._names.default_entry(name)):
            if entity.table_entry.HasField("action"):
                default = self._entry(table, entity.table_entry)
        wanted = self._names.table_entries(name, counters=table.direct_counter)
        entries: list[EntryInfo] = []
        number = 0
        # The read ends early, so a large table costs no more than the wanted part and those before.
        async with contextlib.aclosing(self._client.read(wanted)) as found:
            async for entity in found:
                if len(entries) == limit:
                    return TableContents(table.name, default, entries, offset, more=True)
                if number >= offset:
                    entries.append(self._entry(table, entity.table_entry))
                number += 1
        return TableContents(table.name, default, entries, offset)

    async def counter(self, name: str, offset: int, limit: int) -> list[CounterValue]:
        """Cells of a counter from `offset` on; raises `RpcError` as `table`."""
        counter = self._names.schema.counters.named(name)
        cells: list[CounterValue] = []
        for index in range(offset, min(offset + limit, counter.size)):
            async for entity in self._client.read(self._names.counter(name, index)):
                data = entity.counter_entry.data
                cells.append(CounterValue(index, data.packet_count, data.byte_count))
        return cells

    def _table(self, table: Table) -> TableInfo:
        keys = [MatchField(key.name, key.kind, key.width) for key in table.keys]
        actions = [self._names.schema.actions.get(action).name for action in table.actions]
        return TableInfo(table.name, keys, actions, table.size)

    def _entry(self, table: Table, entry: p4r.TableEntry) -> EntryInfo:
        keys = {key.id: key.name for key in table.keys}
        counted = table.direct_counter and entry.HasField("counter_data")
        action, params = _action(self._names, entry.action)
        return EntryInfo(
            match={keys[it.field_id]: _match(it) for it in entry.match},
            action=action,
            params=params,
            priority=entry.priority,
            packets=entry.counter_data.packet_count if counted else None,
            bytes=entry.counter_data.byte_count if counted else None,
        )


def _action(names: Names, action: p4r.TableAction) -> tuple[str, dict[str, str]]:
    match action.WhichOneof("type"):
        case "action":
            known = names.schema.actions.get(action.action.action_id)
            params = {param.id: param.name for param in known.params}
            found = action.action.params
            return known.name, {params[it.param_id]: _hex(it.value) for it in found}
        case "action_profile_member_id":
            return f"member {action.action_profile_member_id}", {}
        case "action_profile_group_id":
            return f"group {action.action_profile_group_id}", {}
    return "several actions", {}


def _match(match: p4r.FieldMatch) -> str:
    match match.WhichOneof("field_match_type"):
        case "lpm":
            return joined("lpm", _hex(match.lpm.value), match.lpm.prefix_len)
        case "ternary":
            return joined("ternary", _hex(match.ternary.value), _hex(match.ternary.mask))
        case "range":
            return joined("range", _hex(match.range.low), _hex(match.range.high))
        case "optional":
            return _hex(match.optional.value)
    return _hex(match.exact.value)


def _hex(value: bytes) -> str:
    return f"0x{value.hex()}"
