"""Messages between the form of P4Info and the form of the program.

P4Info may number the match fields, parameters and metadata of an object otherwise than by their
order (`@id`), and may give values another type (`@p4runtime_translation`). The server checks and
carries out messages in the form of the program: ids count from 1, and values have the widths of the
program. This module converts what comes in and what goes out. A program whose P4Info agrees with
that form needs no conversion.

A value with `sdn_bitwidth` is the same number in both forms, so it must fit into the width of the
program. A string of digits (`sdn_string`) is the decimal number; every other string gets the
greatest free number when it is used first, and keeps it until another program is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from finsy.proto import p4i, p4r

from netkv.p4rt import values
from netkv.p4rt.errors import Code, RpcError, invalid


class Strings:
    """The numbers of the strings of one type."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._numbers: dict[bytes, int] = {}
        self._strings: dict[int, bytes] = {}

    def number(self, text: bytes, what: str) -> bytes:
        """The number of a string, which gets one if it has none yet.

        Raises OUT_OF_RANGE for digits that do not fit, RESOURCE_EXHAUSTED if all are taken.
        """
        if text.isdigit():
            number = int(text)
            if number >> self._width:
                raise RpcError(
                    Code.OUT_OF_RANGE,
                    f"{what} is {self._width} bits wide, and {number} does not fit; the largest "
                    f"value is {(1 << self._width) - 1}",
                )
        elif not text:
            raise RpcError(Code.OUT_OF_RANGE, f"{what} has no value; expected a string")
        elif text in self._numbers:
            number = self._numbers[text]
        else:
            number = (1 << self._width) - 1
            while number in self._strings:
                number -= 1
            if number < 0:
                raise RpcError(
                    Code.RESOURCE_EXHAUSTED, f"{what}: every number of its type has a string"
                )
        if self._strings.setdefault(number, text) != text:
            taken = self._strings[number].decode(errors="replace")
            raise invalid(f"{what}: {number} is the number of the string {taken!r} already")
        self._numbers[text] = number
        return values.encode(number)

    def string(self, value: bytes) -> bytes:
        """The string of a number; its decimal digits if it has no other one."""
        number = int.from_bytes(value, "big")
        return self._strings.get(number, str(number).encode())


@dataclass(frozen=True)
class _Field:
    """A match field, parameter or metadata in both forms."""

    name: str
    outer: int
    """Its id in P4Info; 0 if P4Info does not have it."""
    inner: int
    strings: Strings | None


_Declared: TypeAlias = Sequence[
    p4i.MatchField | p4i.Action.Param | p4i.ControllerPacketMetadata.Metadata
]
_Part = TypeVar("_Part", p4r.FieldMatch, p4r.Action.Param)


class _Fields:
    """The fields of one object."""

    def __init__(self, owner: str, kind: str, fields: Sequence[_Field]) -> None:
        self._owner = owner
        self._kind = kind
        self._by_outer = {each.outer: each for each in fields if each.outer}
        self._by_inner = {each.inner: each for each in fields}
        self.hidden = [each.inner for each in fields if not each.outer]

    @property
    def differ(self) -> bool:
        return any(each.outer != each.inner or each.strings for each in self._by_inner.values())

    def inward(self, number: int) -> _Field:
        found = self._by_outer.get(number)
        if found is None:
            known = ", ".join(f"{each.outer} ({each.name})" for each in self._by_outer.values())
            raise invalid(f"{self._owner} has no {self._kind} {number}; it has: {known or 'none'}")
        return found

    def outward(self, number: int) -> _Field:
        return self._by_inner[number]

    def what(self, field: _Field) -> str:
        return f"{self._owner}: {self._kind} {field.name}"


class ProgramForm:
    """Converts messages in place."""

    def __init__(self, interface: p4i.P4Info, program: p4i.P4Info) -> None:
        """`interface` is the P4Info of control planes, `program` has the order and the widths of
        the program; both list the same objects in one order."""
        self._strings: dict[str, Strings] = {}
        self._keys: dict[int, _Fields] = {}
        for table, inner in zip(interface.tables, program.tables, strict=True):
            owner = f"table {table.preamble.name}"
            self._keys[table.preamble.id] = self._fields(
                owner, "match field", table.match_fields, inner.match_fields
            )
        self._members: dict[int, _Fields] = {}
        for value_set, members in zip(interface.value_sets, program.value_sets, strict=True):
            owner = f"value set {value_set.preamble.name}"
            self._members[value_set.preamble.id] = self._fields(
                owner, "match field", value_set.match, members.match
            )
        self._params: dict[int, _Fields] = {}
        for action, called in zip(interface.actions, program.actions, strict=True):
            owner = f"action {action.preamble.name}"
            self._params[action.preamble.id] = self._fields(
                owner, "parameter", action.params, called.params
            )
        self._metadata: dict[str, _Fields] = {}
        headers = (interface.controller_packet_metadata, program.controller_packet_metadata)
        for header, packed in zip(*headers, strict=True):
            name = header.preamble.name
            self._metadata[name] = self._fields(name, "metadata", header.metadata, packed.metadata)
        objects = (self._keys, self._members, self._params, self._metadata)
        self.differs = any(fields.differ for kind in objects for fields in kind.values())
        """Whether any message needs a conversion."""

    def _fields(self, owner: str, kind: str, theirs: _Declared, ours: _Declared) -> _Fields:
        shown = iter(theirs)
        outer = next(shown, None)
        fields: list[_Field] = []
        for inner in ours:
            if outer is None or outer.name != inner.name:
                fields.append(_Field(inner.name, 0, inner.id, None))
                continue
            strings = None
            if outer.bitwidth == 0:
                name = outer.type_name.name
                strings = self._strings.setdefault(name, Strings(inner.bitwidth))
            fields.append(_Field(inner.name, outer.id, inner.id, strings))
            outer = next(shown, None)
        return _Fields(owner, kind, fields)

    def inward(self, entity: p4r.Entity) -> p4r.Entity:
        """An entity of a request in the form of the program.

        Raises INVALID_ARGUMENT, OUT_OF_RANGE or RESOURCE_EXHAUSTED.
        """
        return self._converted(entity, _field_in, _param_in) if self.differs else entity

    def outward(self, entity: p4r.Entity) -> p4r.Entity:
        """An entity of the program in the form of P4Info."""
        return self._converted(entity, _field_out, _param_out) if self.differs else entity

    def packet_out(self, message: p4r.PacketOut) -> p4r.PacketOut:
        """The metadata of a packet-out in the form of the program."""
        fields = self._metadata.get("packet_out")
        if fields is None or not self.differs:
            return message
        converted = p4r.PacketOut(payload=message.payload)
        for each in message.metadata:
            field = fields.inward(each.metadata_id)
            value = each.value
            if field.strings is not None:
                value = field.strings.number(value, fields.what(field))
            converted.metadata.add(metadata_id=field.inner, value=value)
        for number in fields.hidden:
            converted.metadata.add(metadata_id=number, value=b"\0")
        return converted

    def packet_in(self, message: p4r.PacketIn) -> p4r.PacketIn:
        """The metadata of a packet-in in the form of P4Info."""
        fields = self._metadata.get("packet_in")
        if fields is None or not self.differs:
            return message
        converted = p4r.PacketIn(payload=message.payload)
        for each in message.metadata:
            field = fields.outward(each.metadata_id)
            if field.outer:
                value = field.strings.string(each.value) if field.strings else each.value
                converted.metadata.add(metadata_id=field.outer, value=value)
        return converted

    def _converted(
        self, entity: p4r.Entity, field: _Convert[p4r.FieldMatch], param: _Convert[p4r.Action.Param]
    ) -> p4r.Entity:
        converted = p4r.Entity()
        converted.CopyFrom(entity)
        match converted.WhichOneof("entity"):
            case "table_entry":
                self._table_entry(converted.table_entry, field, param)
            case "direct_counter_entry":
                self._table_entry(converted.direct_counter_entry.table_entry, field, param)
            case "direct_meter_entry":
                self._table_entry(converted.direct_meter_entry.table_entry, field, param)
            case "action_profile_member":
                self._action(converted.action_profile_member.action, param)
            case "value_set_entry":
                members = self._members.get(converted.value_set_entry.value_set_id)
                if members is not None:
                    for member in converted.value_set_entry.members:
                        for each in member.match:
                            field(members, each)
        return converted

    def _table_entry(
        self,
        entry: p4r.TableEntry,
        field: _Convert[p4r.FieldMatch],
        param: _Convert[p4r.Action.Param],
    ) -> None:
        keys = self._keys.get(entry.table_id)
        if keys is not None:
            for each in entry.match:
                field(keys, each)
        match entry.action.WhichOneof("type"):
            case "action":
                self._action(entry.action.action, param)
            case "action_profile_action_set":
                for one in entry.action.action_profile_action_set.action_profile_actions:
                    self._action(one.action, param)

    def _action(self, action: p4r.Action, convert: _Convert[p4r.Action.Param]) -> None:
        params = self._params.get(action.action_id)
        if params is not None:
            for each in action.params:
                convert(params, each)


_Convert = Callable[[_Fields, _Part], None]


def _field_in(fields: _Fields, match: p4r.FieldMatch) -> None:
    field = fields.inward(match.field_id)
    match.field_id = field.inner
    if field.strings is None:
        return
    match match.WhichOneof("field_match_type"):
        case "exact":
            match.exact.value = field.strings.number(match.exact.value, fields.what(field))
        case "optional":
            match.optional.value = field.strings.number(match.optional.value, fields.what(field))
        case _:
            raise invalid(f"{fields.what(field)} is a string: its match is exact or optional")


def _field_out(fields: _Fields, match: p4r.FieldMatch) -> None:
    field = fields.outward(match.field_id)
    match.field_id = field.outer
    if field.strings is None:
        return
    match match.WhichOneof("field_match_type"):
        case "exact":
            match.exact.value = field.strings.string(match.exact.value)
        case "optional":
            match.optional.value = field.strings.string(match.optional.value)


def _param_in(fields: _Fields, param: p4r.Action.Param) -> None:
    field = fields.inward(param.param_id)
    param.param_id = field.inner
    if field.strings is not None:
        param.value = field.strings.number(param.value, fields.what(field))


def _param_out(fields: _Fields, param: p4r.Action.Param) -> None:
    field = fields.outward(param.param_id)
    param.param_id = field.outer
    if field.strings is not None:
        param.value = field.strings.string(param.value)
