"""An index of P4Info: objects by id and by name, with widths and kinds.

The server checks requests with it, and the client builds them with it. Names in errors are the full
control-plane names.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, Literal, TypeVar

from finsy.proto import p4i, p4t

from netkv.p4rt.errors import invalid, not_found

MatchKind = Literal["exact", "lpm", "ternary", "range", "optional"]

_KINDS: Mapping[int, MatchKind] = {
    p4i.MatchField.EXACT: "exact",
    p4i.MatchField.LPM: "lpm",
    p4i.MatchField.TERNARY: "ternary",
    p4i.MatchField.RANGE: "range",
    p4i.MatchField.OPTIONAL: "optional",
}


@dataclass(frozen=True)
class Field:
    """A match field, an action's parameter, or a field of a controller header."""

    id: int
    name: str
    width: int
    kind: MatchKind = "exact"


@dataclass(frozen=True)
class Named:
    """The fields of every object of P4Info."""

    id: int
    name: str
    alias: str


@dataclass(frozen=True)
class Action(Named):
    params: tuple[Field, ...]

    def param(self, name: str) -> Field:
        """The parameter `name`; INVALID_ARGUMENT with the known names if there is none."""
        return _field(self.params, name, f"action {self.name}", "parameters")


@dataclass(frozen=True)
class Table(Named):
    keys: tuple[Field, ...]
    actions: Mapping[int, p4i.ActionRef.Scope.ValueType]
    size: int
    constant: bool
    """`const entries`: nothing can be inserted, modified or deleted."""
    constant_default: bool
    profile: int
    """Id of its action profile; 0 for a table whose entries have their own actions."""
    direct_counter: bool
    direct_meter: p4i.MeterSpec.Type.ValueType | None
    """The type of its direct meter; None if it has none."""
    idle_timeout: bool

    @property
    def has_priority(self) -> bool:
        """Whether entries can overlap, so that each needs a priority above 0."""
        return any(key.kind in ("ternary", "range", "optional") for key in self.keys)

    def key(self, name: str) -> Field:
        """The match field `name`; INVALID_ARGUMENT with the known names if there is none."""
        return _field(self.keys, name, f"table {self.name}", "match fields")


@dataclass(frozen=True)
class Profile(Named):
    with_selector: bool
    tables: tuple[int, ...]
    max_group_size: int
    """0: no limit."""
    counts_members: bool
    """Whether sizes of groups are numbers of members rather than sums of weights."""
    max_member_weight: int
    """0: no limit."""
    weights_disallowed: bool


@dataclass(frozen=True)
class Array(Named):
    """A counter, meter or register array; `width` only for registers, `type` for meters."""

    size: int
    width: int = 0
    type: p4i.MeterSpec.Type.ValueType = p4i.MeterSpec.TWO_RATE_THREE_COLOR


@dataclass(frozen=True)
class Digest(Named):
    members: tuple[Field, ...]
    form: Literal["struct", "tuple", "scalar"]
    """The type of a digest: all members are bit strings."""


@dataclass(frozen=True)
class ValueSet(Named):
    keys: tuple[Field, ...]
    size: int


@dataclass(frozen=True)
class Header(Named):
    """A controller header; fields in wire order, padding included."""

    fields: tuple[Field, ...]

    @cached_property
    def width(self) -> int:
        """Bits of the header on the CPU port."""
        return sum(each.width for each in self.fields)

    def field(self, name: str) -> Field:
        """The field `name`; INVALID_ARGUMENT with the known names if there is none."""
        return _field(self.fields, name, f"controller header {self.name}", "fields")


Object = TypeVar("Object", bound=Named)


class Objects(Generic[Object]):
    """The objects of one kind; iterates in the order of ids."""

    def __init__(self, kind: str, objects: Iterable[Object]) -> None:
        self._kind = kind
        self._by_id = {each.id: each for each in sorted(objects, key=lambda each: each.id)}
        self._by_name = {each.alias: each for each in self._by_id.values()}
        self._by_name.update({each.name: each for each in self._by_id.values()})

    def __iter__(self) -> Iterator[Object]:
        return iter(self._by_id.values())

    def __len__(self) -> int:
        return len(self._by_id)

    def __contains__(self, number: int) -> bool:
        return number in self._by_id

    def get(self, number: int) -> Object:
        """The object with this id; NOT_FOUND if the program has none, INVALID_ARGUMENT for 0."""
        found = self._by_id.get(number)
        if found is None:
            if number == 0:
                raise invalid(f"the id of the {self._kind} is missing (it is 0)")
            known = ", ".join(f"{each.name} ({each.id})" for each in self._by_id.values())
            raise not_found(
                f"the program has no {self._kind} with id {number}; it has: {known or 'none'}"
            )
        return found

    def named(self, name: str) -> Object:
        """The object with this full name or alias; NOT_FOUND with the nearest name."""
        found = self._by_name.get(name)
        if found is None:
            names = sorted(each.name for each in self._by_id.values())
            raise not_found(
                f"the program has no {self._kind} {name!r}.{did_you_mean(name, self._by_name)} "
                f"It has: {', '.join(names) or 'none'}"
            )
        return found


class Schema:
    """All objects that a program exposes to its control plane."""

    def __init__(self, info: p4i.P4Info) -> None:
        self.info = info
        self.tables = Objects("table", _tables(info))
        self.actions = Objects("action", map(_action, info.actions))
        self.profiles = Objects("action profile", map(_profile, info.action_profiles))
        self.counters = Objects("counter", map(_counter, info.counters))
        self.meters = Objects("meter", map(_meter, info.meters))
        self.registers = Objects("register", (_register(info, each) for each in info.registers))
        self.digests = Objects("digest", (_digest(info, each) for each in info.digests))
        self.value_sets = Objects("value set", map(_value_set, info.value_sets))
        headers = {each.preamble.name: _header(each) for each in info.controller_packet_metadata}
        self.packet_in = headers.get("packet_in")
        self.packet_out = headers.get("packet_out")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """' Did you mean ...?' if a known name is similar, else an empty string."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def _field(fields: Iterable[Field], name: str, owner: str, kind: str) -> Field:
    names = [each.name for each in fields]
    for each in fields:
        if each.name == name:
            return each
    raise invalid(
        f"{owner} has no {name!r}.{did_you_mean(name, names)} "
        f"Its {kind}: {', '.join(names) or 'none'}"
    )


def _names(preamble: p4i.Preamble) -> tuple[int, str, str]:
    return preamble.id, preamble.name, preamble.alias


def _keys(fields: Iterable[p4i.MatchField]) -> tuple[Field, ...]:
    return tuple(
        Field(each.id, each.name, each.bitwidth, _KINDS[each.match_type]) for each in fields
    )


def _tables(info: p4i.P4Info) -> Iterator[Table]:
    counted = {each.direct_table_id for each in info.direct_counters}
    metered = {each.direct_table_id: each.spec.type for each in info.direct_meters}
    for table in info.tables:
        number = table.preamble.id
        yield Table(
            *_names(table.preamble),
            keys=_keys(table.match_fields),
            actions={each.id: each.scope for each in table.action_refs},
            size=table.size,
            constant=table.is_const_table,
            constant_default=table.const_default_action_id != 0,
            profile=table.implementation_id,
            direct_counter=number in counted,
            direct_meter=metered.get(number),
            idle_timeout=table.idle_timeout_behavior == p4i.Table.NOTIFY_CONTROL,
        )


def _action(action: p4i.Action) -> Action:
    params = tuple(Field(each.id, each.name, each.bitwidth) for each in action.params)
    return Action(*_names(action.preamble), params=params)


def _profile(profile: p4i.ActionProfile) -> Profile:
    return Profile(
        *_names(profile.preamble),
        with_selector=profile.with_selector,
        tables=tuple(profile.table_ids),
        max_group_size=profile.max_group_size,
        counts_members=profile.HasField("sum_of_members"),
        max_member_weight=profile.sum_of_members.max_member_weight,
        weights_disallowed=profile.weights_disallowed,
    )


def _counter(counter: p4i.Counter) -> Array:
    return Array(*_names(counter.preamble), size=counter.size)


def _meter(meter: p4i.Meter) -> Array:
    return Array(*_names(meter.preamble), size=meter.size, type=meter.spec.type)


def _register(info: p4i.P4Info, register: p4i.Register) -> Array:
    width = _width(info, register.type_spec)
    return Array(*_names(register.preamble), size=register.size, width=width)


def _value_set(value_set: p4i.ValueSet) -> ValueSet:
    return ValueSet(*_names(value_set.preamble), keys=_keys(value_set.match), size=value_set.size)


def _header(header: p4i.ControllerPacketMetadata) -> Header:
    fields = tuple(Field(each.id, each.name, each.bitwidth) for each in header.metadata)
    return Header(*_names(header.preamble), fields=fields)


def _digest(info: p4i.P4Info, digest: p4i.Digest) -> Digest:
    spec = digest.type_spec
    form: Literal["struct", "tuple", "scalar"]
    if spec.HasField("struct"):
        struct = info.type_info.structs[spec.struct.name]
        form, members = "struct", [(each.name, each.type_spec) for each in struct.members]
    elif spec.HasField("tuple"):
        form = "tuple"
        members = [(f"f{place}", each) for place, each in enumerate(spec.tuple.members)]
    else:
        form, members = "scalar", [("value", spec)]
    fields = tuple(
        Field(number, name, _width(info, each))
        for number, (name, each) in enumerate(members, start=1)
    )
    return Digest(*_names(digest.preamble), members=fields, form=form)


def _width(info: p4i.P4Info, spec: p4t.P4DataTypeSpec) -> int:
    """Bits of a scalar type; 0 for other types, and for a type whose values are strings."""
    if spec.HasField("new_type"):
        new = info.type_info.new_types[spec.new_type.name]
        if new.HasField("original_type"):
            return _width(info, new.original_type)
        return new.translated_type.sdn_bitwidth
    if spec.HasField("serializable_enum"):
        enum = info.type_info.serializable_enums[spec.serializable_enum.name]
        return enum.underlying_type.bitwidth
    bitstring = spec.bitstring
    match bitstring.WhichOneof("type_spec"):
        case "bit":
            return bitstring.bit.bitwidth
        case "int":
            return bitstring.int.bitwidth
    return 1 if spec.HasField("bool") else 0
