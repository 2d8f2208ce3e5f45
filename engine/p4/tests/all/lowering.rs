//! The IR of compiled programs: P4Info ids, names, entries, inlined calls and externs.

use crate::common::compile;
use netkv_ir::{Cfg, Match, Op, Program};

fn ops(graph: &Cfg) -> Vec<&Op> {
    graph.blocks.iter().flat_map(|b| &b.ops).collect()
}

const FORWARD: &str = "
    direct_counter(CounterType.packets) hits;
    action drop() { mark_to_drop(std); }
    action ipv4_forward(bit<48> dstAddr, bit<9> port) { std.egress_spec = port; }
    table ipv4_lpm {
        key = { hdr.ipv4.dstAddr: lpm; hdr.ipv4.isValid(): exact; meta.b[3:0]: ternary @name(\"low\"); }
        actions = { ipv4_forward; drop; NoAction; }
        counters = hits;
        default_action = NoAction();
    }
    @id(77) register<bit<32>>(16) seen;
    apply { ipv4_lpm.apply(); }";

fn forward() -> Program {
    compile("", FORWARD).unwrap_or_else(|e| panic!("{e}")).program
}

/// The expected ids are those that p4c assigns for `basic.p4` of the P4 tutorials.
#[test]
fn p4info_ids_match_p4c() {
    let program = forward();
    let table = &program.tables[0];
    assert_eq!(
        (table.identity.name.as_str(), table.identity.id),
        ("MyIngress.ipv4_lpm", 37_375_156)
    );
    let id =
        |name: &str| program.actions.iter().find(|a| a.identity.name == name).unwrap().identity.id;
    assert_eq!(id("MyIngress.drop"), 25_652_968);
    assert_eq!(id("MyIngress.ipv4_forward"), 28_792_405);
    assert_eq!(id("NoAction"), 21_257_015);
    assert_eq!(table.identity.alias, "ipv4_lpm");
    assert_eq!(table.size, 1024);
    let keys: Vec<&str> = table.keys.iter().map(|k| k.name.as_str()).collect();
    assert_eq!(keys, ["hdr.ipv4.dstAddr", "hdr.ipv4.$valid$", "low"]);
    assert_eq!(program.registers[0].identity.id, 0x1600_004d);
    assert_eq!(program.counters[0].identity.id >> 24, 0x13);
    assert_eq!((program.counters[0].direct, table.direct_counter), (Some(0), Some(0)));
}

#[test]
fn equal_names_get_distinct_aliases() {
    let globals = "control Part(inout metadata m) { register<bit<8>>(4) count; apply { count.write(0, m.a); } }";
    let ingress = "Part() first; Part() second; apply { first.apply(meta); second.apply(meta); }";
    let program = compile(globals, ingress).unwrap_or_else(|e| panic!("{e}")).program;
    let found: Vec<(&str, &str)> = program
        .registers
        .iter()
        .map(|r| (r.identity.name.as_str(), r.identity.alias.as_str()))
        .collect();
    assert_eq!(
        found,
        [("MyIngress.first.count", "first.count"), ("MyIngress.second.count", "second.count")]
    );
}

#[test]
fn arguments_of_controls_are_bound_in_place() {
    let globals = "
        control Inner(inout headers h, inout metadata m, in bit<8> by) { apply { h.ipv4.ttl = h.ipv4.ttl + by; m.a = by; } }
        control Outer(inout headers h, inout metadata m) { Inner() inner; apply { inner.apply(h, m, 3); } }";
    let program =
        compile(globals, "Outer() outer; apply { outer.apply(hdr, meta); }").unwrap().program;
    let ops = ops(&program.ingress);
    assert_eq!(ops.len(), 2, "{ops:#?}");
    assert!(ops.iter().all(|op| matches!(op, Op::Assign { .. })), "{ops:#?}");
    assert_eq!(program.ingress.blocks.len(), 1);
}

#[test]
fn aliased_arguments_are_copied() {
    let globals =
        "control Inner(inout bit<8> x, inout bit<8> y) { apply { x = 1; y = x + 1; x = 5; } }";
    let program =
        compile(globals, "Inner() i; apply { i.apply(meta.a, meta.a); }").unwrap().program;
    let place = program.vars.iter().find(|v| v.name == "meta.a").unwrap().place;
    let writes = ops(&program.ingress)
        .iter()
        .filter(|op| matches!(op, Op::Assign { to, .. } if *to == place))
        .count();
    // Dead-store elimination removes the copy-out of the first argument.
    assert_eq!(writes, 1);
}

#[test]
fn variables_are_named_after_the_ingress_parameters() {
    let program = forward();
    for name in
        ["hdr.ipv4.ttl", "hdr.v[3].x", "meta.b", "std.egress_spec", "MyIngress.ipv4_forward.port"]
    {
        assert!(program.vars.iter().any(|v| v.name == name), "{name} is missing");
    }
}

#[test]
fn const_entries_keep_their_order_and_priority() {
    let ingress = "
        action a(bit<8> v) { meta.a = v; }
        table t {
            key = { hdr.ipv4.dstAddr: ternary; hdr.ipv4.ttl: range; meta.b: optional; }
            actions = { a; }
            default_action = a(0);
            const entries = { (0x0A000000 &&& 0xFF000000, 1 .. 5, _): a(1); (_, _, 7): a(2); }
        }
        table prefixes {
            key = { hdr.ipv4.dstAddr: lpm; }
            actions = { a; }
            default_action = a(0);
            entries = { 0x0A000000 &&& 0xFFFF0000: a(3); _: a(4); }
        }
        apply { t.apply(); prefixes.apply(); }";
    let program = compile("", ingress).unwrap_or_else(|e| panic!("{e}")).program;
    let first = &program.tables[0];
    assert!(first.const_entries);
    assert_eq!(first.entries.iter().map(|e| e.priority).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(first.entries[1].matches[2], Match::Optional(Some(netkv_ir::Value::new(16, 7))));
    let second = &program.tables[1];
    assert_eq!(second.entries.iter().map(|e| e.priority).collect::<Vec<_>>(), [0, 0]);
    assert_eq!(second.entries[0].matches[0], Match::Lpm(netkv_ir::Value::new(32, 0x0A00_0000), 16));
}

/// Priorities of the entries of a table with one ternary key. The larger one wins.
fn priorities(properties: &str) -> Vec<u32> {
    let ingress = format!(
        "action a(bit<8> v) {{ meta.a = v; }}
        table t {{ key = {{ meta.b: ternary; }} actions = {{ a; }} default_action = a(0); {properties} }}
        apply {{ t.apply(); }}"
    );
    let program = compile("", &ingress).unwrap_or_else(|e| panic!("{e}")).program;
    program.tables[0].entries.iter().map(|entry| entry.priority).collect()
}

#[test]
fn entry_priorities_match_p4c() {
    let bare = "entries = { 1: a(1); 2: a(2); 3: a(3); }";
    assert_eq!(priorities(&format!("const {bare}")), [3, 2, 1]);
    assert_eq!(priorities(bare), [3, 2, 1]);
    assert_eq!(priorities(&format!("priority_delta = 10; {bare}")), [21, 11, 1]);
    assert_eq!(
        priorities("entries = { priority = 30: 1: a(1); 2: a(2); priority = 5: 3: a(3); }"),
        [30, 29, 5]
    );
    assert_eq!(
        priorities(
            "priority_delta = 7; entries = { priority = (3 * 10): 1: a(1); 2: a(2); 3: a(3); }"
        ),
        [30, 23, 16]
    );
    // In P4Runtime, the largest priority always wins, so the order is reversed.
    let smallest = "largest_priority_wins = false; entries = { priority = 10: 1: a(1); 2: a(2); priority = 90: 3: a(3); }";
    assert_eq!(priorities(smallest), [81, 80, 1]);
}

/// p4c passes the number of `@priority`, or the position of the entry, to bmv2. There the smallest
/// number wins.
#[test]
fn priority_annotations_order_entries_as_bmv2_does() {
    let marked = |first: &str, second: &str, third: &str| {
        priorities(&format!(
            "const entries = {{ 1: a(1) {first}; 2: a(2) {second}; 3: a(3) {third}; }}"
        ))
    };
    assert_eq!(marked("@priority(3)", "@priority(2)", "@priority(1)"), [1, 2, 3]);
    assert_eq!(marked("@priority(3)", "", "@priority(1)"), [1, 2, 3]);
    assert_eq!(marked("", "", "@priority(1)"), [3, 1, 2]);
    assert_eq!(marked("@priority(100)", "", ""), [1, 3, 2]);
    assert_eq!(marked("@priority(0x7)", "@priority(7)", "@priority(7)"), [3, 2, 1]);
    assert_eq!(
        priorities("entries = { priority = 1: 1: a(1); priority = 9: 2: a(2) @priority(5); }"),
        [2, 1]
    );
    let program = "action a() { } table t { key = { meta.b: ternary; } actions = { a; }
         const entries = { 1: a() @priority(4); } } apply { t.apply(); }";
    let warnings = compile("", program).unwrap_or_else(|e| panic!("{e}")).warnings;
    assert!(warnings.iter().any(|w| w.message.contains("the smallest number")), "{warnings:?}");
}

#[test]
fn all_externs_of_v1model_are_lowered() {
    let ingress = "
        @hidden action log() { log_msg(\"ttl {}\", { hdr.ipv4.ttl }); }
        counter(8, CounterType.bytes) c;
        meter(8, MeterType.packets) m;
        direct_meter<bit<8>>(MeterType.bytes) dm;
        action_selector(HashAlgorithm.crc16, 32w64, 32w14) sel;
        action pick() { dm.read(meta.a); }
        table grouped {
            key = { hdr.ipv4.dstAddr: exact; hdr.ipv4.ttl: selector; }
            actions = { pick; NoAction; }
            implementation = sel;
        }
        table metered { key = { hdr.ipv4.ttl: exact; } actions = { pick; } default_action = pick(); meters = dm; }
        apply {
            log();
            c.count(1);
            m.execute_meter((bit<32>)meta.a, meta.b);
            random(meta.b, 16w1, 16w9);
            digest<metadata>(1, meta);
            truncate(64);
            assert(meta.a == 1);
            assume(hdr.ipv4.isValid());
            grouped.apply();
            metered.apply();
        }";
    let program = compile("", ingress).unwrap_or_else(|e| panic!("{e}")).program;
    assert_eq!(program.action_profiles[0].tables, [0]);
    assert_eq!(program.digests[0].members.len(), 2);
    assert_eq!(program.tables[0].actions.len(), 2);
    assert_eq!(program.meters[1].direct, Some(1));
    let ops = ops(&program.ingress);
    for wanted in [
        "Log",
        "Count",
        "ExecuteMeter",
        "Random",
        "Digest",
        "Truncate",
        "Assert",
        "ReadDirectMeter",
    ] {
        assert!(ops.iter().any(|op| format!("{op:?}").starts_with(wanted)), "{wanted} is missing");
    }
}
