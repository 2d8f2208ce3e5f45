"""P4Info, the control-plane view of a compiled program, with the ids that p4c assigns.

The input is the control-plane half of the IR (`engine/ir/src/control_plane.rs`) as a bundle holds
it: `netkv-bundle 1`, a line feed, then JSON whose `program` is the serde form of `Program`, and
`p4info` that of `P4InfoDetails` (`engine/p4/src/p4info_details.rs`): types, widths for the control
plane, and annotations.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from finsy.proto import p4i, p4t
from google.protobuf import json_format, text_format

from netkv.p4rt.errors import invalid

BUNDLE_MAGIC = b"netkv-bundle 1\n"

Json = Mapping[str, Any]

_MATCH_TYPES = {
    "Exact": p4i.MatchField.EXACT,
    "Lpm": p4i.MatchField.LPM,
    "Ternary": p4i.MatchField.TERNARY,
    "Range": p4i.MatchField.RANGE,
    "Optional": p4i.MatchField.OPTIONAL,
}
_COUNTER_UNITS = {
    "Packets": p4i.CounterSpec.PACKETS,
    "Bytes": p4i.CounterSpec.BYTES,
    "Both": p4i.CounterSpec.BOTH,
}
_METER_UNITS = {
    "Packets": p4i.MeterSpec.PACKETS,
    "Bytes": p4i.MeterSpec.BYTES,
    # Neither P4Runtime nor v1model's MeterType has "both" for meters.
    "Both": p4i.MeterSpec.UNSPECIFIED,
}


def is_bundle(data: bytes) -> bool:
    """Whether `data` is a bundle rather than P4 source."""
    return data.startswith(b"netkv-bundle ")


def read_bundle(bundle: bytes) -> dict[str, Any]:
    """The JSON document of a bundle: `program`, `p4info`, `source_hash`, `name`.

    Raises INVALID_ARGUMENT if `bundle` is not one, or one of another version.
    """
    if not bundle.startswith(BUNDLE_MAGIC):
        first = bundle.split(b"\n", 1)[0][:40]
        raise invalid(f"a bundle begins with {BUNDLE_MAGIC[:-1]!r}, this one with {first!r}")
    try:
        document = json.loads(bundle[len(BUNDLE_MAGIC) :])
    except ValueError as error:
        raise invalid(f"the bundle is damaged: its JSON ends in an error: {error}") from None
    found: dict[str, Any] = document if isinstance(document, dict) else {}
    for part in ("program", "p4info"):
        if not isinstance(found.get(part), dict):
            raise invalid(f"the bundle is damaged: it has no '{part}'")
    return found


def interface(bundle: bytes) -> p4i.P4Info:
    """P4Info of a compiled program for control planes: as `as_p4c`, but sorted, and with `@hidden`
    objects."""
    document = read_bundle(bundle)
    info = _from_program(document["program"], document["p4info"])
    _sort_by_id(info)
    return info


def from_bundle(bundle: bytes) -> p4i.P4Info:
    """P4Info in the form of the program: keys, parameters and fields have the widths of the
    program, and ids in the order of the program. It differs from `interface` if the program has
    `@id` or `@p4runtime_translation` there; see `program_form`."""
    document = read_bundle(bundle)
    program, details = document["program"], document["p4info"]
    info = _from_program(program, _in_program_order(program, details))
    _sort_by_id(info)
    return info


def as_p4c(bundle: bytes) -> p4i.P4Info:
    """P4Info of a compiled program as p4c writes it: with the ids of `@id`, and the widths that
    `@p4runtime_translation` gives; without `@hidden` objects."""
    document = read_bundle(bundle)
    info = _from_program(document["program"], document["p4info"])
    _drop_hidden(info)
    arrays = (info.registers, info.counters, info.meters)
    details = document["p4info"]
    if info.tables or any(arrays) or details["calls_externs"] or details["types"] is not None:
        info.type_info.SetInParent()
    return info


def _in_program_order(program: Json, details: Json) -> Json:
    """The details with ids from 1 and the widths of the program."""

    def renumbered(objects: Iterable[Iterable[Json]], kind: str) -> list[list[Json]]:
        return [
            [
                {**field, "id": number, "width": known["width"], "hidden": False}
                for number, (field, known) in enumerate(zip(fields, of, strict=True), start=1)
            ]
            for fields, of in zip(details[kind], objects, strict=True)
        ]

    matched = (
        [key for key in table["keys"] if key["kind"] != "Selector"] for table in program["tables"]
    )
    registers = [
        {"bitstring": {"bit": {"bitwidth": register["width"]}}} if "newType" in spec else spec
        for spec, register in zip(details["registers"], program["registers"], strict=True)
    ]
    return {
        **details,
        "registers": registers,
        "tables": renumbered(matched, "tables"),
        "actions": renumbered((each["params"] for each in program["actions"]), "actions"),
        "value_sets": renumbered((each["keys"] for each in program["value_sets"]), "value_sets"),
        "controller_headers": renumbered(
            (each["fields"] for each in program["controller_headers"]), "controller_headers"
        ),
    }


def to_text(info: p4i.P4Info) -> str:
    """Protobuf text format, as `p4c --p4runtime-files x.p4info.txtpb` writes it."""
    return text_format.MessageToString(info)


def _from_program(program: Json, details: Json) -> p4i.P4Info:
    info = p4i.P4Info(
        pkg_info=_package(details),
        tables=map(
            partial(_table, program), program["tables"], details["tables"], details["action_refs"]
        ),
        actions=map(_action, program["actions"], details["actions"]),
        action_profiles=(_action_profile(program, each) for each in program["action_profiles"]),
        controller_packet_metadata=map(
            _controller_header, program["controller_headers"], details["controller_headers"]
        ),
        value_sets=map(_value_set, program["value_sets"], details["value_sets"]),
        registers=map(_register, program["registers"], details["registers"]),
        digests=map(_digest, program["digests"], details["digests"]),
    )
    for counter in program["counters"]:
        _add_counter(info, program, counter)
    for meter in program["meters"]:
        _add_meter(info, program, meter)
    _add_structured_annotations(info, details["structured"])
    if details["types"] is not None:
        json_format.ParseDict(_types(details["types"]), info.type_info)
    return info


def _package(details: Json) -> p4i.PkgInfo:
    given = details["package_info"]
    info = p4i.PkgInfo(
        arch="v1model",
        annotations=details["package_annotations"],
        **{key: value.get("stringValue", "") for key, value in given.get("pkginfo", {}).items()},
    )
    for annotation in details["package_structured"]:
        json_format.ParseDict(annotation, info.structured_annotations.add())
    for key, value in given.get("platform_property", {}).items():
        setattr(info.platform_properties, key, int(value.get("int64Value", 0)))
    return info


def _types(types: Json) -> dict[str, Any]:
    """The JSON form of `P4TypeInfo`: the values of enum members are bytes, padded to the width."""
    converted = dict(types)
    converted["serializableEnums"] = {
        name: {
            **spec,
            "members": [
                {"name": member["name"], "value": _base64(member["value"], spec)}
                for member in spec["members"]
            ],
        }
        for name, spec in types.get("serializableEnums", {}).items()
    }
    return converted


def _base64(value: str, spec: Json) -> str:
    width = spec["underlyingType"]["bitwidth"]
    return base64.b64encode(_padded(int(value) % (1 << width), width)).decode()


def _padded(number: int, width: int) -> bytes:
    """A value with all its bytes, as p4c writes it; canonical values have no leading zeros."""
    return number.to_bytes((width + 7) // 8, "big")


def _objects(info: p4i.P4Info) -> Iterable[Any]:
    """The repeated fields of objects with a preamble."""
    return (
        info.tables,
        info.actions,
        info.action_profiles,
        info.counters,
        info.direct_counters,
        info.meters,
        info.direct_meters,
        info.controller_packet_metadata,
        info.value_sets,
        info.registers,
        info.digests,
    )


def _add_structured_annotations(info: p4i.P4Info, structured: Json) -> None:
    for objects in _objects(info):
        for each in objects:
            for annotation in structured.get(each.preamble.name, ()):
                json_format.ParseDict(annotation, each.preamble.structured_annotations.add())


def _drop_hidden(info: p4i.P4Info) -> None:
    """Remove `@hidden` objects, which are not for the control plane."""
    hidden = {each.preamble.id for each in info.actions if "@hidden" in each.preamble.annotations}
    for table in info.tables:
        refs = [ref for ref in table.action_refs if ref.id not in hidden]
        if len(refs) < len(table.action_refs):
            del table.action_refs[:]
            table.action_refs.extend(refs)
    for objects in _objects(info):
        shown = [each for each in objects if "@hidden" not in each.preamble.annotations]
        if len(shown) < len(objects):
            del objects[:]
            objects.extend(shown)


def _preamble(identity: Json) -> p4i.Preamble:
    return p4i.Preamble(
        id=identity["id"],
        name=identity["name"],
        alias=identity["alias"],
        annotations=identity["annotations"],
    )


def _action_id(program: Json, table: Json, index: int) -> int:
    """P4Info id of the action at `index` of a table's own list."""
    action = program["actions"][table["actions"][index]["action"]]
    number: int = action["identity"]["id"]
    return number


def _number(value: Json) -> int:
    """A constant of the IR: 64-bit words, least significant first."""
    return sum(word << (64 * position) for position, word in enumerate(value["words"]))


_Field = TypeVar("_Field", p4i.MatchField, p4i.Action.Param, p4i.ControllerPacketMetadata.Metadata)


def _field(kind: type[_Field], name: str, details: Json) -> _Field:
    """A match field, parameter or metadata field. Its id counts from 1 unless it has an `@id`."""
    field = kind(id=details["id"], name=name, bitwidth=details["width"])
    field.annotations.extend(details["annotations"])
    if details["type_name"] is not None:
        field.type_name.name = details["type_name"]
    for annotation in details["structured"]:
        json_format.ParseDict(annotation, field.structured_annotations.add())
    return field


def _match_fields(keys: Iterable[Json], details: Iterable[Json]) -> Iterable[p4i.MatchField]:
    # A selector key is input of a hash: entries do not have it, and it gets no id.
    matched = (key for key in keys if key["kind"] != "Selector")
    for key, detail in zip(matched, details, strict=True):
        field = _field(p4i.MatchField, key["name"], detail)
        field.match_type = _MATCH_TYPES[key["kind"]]
        yield field


def _action_ref(program: Json, reference: Json, annotations: Sequence[Any]) -> p4i.ActionRef:
    plain, structured = annotations
    ref = p4i.ActionRef(
        id=program["actions"][reference["action"]]["identity"]["id"], annotations=plain
    )
    for annotation in structured:
        json_format.ParseDict(annotation, ref.structured_annotations.add())
    if reference["default_only"]:
        ref.scope = p4i.ActionRef.DEFAULT_ONLY
    elif reference["table_only"]:
        ref.scope = p4i.ActionRef.TABLE_ONLY
    return ref


def _table(
    program: Json, table: Json, keys: Sequence[Json], references: Sequence[Sequence[Any]]
) -> p4i.Table:
    default = table["default_action"]
    default_id = _action_id(program, table, default["action"])
    message = p4i.Table(
        preamble=_preamble(table["identity"]),
        match_fields=_match_fields(table["keys"], keys),
        action_refs=map(partial(_action_ref, program), table["actions"], references),
        size=table["size"],
        is_const_table=table["const_entries"],
        has_initial_entries=bool(table["entries"]),
        initial_default_action=p4i.TableActionCall(
            action_id=default_id,
            arguments=(
                p4i.TableActionCall.Argument(
                    param_id=number, value=_padded(_number(value), value["width"])
                )
                for number, value in enumerate(default["data"], start=1)
            ),
        ),
    )
    if table["const_default"]:
        message.const_default_action_id = default_id
    if table["action_profile"] is not None:
        profile = program["action_profiles"][table["action_profile"]]
        message.implementation_id = profile["identity"]["id"]
    for key, objects in (("direct_counter", "counters"), ("direct_meter", "meters")):
        if table[key] is not None:
            message.direct_resource_ids.append(program[objects][table[key]]["identity"]["id"])
    if table["idle_timeout"]:
        message.idle_timeout_behavior = p4i.Table.NOTIFY_CONTROL
    return message


def _action(action: Json, details: Sequence[Json]) -> p4i.Action:
    return p4i.Action(
        preamble=_preamble(action["identity"]),
        params=(
            _field(p4i.Action.Param, param["name"], detail)
            for param, detail in zip(action["params"], details, strict=True)
        ),
    )


def _action_profile(program: Json, profile: Json) -> p4i.ActionProfile:
    annotations = {}
    for text in profile["identity"]["annotations"]:
        name, _, body = text[1:].partition("(")
        annotations[name] = body.rstrip(")")
    message = p4i.ActionProfile(
        preamble=_preamble(profile["identity"]),
        table_ids=(program["tables"][index]["identity"]["id"] for index in profile["tables"]),
        with_selector=profile["selector"] is not None,
        size=profile["size"],
        max_group_size=int(annotations.get("max_group_size", 0)),
    )
    if message.with_selector and annotations.get("selector_size_semantics") == '"sum_of_members"':
        message.sum_of_members.max_member_weight = int(annotations.get("max_member_weight", 0))
    elif message.with_selector and "max_group_size" in annotations:
        message.sum_of_weights.SetInParent()
    for name in ("max_group_size", "selector_size_semantics", "max_member_weight"):
        for text in [t for t in message.preamble.annotations if t.startswith(f"@{name}(")]:
            message.preamble.annotations.remove(text)
    return message


def _add_counter(info: p4i.P4Info, program: Json, counter: Json) -> None:
    preamble = _preamble(counter["identity"])
    spec = p4i.CounterSpec(unit=_COUNTER_UNITS[counter["unit"]])
    if counter["direct"] is None and counter["size"] == 0:
        return  # A direct counter that no table has.
    if counter["direct"] is None:
        info.counters.add(preamble=preamble, spec=spec, size=counter["size"])
    else:
        table = program["tables"][counter["direct"]]["identity"]["id"]
        info.direct_counters.add(preamble=preamble, spec=spec, direct_table_id=table)


def _add_meter(info: p4i.P4Info, program: Json, meter: Json) -> None:
    preamble = _preamble(meter["identity"])
    spec = p4i.MeterSpec(unit=_METER_UNITS[meter["unit"]])
    if meter["direct"] is None and meter["size"] == 0:
        return  # A direct meter that no table has.
    if meter["direct"] is None:
        info.meters.add(preamble=preamble, spec=spec, size=meter["size"])
    else:
        table = program["tables"][meter["direct"]]["identity"]["id"]
        info.direct_meters.add(preamble=preamble, spec=spec, direct_table_id=table)


def _controller_header(header: Json, details: Sequence[Json]) -> p4i.ControllerPacketMetadata:
    message = p4i.ControllerPacketMetadata(
        preamble=_preamble(header["identity"]),
        metadata=(
            _field(p4i.ControllerPacketMetadata.Metadata, field["name"], detail)
            for field, detail in zip(header["fields"], details, strict=True)
            if not detail["hidden"]
        ),
    )
    message.preamble.alias = message.preamble.name
    return message


def _value_set(value_set: Json, details: Sequence[Json]) -> p4i.ValueSet:
    return p4i.ValueSet(
        preamble=_preamble(value_set["identity"]),
        match=_match_fields(value_set["keys"], details),
        size=value_set["size"],
    )


def _register(register: Json, spec: dict[str, Any]) -> p4i.Register:
    return p4i.Register(
        preamble=_preamble(register["identity"]),
        type_spec=json_format.ParseDict(spec, p4t.P4DataTypeSpec()),
        size=register["size"],
    )


def _digest(digest: Json, spec: dict[str, Any]) -> p4i.Digest:
    return p4i.Digest(
        preamble=_preamble(digest["identity"]),
        type_spec=json_format.ParseDict(spec, p4t.P4DataTypeSpec()),
    )


def _sort_by_id(info: p4i.P4Info) -> None:
    """Sorts the objects by id, because P4Info is compared as text."""
    for objects in _objects(info):
        objects.sort(key=lambda each: each.preamble.id)
