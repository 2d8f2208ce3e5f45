"""P4Info as p4c prints it (`netkv p4 info`): types, ids, annotations, padded values."""

from __future__ import annotations

import pytest
from finsy.proto import p4i

from netkv import _engine
from netkv.p4rt import p4info

SOURCE = """
#include <core.p4>
#include <v1model.p4>

@p4runtime_translation("example/port", bit<32>)
type bit<9> port_t;
@p4runtime_translation("example/name", string)
type bit<16> name_t;
type bit<8> plain_t;
enum bit<6> kind_t { small = 1, large = 33 }

struct pair_t { bit<4> a; bit<4> b; }
header main_t { port_t port; bit<7> rest; name_t name; plain_t plain; kind_t kind; bit<2> end; }
@controller_header("packet_out")
header out_t { pair_t p; @id(7) bit<8> x; }
struct headers_t { out_t o; main_t m; }
struct meta_t { @name("other.name") bit<8> renamed; }

parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
    state start { p.extract(h.m); transition accept; }
}
control V(inout headers_t h, inout meta_t m) { apply { } }
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    register<bit<16>>(8) never_used;
    action unused() { }
    action direct(bit<8> x) { m.renamed = x; }
    action inner(in bit<8> x) { m.renamed = x; }
    action set(@id(8) port_t port, bit<20> wide, kind_t kind) {
        h.m.port = port;
        h.m.kind = kind;
        inner(wide[7:0]);
    }
    @brief("not an annotation") @mark[1, "two", true] @plain("text")
    table t {
        key = {
            h.m.port: exact @id(9);
            h.m.name: exact;
            h.m.plain: ternary @name("masked");
            h.m.kind: exact;
            m.renamed: ternary;
        }
        actions = { @tag("here") set; @defaultonly NoAction; }
        default_action = set((port_t) 3, 5, kind_t.large);
        size = 16;
    }
    table never_applied { actions = { unused; } default_action = unused; }
    apply { direct(1); t.apply(); }
}
control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in headers_t h) { apply { p.emit(h); } }
@pkginfo(name = "example", version = "2")
@platform_property(multicast_group_table_size = 10)
V1Switch(P(), V(), I(), E(), V(), D()) main;
"""


@pytest.fixture(scope="module")
def bundle() -> bytes:
    return _engine.compile_source("example.p4", SOURCE)


@pytest.fixture(scope="module")
def info(bundle: bytes) -> p4i.P4Info:
    return p4info.as_p4c(bundle)


def test_only_used_tables_and_actions_are_listed(info: p4i.P4Info) -> None:
    assert [each.preamble.alias for each in info.tables] == ["t"]
    actions = {each.preamble.alias: each for each in info.actions}
    # 'inner' is inlined into 'set'; 'direct' gets its values from the control.
    assert sorted(actions) == ["NoAction", "direct", "set"]
    assert not actions["direct"].params
    assert [each.preamble.alias for each in info.registers] == ["never_used"]


def test_keys_have_ids_names_and_translated_widths(info: p4i.P4Info) -> None:
    keys = [
        (key.id, key.name, key.bitwidth, key.type_name.name) for key in info.tables[0].match_fields
    ]
    assert keys == [
        (9, "h.m.port", 32, "port_t"),
        (2, "h.m.name", 0, "name_t"),
        (3, "masked", 8, "plain_t"),
        (4, "h.m.kind", 6, ""),
        (5, "m.other.name", 8, ""),
    ]
    (action,) = (each for each in info.actions if each.preamble.alias == "set")
    params = [(each.id, each.name, each.bitwidth, each.type_name.name) for each in action.params]
    assert params == [(8, "port", 32, "port_t"), (2, "wide", 20, ""), (3, "kind", 6, "")]


def test_annotations_are_listed_plain_and_structured(info: p4i.P4Info) -> None:
    preamble = info.tables[0].preamble
    assert list(preamble.annotations) == ['@plain("text")']
    (structured,) = preamble.structured_annotations
    assert structured.name == "mark"
    values = structured.expression_list.expressions
    assert (values[0].int64_value, values[1].string_value, values[2].bool_value) == (1, "two", True)
    refs = {ref.scope: list(ref.annotations) for ref in info.tables[0].action_refs}
    assert refs == {
        p4i.ActionRef.TABLE_AND_DEFAULT: ['@tag("here")'],
        p4i.ActionRef.DEFAULT_ONLY: ["@defaultonly"],
    }


def test_values_have_all_their_bytes(info: p4i.P4Info) -> None:
    arguments = info.tables[0].initial_default_action.arguments
    assert [each.value for each in arguments] == [b"\0\x03", b"\0\0\x05", b"\x21"]
    kind = info.type_info.serializable_enums["kind_t"]
    assert [(each.name, each.value) for each in kind.members] == [
        ("small", b"\x01"),
        ("large", b"\x21"),
    ]


def test_new_types_have_their_translation(info: p4i.P4Info) -> None:
    types = info.type_info.new_types
    assert types["port_t"].translated_type.uri == "example/port"
    assert types["port_t"].translated_type.sdn_bitwidth == 32
    assert types["name_t"].translated_type.HasField("sdn_string")
    assert types["plain_t"].original_type.bitstring.bit.bitwidth == 8


def test_structs_in_controller_headers_are_flat(info: p4i.P4Info) -> None:
    (header,) = info.controller_packet_metadata
    assert header.preamble.name == header.preamble.alias == "packet_out"
    assert list(header.preamble.annotations) == ['@controller_header("packet_out")']
    fields = [(each.id, each.name, each.bitwidth) for each in header.metadata]
    assert fields == [(1, "p.a", 4), (2, "p.b", 4), (7, "x", 8)]


def test_package_is_described(info: p4i.P4Info) -> None:
    assert (info.pkg_info.name, info.pkg_info.version) == ("example", "2")
    assert info.pkg_info.platform_properties.multicast_group_table_size == 10


def test_control_planes_have_these_keys(bundle: bytes, info: p4i.P4Info) -> None:
    keys = p4info.interface(bundle).tables[0].match_fields
    assert list(keys) == list(info.tables[0].match_fields)


def test_form_of_the_program_has_its_ids_and_widths(bundle: bytes) -> None:
    table = p4info.from_bundle(bundle).tables[0]
    keys = [(key.id, key.bitwidth) for key in table.match_fields]
    assert keys == [(1, 9), (2, 16), (3, 8), (4, 6), (5, 8)]
