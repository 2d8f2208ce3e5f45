"""P4Info: the ids and structures that every P4Runtime client relies on."""

from __future__ import annotations

import pytest
from finsy import P4Schema
from finsy.proto import p4i
from google.protobuf import text_format

from netkv.p4rt import p4info
from netkv.p4rt.errors import RpcError

PREFIXES = {
    "tables": 0x02,
    "actions": 0x01,
    "value_sets": 0x03,
    "controller_packet_metadata": 0x04,
    "action_profiles": 0x11,
    "counters": 0x12,
    "direct_counters": 0x13,
    "meters": 0x14,
    "registers": 0x16,
    "digests": 0x17,
}


def hashed(name: str) -> int:
    """The low 24 bits of Jenkins' one-at-a-time hash, from which p4c makes ids."""
    value = 0
    for byte in name.encode():
        value = (value + byte) & 0xFFFFFFFF
        value = (value + (value << 10)) & 0xFFFFFFFF
        value ^= value >> 6
    value = (value + (value << 3)) & 0xFFFFFFFF
    value ^= value >> 11
    return (value + (value << 15)) & 0xFFFFFF


@pytest.fixture(scope="module")
def info(bundle: bytes) -> p4i.P4Info:
    return p4info.from_bundle(bundle)


def test_ids_are_those_of_p4c(info: p4i.P4Info) -> None:
    # Ids that p4c prints for these names in its tutorials.
    assert 0x01 << 24 | hashed("NoAction") == 21257015
    assert 0x02 << 24 | hashed("MyIngress.ipv4_lpm") == 37375156
    for kind, prefix in PREFIXES.items():
        objects = getattr(info, kind)
        assert objects, kind
        for each in objects:
            name = each.preamble.name
            if kind == "controller_packet_metadata":
                name += "_t"  # p4c hashes the name of the type
            assert each.preamble.id == prefix << 24 | hashed(name), name


def test_tables_have_keys_actions_and_resources(info: p4i.P4Info) -> None:
    tables = {each.preamble.alias: each for each in info.tables}
    exact = tables["exact_table"]
    assert [(f.id, f.name, f.bitwidth, f.match_type) for f in exact.match_fields] == [
        (1, "h.probe.ip", 32, p4i.MatchField.EXACT),
        (2, "h.probe.tag", 8, p4i.MatchField.EXACT),
    ]
    assert exact.size == 20000
    assert list(exact.direct_resource_ids) == [info.direct_counters[0].preamble.id]
    names = {each.preamble.id: each.preamble.alias for each in info.actions}
    assert {names[ref.id]: ref.scope for ref in exact.action_refs} == {
        "set_result": p4i.ActionRef.TABLE_AND_DEFAULT,
        "drop": p4i.ActionRef.TABLE_AND_DEFAULT,
        "NoAction": p4i.ActionRef.TABLE_AND_DEFAULT,
        "forward": p4i.ActionRef.DEFAULT_ONLY,
    }
    balanced = tables["balanced_table"]
    # The input of the selector is not part of an entry.
    assert [field.name for field in balanced.match_fields] == ["h.probe.op"]
    assert balanced.implementation_id == info.action_profiles[0].preamble.id
    assert list(info.action_profiles[0].table_ids) == [balanced.preamble.id]
    const = tables["const_table"]
    assert const.is_const_table
    assert names[const.const_default_action_id] == "NoAction"


def test_digests_and_headers_name_their_fields(info: p4i.P4Info) -> None:
    (digest,) = info.digests
    struct = info.type_info.structs[digest.type_spec.struct.name]
    assert [(m.name, m.type_spec.bitstring.bit.bitwidth) for m in struct.members] == [
        ("ip", 32),
        ("tag", 8),
    ]
    headers = {each.preamble.name: each for each in info.controller_packet_metadata}
    assert [(m.id, m.name, m.bitwidth) for m in headers["packet_in"].metadata] == [
        (1, "ingress_port", 9),
        (2, "_pad", 7),
        (3, "reason", 16),
    ]


def test_text_format_is_read_by_protobuf_and_finsy(info: p4i.P4Info) -> None:
    assert text_format.Parse(p4info.to_text(info), p4i.P4Info()) == info
    schema = P4Schema(p4i.P4Info.FromString(info.SerializeToString()))
    assert {table.alias for table in schema.tables} >= {"exact_table", "lpm_table"}


def test_invalid_bundle_is_refused_with_a_reason() -> None:
    with pytest.raises(RpcError, match="a bundle begins with b'netkv-bundle 1'"):
        p4info.from_bundle(b"netkv-bundle 9\n{}")
    with pytest.raises(RpcError, match="damaged"):
        p4info.from_bundle(p4info.BUNDLE_MAGIC + b'{"program": ')
