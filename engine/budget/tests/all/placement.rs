//! Tests of the stages, the memory and the packet header vector of small programs.

use crate::common::{report, source};
use netkv_budget::{ObjectKind, Pipeline, Target, estimate};
use netkv_p4::{Options, compile_source};

/// The estimate for an ingress.
fn ingress(body: &str) -> Pipeline {
    report("", body, "apply { }").ingress
}

fn stages(body: &str) -> u64 {
    let pipeline = ingress(body);
    assert!(pipeline.warnings.is_empty(), "{:#?}", pipeline.warnings);
    pipeline.usage.stages.used
}

/// The stages (from 1) that an object is in.
fn stages_of(pipeline: &Pipeline, name: &str) -> Vec<u32> {
    let has = |stage: &&netkv_budget::Stage| stage.placed.iter().any(|each| each.name == name);
    pipeline.stages.iter().filter(has).map(|stage| stage.stage).collect()
}

const TWO_TABLES: &str = "
    action set_a(bit<32> value) { meta.a = value; }
    action set_b(bit<32> value) { meta.b = value; }";

#[test]
fn a_program_without_effect_takes_no_stage() {
    assert_eq!(stages("apply { }"), 0);
    // These values have no observable effect.
    assert_eq!(stages("apply { meta.a = hdr.h.key + 1; meta.b = meta.a + 1; }"), 0);
}

#[test]
fn independent_tables_share_a_stage() {
    let body = format!(
        "{TWO_TABLES}
        table t {{ key = {{ hdr.h.key: exact; }} actions = {{ set_a; NoAction; }} }}
        table u {{ key = {{ hdr.h.key: exact; }} actions = {{ set_b; NoAction; }} }}
        apply {{ t.apply(); u.apply(); }}"
    );
    assert_eq!(stages(&body), 1);
}

#[test]
fn a_match_dependency_takes_a_stage() {
    let body = format!(
        "{TWO_TABLES}
        table t {{ key = {{ hdr.h.key: exact; }} actions = {{ set_a; NoAction; }} }}
        table u {{ key = {{ meta.a: exact; }} actions = {{ set_b; NoAction; }} }}
        apply {{ t.apply(); u.apply(); hdr.h.value = meta.b; }}"
    );
    let pipeline = ingress(&body);
    assert_eq!(stages_of(&pipeline, "I.t"), [1]);
    assert_eq!(stages_of(&pipeline, "I.u"), [2]);
    assert_eq!(pipeline.usage.stages.used, 3);
    let chain: Vec<(u32, &str)> =
        pipeline.longest_chain.iter().map(|link| (link.stage, link.what.as_str())).collect();
    assert_eq!(chain.first(), Some(&(1, "table I.t")));
    assert_eq!(chain.last(), Some(&(3, "assignment to hdr.h.value")));
}

#[test]
fn an_action_runs_in_the_stage_of_its_table() {
    let body = |actions: &str| {
        format!(
            "register<bit<32>>(1024) r;
            action count(bit<32> at, bit<32> by) {{
                r.read(meta.a, at); meta.a = meta.a + by; r.write(at, meta.a);
                hdr.h.value = hdr.h.value ^ by;
            }}
            table t {{ key = {{ hdr.h.key: exact; }} actions = {{ {actions} }}
                      const default_action = count(0, 0); }}
            apply {{ t.apply(); }}"
        )
    };
    assert_eq!(stages(&body("count; NoAction;")), 1);
    assert_eq!(stages(&body("count;")), 1);
    // A block that depends on the selected action is not part of it, and is in a later stage.
    let follows = "
        register<bit<32>>(1024) r;
        action found(bit<32> at) { meta.a = at; }
        table t { key = { hdr.h.key: exact; } actions = { found; NoAction; } }
        apply { switch (t.apply().action_run) { found: { r.read(hdr.h.value, meta.a); } } }";
    assert_eq!(stages(follows), 2);
}

#[test]
fn a_stage_evaluates_conditions_before_its_alus_work() {
    // A hit, or a condition on fields that are available before the stage, takes no stage.
    let body = format!(
        "{TWO_TABLES}
        table t {{ key = {{ hdr.h.key: exact; }} actions = {{ set_a; NoAction; }} }}
        table u {{ key = {{ hdr.h.value: exact; }} actions = {{ set_b; NoAction; }} }}
        apply {{ if (hdr.h.op == 1) {{ if (t.apply().hit) {{ u.apply(); }} }} }}"
    );
    assert_eq!(stages(&body), 1);
    // A condition on a result of a stage takes a stage.
    let body = format!(
        "{TWO_TABLES}
        table t {{ key = {{ hdr.h.key: exact; }} actions = {{ set_a; NoAction; }} }}
        table u {{ key = {{ hdr.h.value: exact; }} actions = {{ set_b; NoAction; }} }}
        apply {{ t.apply(); if (meta.a == 1) {{ u.apply(); }} }}"
    );
    assert_eq!(stages(&body), 2);
}

#[test]
fn each_operation_of_a_chain_takes_a_stage() {
    assert_eq!(stages("apply { hdr.h.value = hdr.h.key + 1; }"), 1);
    assert_eq!(stages("apply { hdr.h.value = (hdr.h.key + 1) ^ hdr.h.value; }"), 2);
    assert_eq!(
        stages("apply { meta.a = hdr.h.key + 1; meta.b = meta.a ^ 5; hdr.h.value = meta.b - 1; }"),
        3
    );
    // Slices, concatenations and comparisons are free; an order comparison of two fields is not.
    assert_eq!(stages("apply { hdr.h.value = hdr.h.key[15:0] ++ hdr.h.value[31:16]; }"), 1);
    assert_eq!(stages("apply { if (hdr.h.key == hdr.h.value) { hdr.h.op = 1; } }"), 1);
    assert_eq!(stages("apply { if (hdr.h.key < 100) { hdr.h.op = 1; } }"), 1);
    assert_eq!(stages("apply { if (hdr.h.key < hdr.h.value) { hdr.h.op = 1; } }"), 2);
}

#[test]
fn copies_take_no_stage() {
    // A reader of a copy depends on the original.
    assert_eq!(
        stages("apply { meta.a = hdr.h.key; meta.b = meta.a; hdr.h.value = meta.b + 1; }"),
        1
    );
    assert_eq!(
        stages("apply { bit<32> key = hdr.h.key; hdr.h.key = hdr.h.value; hdr.h.value = key; }"),
        1
    );
    assert_eq!(
        stages("apply { wide_t all = hdr.w; hdr.w.data = 0; hdr.w.data = all.data + 1; }"),
        1
    );
    // The node that computes a value also writes its copy.
    assert_eq!(
        stages("register<bit<32>>(16) r; apply { r.read(meta.a, 0); hdr.h.value = meta.a; }"),
        1
    );
    // If another path gives another value, the copy takes a stage.
    assert_eq!(
        stages(
            "apply { meta.a = hdr.h.key; if (hdr.h.op == 1) { meta.a = hdr.h.value; }
                     hdr.h.value = meta.a + 1; }"
        ),
        3
    );
}

#[test]
fn the_hash_of_an_index_is_a_stage_before_its_use() {
    let pipeline = ingress(
        "register<bit<32>>(1024) r;
        apply {
            hash(meta.a, HashAlgorithm.crc16, 32w0, { hdr.h.key }, 32w1024);
            r.write(meta.a, hdr.h.value);
        }",
    );
    assert_eq!(stages_of(&pipeline, "I.r"), [2]);
    assert_eq!(pipeline.stages[0].hashes, 1);
}

#[test]
fn a_stage_has_four_arrays_of_32_bits() {
    let pipeline = ingress(
        "register<bit<32>>(1024) a; register<bit<16>>(1024) b; register<bit<8>>(1024) c;
        register<bit<64>>(1024) d;
        apply {
            a.write(0, hdr.h.value); b.write(0, hdr.h.index); c.write(0, hdr.h.op);
            d.write(0, hdr.h.key ++ hdr.h.value);
        }",
    );
    assert_eq!(pipeline.usage.arrays.used, 5);
    let arrays: Vec<u32> = pipeline.stages.iter().map(|stage| stage.arrays).collect();
    assert_eq!(arrays, [4, 1]);
}

#[test]
fn a_wide_register_spans_stages_unless_it_is_updated() {
    let values: String = (0..8).map(|i| format!("register<bit<128>>(1024) v{i}; ")).collect();
    let writes: String = (0..8).map(|i| format!("v{i}.write(0, hdr.w.data); ")).collect();
    let pipeline = ingress(&format!("{values} apply {{ {writes} }}"));
    assert_eq!(pipeline.usage.arrays.used, 32);
    assert_eq!(pipeline.usage.stages.used, 8);
    let body = |write: &str| {
        format!(
            "register<bit<32>>(1024) a; register<bit<32>>(1024) b; register<bit<32>>(1024) c;
            register<bit<64>>(1024) pair;
            apply {{
                bit<64> x = 0;
                a.write(0, 1); b.write(0, 1); c.write(0, 1);
                pair.read(x, 0);
                {write}
            }}"
        )
    };
    let apart = ingress(&body("pair.write(0, hdr.h.key ++ hdr.h.value);"));
    assert_eq!(stages_of(&apart, "I.pair"), [1, 2]);
    let together = ingress(&body("pair.write(0, x + 1);"));
    assert_eq!(stages_of(&together, "I.pair").len(), 1);
}

#[test]
fn memory_is_allocated_in_blocks_up_to_the_limit_of_a_stage() {
    // 65536 cells of 32 bits are 256 KiB: three arrays fill a stage.
    let arrays: String = (0..4).map(|i| format!("register<bit<32>>(65536) r{i}; ")).collect();
    let writes: String = (0..4).map(|i| format!("r{i}.write(0, hdr.h.value); ")).collect();
    let pipeline = ingress(&format!("{arrays} apply {{ {writes} }}"));
    let state: Vec<u64> = pipeline.stages.iter().map(|stage| stage.state_kib).collect();
    assert_eq!(state, [768, 256]);
    assert_eq!(pipeline.usage.state_kib.used, 1024);
    let small = ingress("register<bit<1>>(10) r; apply { r.write(0, hdr.h.op[0:0]); }");
    assert_eq!(small.usage.state_kib.used, 16);
}

#[test]
fn an_array_larger_than_a_stage_is_reported() {
    let pipeline = ingress("register<bit<32>>(262144) r; apply { r.write(0, hdr.h.value); }");
    let [sentence] = pipeline.exceeded.as_slice() else { panic!("{:?}", pipeline.exceeded) };
    assert!(sentence.contains("register I.r") && sentence.contains("1024 KiB"), "{sentence}");
}

#[test]
fn a_large_table_spans_several_stages() {
    let pipeline = ingress(
        "action set(bit<32> value) { hdr.h.value = value; }
        table t { key = { hdr.w.data: exact; } actions = { set; NoAction; } size = 65536; }
        apply { t.apply(); hdr.h.key = hdr.h.value; }",
    );
    // (128 key + 32 data + 16) bits * 65536 * 1.25
    assert_eq!(pipeline.usage.table_kib.used, 1760);
    assert_eq!(stages_of(&pipeline, "I.t"), [1, 2, 3, 4]);
    assert_eq!(pipeline.usage.stages.used, 5);
    assert_eq!(pipeline.longest_chain[0].delayed, 3);
}

#[test]
fn keys_that_are_not_exact_go_into_ternary_memory() {
    let pipeline = ingress(
        "action set(bit<32> value) { hdr.h.value = value; }
        table t { key = { hdr.h.key: lpm; hdr.h.op: exact; } actions = { set; } size = 1024;
                  default_action = set(0); }
        apply { t.apply(); }",
    );
    assert_eq!(pipeline.tcam_kib, 10.0);
    assert_eq!(pipeline.usage.table_kib.used, 16);
}

#[test]
fn counters_take_memory_and_no_stateful_alu() {
    let pipeline = ingress(
        "counter(4096, CounterType.packets) c; direct_counter(CounterType.packets_and_bytes) d;
        table t { key = { hdr.h.key: exact; } actions = { NoAction; } size = 1024; counters = d; }
        apply { c.count((bit<32>) hdr.h.index); t.apply(); }",
    );
    assert_eq!(pipeline.usage.arrays.used, 0);
    assert_eq!(pipeline.usage.state_kib.used, 32 + 16);
    assert!(pipeline.stages[0].placed.iter().any(|each| each.what == ObjectKind::Counter));
}

#[test]
fn the_phv_has_headers_and_metadata_that_cross_stages() {
    let idle = ingress("apply { }");
    let headers = (32 + 32 + 16 + 16 + 8 + 8) + 1 + 128 + 1;
    assert_eq!((idle.phv.header_bits, idle.phv.metadata_bits), (headers, 0));
    // A value internal to a stateful ALU is not in the PHV; one that the next stage reads is.
    let inside = ingress(
        "register<bit<32>>(1024) r;
        apply { r.read(meta.a, 0); meta.a = meta.a + 1; r.write(0, meta.a); }",
    );
    assert_eq!(inside.phv.metadata_bits, 0);
    let across = ingress(
        "register<bit<32>>(1024) r;
        apply { r.read(meta.a, 0); hdr.h.value = meta.a + hdr.h.key; }",
    );
    assert_eq!(across.phv.metadata_bits, 32);
    // Fields with disjoint live ranges share bits.
    let chain =
        ingress("apply { meta.a = hdr.h.key + 1; meta.b = meta.a ^ 5; hdr.h.value = meta.b - 1; }");
    assert_eq!(chain.phv.metadata_bits, 32);
}

#[test]
fn a_field_that_egress_reads_is_live_in_ingress() {
    let found = report(
        "",
        "apply { meta.row = hdr.h.index + 1; hdr.h.op = 1; }",
        "apply { hdr.h.other = meta.row; }",
    );
    assert_eq!(found.ingress.phv.metadata_bits, 16);
    assert_eq!(found.egress.phv.metadata_bits, 16);
    assert_eq!(found.egress.usage.stages.used, 1);
    // So is a field that the parser writes.
    let parsed = report("", "apply { hdr.h.op = 1; }", "apply { hdr.h.other = meta.d[15:0]; }");
    assert_eq!(parsed.ingress.phv.metadata_bits, 32);
    let unread = report("", "apply { hdr.h.op = 1; }", "apply { }");
    assert_eq!(unread.ingress.phv.metadata_bits, 0);
}

#[test]
fn standard_metadata_count_in_the_pipeline_that_uses_them() {
    let found = report(
        "",
        "apply { std.egress_spec = std.ingress_port; }",
        "apply { if (std.instance_type == 1) { mark_to_drop(std); } }",
    );
    assert_eq!(found.ingress.phv.standard_bits, 9 + 9);
    assert_eq!(found.egress.phv.standard_bits, 32 + 9 + 16);
}

#[test]
fn an_excess_of_stages_is_reported_with_their_number() {
    let steps: String = (0..20).map(|i| format!("meta.a = (meta.a + {i}) ^ 3; ")).collect();
    let pipeline = ingress(&format!("apply {{ {steps} hdr.h.value = meta.a; }}"));
    assert!(pipeline.usage.stages.used > 12);
    assert_eq!(pipeline.exceeded.len(), 1);
    assert!(pipeline.exceeded[0].starts_with("stages: "), "{:?}", pipeline.exceeded);
}

#[test]
fn actions_of_tables_and_of_the_compiler_are_counted() {
    let pipeline = ingress(
        "register<bit<32>>(1024) r;
        action set(bit<32> value) { hdr.h.value = value; }
        table t { key = { hdr.h.key: exact; } actions = { set; NoAction; } }
        apply {
            t.apply();
            if (hdr.h.op == 1) { r.read(meta.a, 0); hdr.h.index = meta.a[15:0]; }
            else { r.write(0, hdr.h.value); }
            hdr.h.flags = 1; hdr.h.other = 1;
        }",
    );
    // Two of the table, two of the array, and one for each of two blocks with assignments.
    assert_eq!(pipeline.actions, 6);
}

#[test]
fn a_program_that_is_too_large_is_refused_with_a_sentence() {
    let steps = "hdr.h.value = hdr.h.value + 1;".repeat(20_001);
    let source = source("", &format!("apply {{ {steps} }}"), "apply { }");
    let program = compile_source("long.p4", &source, &Options::default()).unwrap().program;
    let error = estimate(&program, &Target::default()).unwrap_err().to_string();
    assert!(error.contains("20002 operations") && error.contains("up to 20000"), "{error}");
}
