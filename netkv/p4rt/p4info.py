"""P4Info: what a compiled program shows to a control plane, with the ids that p4c gives.

The input is the control-plane half of the IR (`engine/ir/src/control_plane.rs`) as a bundle holds
it: `netkv-bundle 1`, a line feed, then JSON whose `program` is the serde form of `Program`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from finsy.proto import p4i, p4t
from google.protobuf import text_format

from netkv.p4rt import values
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
    # A meter has no "both" in P4Runtime, and v1model's MeterType neither.
    "Both": p4i.MeterSpec.UNSPECIFIED,
}


def is_bundle(data: bytes) -> bool:
    """Whether `data` is a compiled program of ours rather than P4 source."""
    return data.startswith(b"netkv-bundle ")


def read_bundle(bundle: bytes) -> dict[str, Any]:
    """The JSON document of a bundle: `program`, `source_hash`, `name`.

    Raises INVALID_ARGUMENT if `bundle` is not one, or one of another version.
    """
    if not bundle.startswith(BUNDLE_MAGIC):
        first = bundle.split(b"\n", 1)[0][:40]
        raise invalid(f"a bundle begins with {BUNDLE_MAGIC[:-1]!r}, this one with {first!r}")
    try:
        document = json.loads(bundle[len(BUNDLE_MAGIC) :])
    except ValueError as error:
        raise invalid(f"the bundle is damaged: its JSON ends in an error: {error}") from None
    if not isinstance(document, dict) or not isinstance(document.get("program"), dict):
        raise invalid("the bundle is damaged: it has no 'program'")
    return document


def from_bundle(bundle: bytes) -> p4i.P4Info:
    """P4Info of a compiled program."""
    return from_program(read_bundle(bundle)["program"])


def to_text(info: p4i.P4Info) -> str:
    """Protobuf text format, as `p4c --p4runtime-files x.p4info.txtpb` writes it."""
    return text_format.MessageToString(info)


def from_text(text: str) -> p4i.P4Info:
    """P4Info from protobuf text format. Raises INVALID_ARGUMENT with line and column."""
    try:
        return text_format.Parse(text, p4i.P4Info())
    except text_format.ParseError as error:
        raise invalid(f"this is not a P4Info in text format: {error}") from None


def from_program(program: Json) -> p4i.P4Info:
    """P4Info from the IR's `Program` in its JSON form."""
    info = p4i.P4Info(
        pkg_info=p4i.PkgInfo(arch="v1model"),
        tables=(_table(program, table) for table in program["tables"]),
        actions=map(_action, program["actions"]),
        action_profiles=(_action_profile(program, each) for each in program["action_profiles"]),
        controller_packet_metadata=map(_controller_header, program["controller_headers"]),
        value_sets=map(_value_set, program["value_sets"]),
        registers=map(_register, program["registers"]),
        digests=map(_digest, program["digests"]),
    )
    for counter in program["counters"]:
        _add_counter(info, program, counter)
    for meter in program["meters"]:
        _add_meter(info, program, meter)
    for digest in program["digests"]:
        if digest["type_name"]:
            _add_struct(info.type_info, digest)
    _sort_by_id(info)
    return info


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


def _match_fields(keys: Iterable[Json]) -> Iterable[p4i.MatchField]:
    # A selector key feeds a hash; entries do not hold it, and it takes no number.
    matched = (key for key in keys if key["kind"] != "Selector")
    for number, key in enumerate(matched, start=1):
        yield p4i.MatchField(
            id=number, name=key["name"], bitwidth=key["width"], match_type=_MATCH_TYPES[key["kind"]]
        )


def _action_ref(program: Json, reference: Json) -> p4i.ActionRef:
    ref = p4i.ActionRef(id=program["actions"][reference["action"]]["identity"]["id"])
    if reference["default_only"]:
        ref.scope = p4i.ActionRef.DEFAULT_ONLY
        ref.annotations.append("@defaultonly")
    elif reference["table_only"]:
        ref.scope = p4i.ActionRef.TABLE_ONLY
        ref.annotations.append("@tableonly")
    return ref


def _table(program: Json, table: Json) -> p4i.Table:
    default = table["default_action"]
    default_id = _action_id(program, table, default["action"])
    message = p4i.Table(
        preamble=_preamble(table["identity"]),
        match_fields=_match_fields(table["keys"]),
        action_refs=(_action_ref(program, each) for each in table["actions"]),
        size=table["size"],
        is_const_table=table["const_entries"],
        has_initial_entries=bool(table["entries"]),
        initial_default_action=p4i.TableActionCall(
            action_id=default_id,
            arguments=(
                p4i.TableActionCall.Argument(param_id=number, value=values.encode(_number(value)))
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


def _action(action: Json) -> p4i.Action:
    return p4i.Action(
        preamble=_preamble(action["identity"]),
        params=(
            p4i.Action.Param(id=number, name=param["name"], bitwidth=param["width"])
            for number, param in enumerate(action["params"], start=1)
        ),
    )


def _action_profile(program: Json, profile: Json) -> p4i.ActionProfile:
    return p4i.ActionProfile(
        preamble=_preamble(profile["identity"]),
        table_ids=(program["tables"][index]["identity"]["id"] for index in profile["tables"]),
        with_selector=profile["selector"] is not None,
        size=profile["size"],
    )


def _add_counter(info: p4i.P4Info, program: Json, counter: Json) -> None:
    preamble = _preamble(counter["identity"])
    spec = p4i.CounterSpec(unit=_COUNTER_UNITS[counter["unit"]])
    if counter["direct"] is None:
        info.counters.add(preamble=preamble, spec=spec, size=counter["size"])
    else:
        table = program["tables"][counter["direct"]]["identity"]["id"]
        info.direct_counters.add(preamble=preamble, spec=spec, direct_table_id=table)


def _add_meter(info: p4i.P4Info, program: Json, meter: Json) -> None:
    preamble = _preamble(meter["identity"])
    spec = p4i.MeterSpec(unit=_METER_UNITS[meter["unit"]])
    if meter["direct"] is None:
        info.meters.add(preamble=preamble, spec=spec, size=meter["size"])
    else:
        table = program["tables"][meter["direct"]]["identity"]["id"]
        info.direct_meters.add(preamble=preamble, spec=spec, direct_table_id=table)


def _controller_header(header: Json) -> p4i.ControllerPacketMetadata:
    return p4i.ControllerPacketMetadata(
        preamble=_preamble(header["identity"]),
        metadata=(
            p4i.ControllerPacketMetadata.Metadata(
                id=number, name=field["name"], bitwidth=field["width"]
            )
            for number, field in enumerate(header["fields"], start=1)
        ),
    )


def _value_set(value_set: Json) -> p4i.ValueSet:
    return p4i.ValueSet(
        preamble=_preamble(value_set["identity"]),
        match=_match_fields(value_set["keys"]),
        size=value_set["size"],
    )


def _bit(width: int) -> p4t.P4BitstringLikeTypeSpec:
    return p4t.P4BitstringLikeTypeSpec(bit=p4t.P4BitTypeSpec(bitwidth=width))


def _register(register: Json) -> p4i.Register:
    return p4i.Register(
        preamble=_preamble(register["identity"]),
        type_spec=p4t.P4DataTypeSpec(bitstring=_bit(register["width"])),
        size=register["size"],
    )


def _digest(digest: Json) -> p4i.Digest:
    if digest["type_name"]:
        spec = p4t.P4DataTypeSpec(struct=p4t.P4NamedType(name=digest["type_name"]))
    else:
        spec = p4t.P4DataTypeSpec(
            tuple=p4t.P4TupleTypeSpec(
                members=(
                    p4t.P4DataTypeSpec(bitstring=_bit(member["width"]))
                    for member in digest["members"]
                )
            )
        )
    return p4i.Digest(preamble=_preamble(digest["identity"]), type_spec=spec)


def _add_struct(types: p4t.P4TypeInfo, digest: Json) -> None:
    struct = p4t.P4StructTypeSpec(
        members=(
            p4t.P4StructTypeSpec.Member(
                name=member["name"],
                type_spec=p4t.P4DataTypeSpec(bitstring=_bit(member["width"])),
            )
            for member in digest["members"]
        )
    )
    types.structs[digest["type_name"]].CopyFrom(struct)


def _sort_by_id(info: p4i.P4Info) -> None:
    """One order for one program: P4Info is compared and diffed as text."""
    for objects in (
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
    ):
        objects.sort(key=lambda each: each.preamble.id)
