//! Tests of which accesses to a register array are possible in one pass.

use crate::common::{report, source};
use netkv_budget::{Pipeline, WarningKind};

/// The estimate for an ingress.
fn ingress(body: &str) -> Pipeline {
    report("", body, "apply { }").ingress
}

/// The only warning: its kind, objects and lines (relative to the body).
fn warned(pipeline: &Pipeline) -> (WarningKind, Vec<&str>, Vec<u32>) {
    let [warning] = pipeline.warnings.as_slice() else {
        panic!("one warning is expected: {:#?}", pipeline.warnings);
    };
    for position in &warning.at {
        assert_eq!(position.file, "test.p4");
        assert!(position.column > 0);
    }
    let objects = warning.objects.iter().map(String::as_str).collect();
    let begin = source("", "@", "").lines().position(|line| line == "@").unwrap() as u32 + 1;
    let lines = warning.at.iter().map(|position| position.line - begin).collect();
    (warning.kind, objects, lines)
}

/// The estimate for an ingress, which has no warnings.
fn unwarned(body: &str) -> Pipeline {
    let pipeline = ingress(body);
    assert!(pipeline.warnings.is_empty(), "{body}\n{:#?}", pipeline.warnings);
    pipeline
}

#[test]
fn a_read_and_a_write_of_one_cell_are_one_access() {
    let pipeline = unwarned(
        "register<bit<32>>(1024) r;
        apply {
            r.read(meta.a, (bit<32>) hdr.h.index);
            if (meta.a != 7) { meta.a = meta.a |+| 1; }
            r.write((bit<32>) hdr.h.index, meta.a);
        }",
    );
    assert_eq!(pipeline.usage.stages.used, 1);
    assert_eq!(pipeline.usage.arrays.used, 1);
}

#[test]
fn a_stateful_alu_compares_a_cell_with_a_field() {
    let pipeline = unwarned(
        "register<bit<32>>(1024) r;
        apply {
            r.read(meta.a, 0);
            if (meta.a < hdr.h.key) { r.write(0, hdr.h.key); }
        }",
    );
    assert_eq!(pipeline.usage.stages.used, 1);
}

#[test]
fn another_index_is_a_second_access() {
    let pipeline = ingress(
        "register<bit<32>>(1024) r;
        apply {
            r.read(meta.a, (bit<32>) hdr.h.index);
            r.write((bit<32>) hdr.h.other, meta.a);
        }",
    );
    assert_eq!(warned(&pipeline), (WarningKind::Twice, vec!["I.r"], vec![2, 3]));
    assert!(pipeline.warnings[0].message.contains("two indices"));
    // The estimate continues as if a packet could access the array again.
    assert_eq!(pipeline.usage.arrays.used, 1);
    assert!(pipeline.stages[1].placed[0].again);
}

#[test]
fn an_index_that_changes_between_accesses_is_another_one() {
    let pipeline = ingress(
        "register<bit<32>>(1024) r;
        apply {
            r.read(meta.a, (bit<32>) meta.row);
            meta.row = meta.row + 1;
            r.write((bit<32>) meta.row, 0);
        }",
    );
    assert_eq!(warned(&pipeline), (WarningKind::Twice, vec!["I.r"], vec![2, 4]));
}

#[test]
fn a_copy_of_an_index_is_the_same_index() {
    unwarned(
        "register<bit<32>>(1024) r;
        apply {
            bit<32> at = (bit<32>) hdr.h.index;
            r.read(meta.a, at);
            meta.row = hdr.h.index;
            hdr.h.index = 0;
            r.write((bit<32>) meta.row, meta.a + 1);
        }",
    );
}

#[test]
fn accesses_in_exclusive_branches_are_one_access() {
    let pipeline = unwarned(
        "register<bit<32>>(1024) r;
        apply {
            if (hdr.h.op == 1) { r.read(meta.a, (bit<32>) hdr.h.index); hdr.h.value = meta.a; }
            else if (hdr.h.op == 2) { r.write((bit<32>) hdr.h.other, hdr.h.value); }
            else { r.write(0, 0); }
        }",
    );
    assert_eq!(pipeline.usage.arrays.used, 1);
}

#[test]
fn accesses_under_contradictory_conditions_are_one_access() {
    unwarned(
        "register<bit<32>>(1024) r;
        apply {
            bool reads = hdr.h.op == 1 && hdr.h.flags != 0;
            if (reads) { r.read(hdr.h.value, (bit<32>) hdr.h.index); }
            if (!reads) { r.write((bit<32>) hdr.h.other, hdr.h.value); }
        }",
    );
    unwarned(
        "register<bit<32>>(1024) r;
        apply {
            if (hdr.h.op == 1 && meta.found) { r.read(hdr.h.value, (bit<32>) hdr.h.index); }
            if (hdr.h.op == 2 || hdr.h.op == 3) { meta.b = 1; }
            if (hdr.h.op == 2) { r.write((bit<32>) hdr.h.other, hdr.h.value); }
        }",
    );
}

#[test]
fn conjunctions_and_disjunctions_are_decomposed() {
    let body = |first: &str, second: &str| {
        format!(
            "register<bit<32>>(1024) r;
            apply {{
                bool writes = hdr.h.op == 2 || hdr.h.op == 4;
                if ({first}) {{ r.read(meta.a, (bit<32>) hdr.h.index); hdr.h.value = meta.a; }}
                meta.b = 1;
                if ({second}) {{ r.write((bit<32>) hdr.h.other, hdr.h.value); }}
            }}"
        )
    };
    unwarned(&body("hdr.h.op == 0", "writes"));
    unwarned(&body("writes && hdr.h.flags == 1", "hdr.h.op == 6 || hdr.h.op == 8"));
    unwarned(&body("!(hdr.h.op == 2 || hdr.h.op == 4)", "writes && meta.found"));
    unwarned(&body("!(hdr.h.op != 2 && hdr.h.op != 4)", "!writes"));
    let both = [
        ("hdr.h.op == 2", "writes"),
        ("!writes", "hdr.h.op != 2"),
        ("writes || hdr.h.flags == 1", "hdr.h.op == 0"),
    ];
    for (first, second) in both {
        assert_eq!(
            warned(&ingress(&body(first, second))).0,
            WarningKind::Twice,
            "{first}, {second}"
        );
    }
}

#[test]
fn a_join_keeps_the_conditions_common_to_its_paths() {
    let body = |op: u32| {
        format!(
            "register<bit<32>>(1024) r;
            apply {{
                switch (hdr.h.op) {{
                    1: 2: {{ r.read(meta.a, (bit<32>) hdr.h.index); hdr.h.value = meta.a; }}
                    3: {{ meta.b = 1; }}
                }}
                if (hdr.h.op == {op}) {{ r.write((bit<32>) hdr.h.other, 1); }}
            }}"
        )
    };
    unwarned(&body(3));
    assert_eq!(warned(&ingress(&body(2))).0, WarningKind::Twice);
}

#[test]
fn accesses_under_compatible_conditions_are_two_accesses() {
    let pipeline = ingress(
        "register<bit<32>>(1024) r;
        apply {
            if (hdr.h.op == 1) { r.read(hdr.h.value, (bit<32>) hdr.h.index); }
            if (hdr.h.flags == 2) { r.write((bit<32>) hdr.h.other, hdr.h.value); }
        }",
    );
    assert_eq!(warned(&pipeline), (WarningKind::Twice, vec!["I.r"], vec![2, 3]));
    let changed = ingress(
        "register<bit<32>>(1024) r;
        apply {
            if (hdr.h.op == 1) { r.read(hdr.h.value, (bit<32>) hdr.h.index); hdr.h.op = 2; }
            if (hdr.h.op == 2) { r.write((bit<32>) hdr.h.other, hdr.h.value); }
        }",
    );
    assert_eq!(warned(&changed), (WarningKind::Twice, vec!["I.r"], vec![2, 3]));
}

#[test]
fn actions_of_one_table_are_mutually_exclusive() {
    unwarned(
        "register<bit<32>>(1024) r;
        action get(bit<32> at) { r.read(hdr.h.value, at); }
        action put(bit<32> at) { r.write(at, hdr.h.value); }
        table t { key = { hdr.h.key: exact; } actions = { get; put; NoAction; } }
        apply { t.apply(); }",
    );
}

#[test]
fn a_write_that_depends_on_a_read_through_a_table_is_refused() {
    let pipeline = ingress(
        "register<bit<32>>(1024) r;
        action next(bit<32> value) { meta.b = value; }
        table t { key = { meta.a: exact; } actions = { next; NoAction; } }
        apply {
            r.read(meta.a, 0);
            t.apply();
            r.write(0, meta.b);
        }",
    );
    assert_eq!(warned(&pipeline), (WarningKind::Twice, vec!["I.r"], vec![4, 5, 6]));
    assert!(pipeline.warnings[0].message.contains("table I.t"));
}

#[test]
fn a_write_that_depends_on_a_read_through_an_array_is_refused() {
    let body = |write: &str| {
        format!(
            "register<bit<32>>(1024) first;
            register<bit<32>>(1024) second;
            apply {{
                first.read(meta.a, (bit<32>) hdr.h.index);
                second.read(meta.b, meta.a);
                {write}
            }}"
        )
    };
    let by_value = ingress(&body("first.write((bit<32>) hdr.h.index, meta.b);"));
    assert_eq!(warned(&by_value), (WarningKind::Twice, vec!["I.first"], vec![3, 4, 5]));
    assert!(by_value.warnings[0].message.contains("register I.second"));
    let by_condition =
        ingress(&body("if (meta.b == 1) { first.write((bit<32>) hdr.h.index, 0); }"));
    assert_eq!(warned(&by_condition), (WarningKind::Twice, vec!["I.first"], vec![3, 4, 5]));
    // A write that does not depend on the second array is possible.
    let on = unwarned(&body("first.write((bit<32>) hdr.h.index, meta.a + 1);"));
    assert_eq!(on.usage.stages.used, 2);
    unwarned(&body("hdr.h.value = meta.b;"));
}

#[test]
fn a_write_that_depends_on_a_read_through_a_hash_is_refused() {
    let pipeline = ingress(
        "register<bit<32>>(1024) r;
        apply {
            r.read(meta.a, 0);
            hash(meta.b, HashAlgorithm.crc32, 32w0, { meta.a }, 64w0x100000000);
            r.write(0, meta.b);
        }",
    );
    assert_eq!(warned(&pipeline), (WarningKind::Twice, vec!["I.r"], vec![2, 3, 4]));
}

#[test]
fn arrays_that_depend_on_each_other_are_refused() {
    let pipeline = ingress(
        "register<bit<32>>(1024) p;
        register<bit<32>>(1024) q;
        apply {
            if (hdr.h.op == 1) { p.read(meta.a, 0); q.write(meta.a, 1); }
            else { q.read(meta.b, 0); p.write(meta.b, 1); }
        }",
    );
    assert_eq!(warned(&pipeline), (WarningKind::Order, vec!["I.p", "I.q"], vec![3, 3, 4, 4]));
    let entangled = ingress(
        "register<bit<32>>(1024) p;
        register<bit<32>>(1024) q;
        apply {
            p.read(meta.a, 0);
            q.read(meta.b, 0);
            p.write(0, meta.a + meta.b);
            q.write(0, meta.a - meta.b);
        }",
    );
    assert_eq!(warned(&entangled).0, WarningKind::Order);
}

#[test]
fn a_table_or_counter_is_accessed_once_in_a_pass() {
    // v1model applies a table once on each path, so only a counter can be accessed twice.
    unwarned(
        "action set(bit<32> value) { meta.a = value; }
        table t { key = { hdr.h.key: exact; } actions = { set; NoAction; } }
        apply { if (hdr.h.op == 1) { t.apply(); } else { hdr.h.key = 1; t.apply(); } }",
    );
    let counted = ingress(
        "counter(16, CounterType.packets) c;
        apply { c.count((bit<32>) hdr.h.op); if (hdr.h.op == 0) { c.count(1); } }",
    );
    assert_eq!(warned(&counted).1, ["I.c"]);
}

#[test]
fn an_array_in_both_pipelines_is_refused() {
    let globals = "register<bit<32>>(16) shared;";
    let uses = "apply { shared.read(hdr.h.value, 0); }";
    let found = report(globals, uses, uses);
    assert_eq!(found.ingress.warnings[0].kind, WarningKind::Shared);
    assert!(!found.fits());
}

#[test]
fn a_stateful_alu_does_one_operation_on_up_to_two_cells() {
    let update = |width: u32, write: &str| {
        format!(
            "register<bit<{width}>>(64) r;
            apply {{
                bit<{width}> x = 0;
                r.read(x, 0);
                {write}
            }}"
        )
    };
    unwarned(&update(64, "if (x < (bit<64>) hdr.h.value) { r.write(0, x + 1); }"));
    let wide = ingress(&update(128, "r.write(0, x + 1);"));
    assert_eq!(warned(&wide), (WarningKind::Update, vec!["I.r"], vec![3, 4]));
    // An exchange of a wide cell needs no arithmetic.
    unwarned(&update(128, "r.write(0, hdr.w.data); hdr.w.data = x;"));
    let long = ingress(&update(32, "x = x + 1; x = x ^ hdr.h.key; r.write(0, x);"));
    assert_eq!(warned(&long).0, WarningKind::Update);
    unwarned(&update(32, "bit<32> y = hdr.h.key + 1; y = y ^ hdr.h.value; r.write(0, x + y);"));
}

/// `value` reads the old `key`, which is overwritten by a result of the array.
#[test]
fn a_read_before_an_overwrite_creates_no_cycle() {
    unwarned(
        "register<bit<32>>(1024) r;
        apply {
            r.read(meta.a, 0);
            hdr.h.value = hdr.h.key + meta.a;
            hdr.h.key = meta.a + 1;
            r.write(0, hdr.h.key);
        }",
    );
}
