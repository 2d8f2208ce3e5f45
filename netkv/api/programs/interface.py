"""What a compiled program consists of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from netkv.api.models.programs import (
    BitField,
    ProgramAction,
    ProgramArray,
    ProgramHeader,
    ProgramInterface,
    ProgramTable,
)
from netkv.p4rt import p4info
from netkv.p4rt.schema import Array, Field, Schema, Table


def document(bundle: bytes) -> dict[str, Any]:
    """The JSON document of a bundle."""
    return p4info.read_bundle(bundle)


def schema(bundle: bytes) -> Schema:
    """Tables, actions and arrays by name, with the ids that the engine uses."""
    return Schema(p4info.from_bundle(bundle))


def of(bundle: bytes, shown: Callable[[str], str]) -> ProgramInterface:
    """The interface of a program; `shown`: name of a file → the name for users."""
    known = schema(bundle)
    program = document(bundle)["program"]
    defaults = {
        each.preamble.id: each.initial_default_action.action_id for each in known.info.tables
    }
    return ProgramInterface(
        tables=[_table(known, each, defaults[each.id]) for each in known.tables],
        actions=[
            ProgramAction(name=each.name, parameters=_fields(each.params)) for each in known.actions
        ],
        registers=[_array(each, bits=each.width) for each in known.registers],
        counters=[_array(each) for each in known.counters],
        meters=[_array(each) for each in known.meters],
        headers=[_header(each) for each in program["headers"]],
        files=[shown(each) for each in program["files"] if each not in ("core.p4", "v1model.p4")],
    )


def _table(known: Schema, table: Table, default: int) -> ProgramTable:
    return ProgramTable(
        name=table.name,
        keys=[BitField(name=key.name, bits=key.width, match=key.kind) for key in table.keys],
        actions=[known.actions.get(each).name for each in table.actions],
        default_action=known.actions.get(default).name,
        size=table.size,
        constant=table.constant,
    )


def _array(array: Array, bits: int | None = None) -> ProgramArray:
    return ProgramArray(name=array.name, size=array.size, bits=bits)


def _fields(fields: Iterable[Field]) -> list[BitField]:
    return [BitField(name=each.name, bits=each.width) for each in fields]


def _header(header: Mapping[str, Any]) -> ProgramHeader:
    fields = [BitField(name=each["name"], bits=each["place"]["width"]) for each in header["fields"]]
    return ProgramHeader(name=header["name"], type=header["type_name"], fields=fields)
