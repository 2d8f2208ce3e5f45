"""The state of a switch by the names of its program: written before a trace, read afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from netkv.api.errors import RequestFieldError
from netkv.api.models.programs import (
    CloneSession,
    CounterCell,
    DefaultAction,
    Entry,
    MulticastGroup,
    NamedValue,
    RegisterCell,
    Replica,
    SentDigest,
    Setup,
    StateAfter,
)
from netkv.api.programs import numbers
from netkv.errors import sentence
from netkv.p4rt import match_text
from netkv.p4rt.errors import RpcError
from netkv.p4rt.schema import Action, Array, Field, Schema, Table

if TYPE_CHECKING:
    from netkv import _engine

MAX_CELLS = 4096
"""Cells of registers, and of counters, in a response."""


# --------------------------------------------------------------------------------- before a trace


def write(switch: _engine.Switch, schema: Schema, setup: Setup) -> Touched:
    """Set a switch up; returns what that has written.

    Raises `RequestFieldError` for what its program does not have, or refuses.
    """
    for at, entry in enumerate(setup.entries):
        _try(f"entries.{at}", partial(_insert, switch, schema, entry))
    for at, default in enumerate(setup.defaults):
        _try(f"defaults.{at}", partial(_set_default, switch, schema, default))
    for at, cell in enumerate(setup.registers):
        _try(f"registers.{at}", partial(_write_cell, switch, schema, cell))
    for at, group in enumerate(setup.multicast_groups):
        _try(f"multicast_groups.{at}", partial(_insert_group, switch, group))
    for at, session in enumerate(setup.clone_sessions):
        _try(f"clone_sessions.{at}", partial(_insert_session, switch, session))
    written = {
        (schema.registers.named(cell.register_name).name, cell.index) for cell in setup.registers
    }
    return Touched(registers=written)


def _try(field: str, work: Callable[[], None]) -> None:
    from netkv import _engine

    try:
        work()
    except (_engine.ControlError, RpcError, ValueError, OverflowError) as error:
        raise RequestFieldError(sentence(str(error)), f"setup.{field}") from error


def _insert(switch: _engine.Switch, schema: Schema, entry: Entry) -> None:
    table = schema.tables.named(entry.table)
    matches = [_match(table.key(name), value) for name, value in entry.match.items()]
    action = schema.actions.named(entry.action)
    call: _engine.Action = ("action", action.id, _params(action, entry.params))
    switch.insert_entry(table.id, matches, call, entry.priority)


def _set_default(switch: _engine.Switch, schema: Schema, default: DefaultAction) -> None:
    table, action = schema.tables.named(default.table), schema.actions.named(default.action)
    switch.set_default(table.id, action.id, _params(action, default.params))


def _write_cell(switch: _engine.Switch, schema: Schema, cell: RegisterCell) -> None:
    register = schema.registers.named(cell.register_name)
    value = numbers.parse(cell.value, Field(0, register.name, register.width))
    switch.write_register(register.id, cell.index, value)


def _insert_group(switch: _engine.Switch, group: MulticastGroup) -> None:
    replicas = [(each.port, each.instance) for each in group.replicas]
    switch.insert_multicast_group(group.group, replicas)


def _insert_session(switch: _engine.Switch, session: CloneSession) -> None:
    replicas = [(each.port, each.instance) for each in session.replicas]
    switch.insert_clone_session(session.session, replicas, packet_length=session.packet_length)


def _params(action: Action, params: Mapping[str, int | str]) -> list[bytes]:
    for name in params:
        action.param(name)  # it exists
    missing = [each.name for each in action.params if each.name not in params]
    if missing:
        raise ValueError(f"The action {action.name} needs the parameter '{missing[0]}'.")
    return [numbers.parse(params[each.name], each) for each in action.params]


def _match(key: Field, value: int | str) -> _engine.Match:
    if key.kind in ("exact", "optional"):
        return (key.id, key.kind, numbers.parse(value, key))
    try:
        first, second = match_text.split(key.kind, str(value))
    except ValueError as error:
        raise ValueError(f"'{key.name}' is matched as {key.kind}: {error}.") from None
    if key.kind == "lpm":
        length = numbers.whole(second, "The length of a prefix")
        return (key.id, "lpm", numbers.parse(first, key), length)
    low, high = numbers.parse(first, key), numbers.parse(second, key)
    if key.kind == "range":
        return (key.id, "range", low, high)
    return (key.id, "ternary", low, high)


# ------------------------------------------------------------------------- the state of a switch


def read(switch: _engine.Switch, schema: Schema) -> Setup:
    """The state of a switch as a set-up that gives another switch the same state.

    Only for programs without action profiles, as those that ship are.
    """
    constant = {table.id for table in schema.tables if table.constant}
    return Setup(
        entries=[
            _entry(schema, each)
            for each in switch.read_entries()
            if not each["is_const"] and each["table_id"] not in constant
        ],
        defaults=[found for table in schema.tables if (found := _default(switch, schema, table))],
        registers=_cells(switch, schema),
        multicast_groups=[
            MulticastGroup(group=group, replicas=_replicas(replicas))
            for group, replicas in switch.read_multicast_groups().items()
        ],
        clone_sessions=[
            CloneSession(
                session=session,
                replicas=_replicas(found["replicas"]),
                packet_length=found["packet_length"],
            )
            for session, found in switch.read_clone_sessions().items()
        ],
    )


def _replicas(replicas: list[tuple[int, int]]) -> list[Replica]:
    return [Replica(port=port, instance=instance) for port, instance in replicas]


def _entry(schema: Schema, entry: _engine.TableEntry) -> Entry:
    table = schema.tables.get(entry["table_id"])
    keys = {key.id: key for key in table.keys}
    action = entry["action"]
    if action[0] != "action":
        raise ValueError(f"{table.name} has an action profile.")
    called = schema.actions.get(action[1])
    return Entry(
        table=table.name,
        match={keys[each[0]].name: _matched(each) for each in entry["matches"]},
        action=called.name,
        params=_named(called, action[2]),
        priority=entry["priority"],
    )


def _matched(match: _engine.Match) -> str:
    first = numbers.text(match[2])
    if match[1] in ("exact", "optional"):
        return first
    second = match[3]  # type: ignore[misc]
    # The length of a prefix is a number.
    shown = second if isinstance(second, int) else numbers.text(second)
    return match_text.joined(match[1], first, shown)


def _default(switch: _engine.Switch, schema: Schema, table: Table) -> DefaultAction | None:
    """The default action of a table, unless it is that of the program."""
    number, values = switch.get_default(table.id)
    initial = next(
        each.initial_default_action for each in schema.info.tables if each.preamble.id == table.id
    )
    known = [int.from_bytes(each.value, "big") for each in initial.arguments]
    if number == initial.action_id and [int.from_bytes(it, "big") for it in values] == known:
        return None
    action = schema.actions.get(number)
    return DefaultAction(table=table.name, action=action.name, params=_named(action, values))


def _named(action: Action, values: object) -> dict[str, int | str]:
    assert isinstance(values, list)
    return {
        param.name: numbers.text(value) for param, value in zip(action.params, values, strict=True)
    }


def _cells(switch: _engine.Switch, schema: Schema) -> list[RegisterCell]:
    """All cells that are not 0."""
    found = []
    for register in schema.registers:
        # There may be millions of cells, and few that are not 0.
        zero = bytes((register.width + 7) // 8)
        found += [
            _cell(register, index, value)
            for index, value in switch.read_register(register.id)
            if value != zero and any(value)
        ]
    return found


def _cell(register: Array, index: int, value: bytes) -> RegisterCell:
    return RegisterCell(register_name=register.name, index=index, value=numbers.text(value))


# ---------------------------------------------------------------------------------- after a trace


@dataclass
class Touched:
    """Cells that a set-up or packets have written: only these may differ from 0."""

    registers: set[tuple[str, int]] = field(default_factory=set)
    """Name of the register, and index."""
    counters: set[tuple[str, int]] = field(default_factory=set)

    def add(self, events: Iterable[Mapping[str, Any]]) -> None:
        """Add the cells that these events of a trace have written."""
        for event in events:
            if event["event"] == "register_write" and event["value"] is not None:
                self.registers.add((event["register"], event["index"]))
            elif event["event"] == "count":
                self.counters.add((event["counter"], event["index"]))


def after(switch: _engine.Switch, schema: Schema, touched: Touched) -> StateAfter:
    """Registers, counters and digests after the packets of a trace."""
    registers = [
        _cell(register, *found)
        for name, index in sorted(touched.registers)
        for register in (schema.registers.named(name),)
        for found in switch.read_register(register.id, index)
        if any(found[1])
    ]
    counters = [
        each
        for name, index in sorted(touched.counters)
        for each in _counts(switch, schema, name, index)
    ]
    return StateAfter(
        registers=registers[:MAX_CELLS],
        counters=counters[:MAX_CELLS],
        cells_left_out=max(0, len(registers) - MAX_CELLS) + max(0, len(counters) - MAX_CELLS),
        digests=[_digest(schema, *each) for each in switch.take_digests()],
        statistics=switch.statistics(),
    )


def _counts(switch: _engine.Switch, schema: Schema, name: str, index: int) -> Iterator[CounterCell]:
    array = schema.counters.named(name)
    if index < array.size:  # others count nothing
        for at, packets, size in switch.read_counter(array.id, index):
            if packets or size:
                yield CounterCell(counter=array.name, index=at, packets=packets, bytes=size)


def _digest(schema: Schema, number: int, values: list[bytes]) -> SentDigest:
    digest = schema.digests.get(number)
    pairs = zip(digest.members, values, strict=True)
    return SentDigest(
        name=digest.name,
        members=[NamedValue(name=each.name, value=numbers.text(value)) for each, value in pairs],
    )
