//! Mutation tests of the fuzzer: it must find executors with faults.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use netkv_dataplane::Switch;
use netkv_difftest::{Case, Executors, Failure, generated, reduce, report, run};
use netkv_ir::Program;

use crate::{mutant, programs};

/// The number of mutants that are found, the number of all, and a description of the others.
fn count_found(
    program: &Arc<Program>,
    recorded: &[netkv_difftest::Recorded],
    numbers: Range<u64>,
    seeds: u64,
) -> (usize, usize, String) {
    let (mut found, mut all, mut missed) = (0, 0, String::new());
    for number in numbers {
        let Some((wrong, what)) = mutant::mutant(program, number) else { continue };
        let executors = mutant::against(wrong);
        let differs = (0..seeds)
            .map(|seed| run(&Case::new(program.clone(), seed, 300, recorded), &executors));
        match differs.filter_map(Result::err).next() {
            // A program that does not load is no mutant.
            Some(Failure::Load { .. }) => {}
            Some(_) => (found, all) = (found + 1, all + 1),
            None => {
                all += 1;
                missed += &format!("  {number}: {what}\n");
            }
        }
    }
    (found, all, missed)
}

#[test]
fn faults_in_programs_of_the_repository_are_found() {
    let (mut found, mut all, mut missed) = (0, 0, String::new());
    for (name, program, recorded) in programs::programs() {
        let (some, of, not) = count_found(&program, &recorded, 0..12, 3);
        println!("{name}: {some} of {of}");
        // Most packets execute a small part of farreach.p4, so more mutants are needed.
        let reached = some > 0 || count_found(&program, &recorded, 12..48, 3).0 > 0;
        assert!(reached, "{name}: none of {of} was found, nor of more, not\n{not}");
        (found, all) = (found + some, all + of);
        missed += &format!("{name}\n{not}");
    }
    // Some mutants are equivalent to the original, such as one without an assignment of an initial
    // 0. Others are in code that few packets reach.
    assert!(found * 4 >= all * 3, "only {found} of {all} were found, not\n{missed}");
}

#[test]
fn faults_in_generated_programs_are_found() {
    let (mut found, mut all, mut missed) = (0, 0, String::new());
    for seed in 0..80 {
        let subject = generated(seed).unwrap_or_else(|finding| panic!("{}", finding.report));
        let (some, of, not) = count_found(&subject.program, &[], 0..5, 2);
        (found, all) = (found + some, all + of);
        missed += &format!("seed {seed}\n{not}");
    }
    println!("{found} of {all}\n{missed}");
    assert!(found * 4 >= all, "only {found} of {all} were found");
}

/// A program with other default actions.
fn without_default(program: &Program) -> Program {
    let mut wrong = program.clone();
    for table in &mut wrong.tables {
        if let Some(other) = (0..table.actions.len() as u32).find(|a| {
            let action = table.actions[*a as usize].action;
            *a != table.default_action.action && program.actions[action as usize].params.is_empty()
        }) {
            table.default_action = netkv_ir::ActionCall { action: other, data: Vec::new() };
        }
    }
    wrong
}

#[test]
fn wrong_initial_state_is_found() {
    let programs = programs::programs();
    let (_, program, recorded) =
        programs.iter().find(|(name, ..)| name == "tables").expect("tests/golden/tables.p4");
    let executors = mutant::against(without_default(program));
    let fails = (0..4)
        .any(|seed| run(&Case::new(program.clone(), seed, 300, recorded), &executors).is_err());
    assert!(fails);
}

#[test]
fn a_case_is_reduced_to_one_packet_and_a_short_program() {
    let source = "#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> a; bit<8> b; bit<16> c; }
struct headers_t { h_t h; }
struct meta_t { bit<8> x; }
parser P(packet_in p, out headers_t h, inout meta_t m, inout standard_metadata_t s) {
    state start { p.extract(h.h); transition accept; }
}
control V(inout headers_t h, inout meta_t m) { apply { } }
control I(inout headers_t h, inout meta_t m, inout standard_metadata_t s) {
    action set(bit<8> v) { h.h.b = v; }
    table t { key = { h.h.a: exact; } actions = { set; NoAction; } }
    apply {
        s.egress_spec = 1;
        if (h.h.a > 3) { t.apply(); m.x = h.h.b; }
        if (h.h.c == 7) { h.h.c = (h.h.c + 1); }
        h.h.b = (h.h.b |+| (m.x & 15));
    }
}
control E(inout headers_t h, inout meta_t m, inout standard_metadata_t s) { apply { } }
control C(inout headers_t h, inout meta_t m) { apply { } }
control D(packet_out p, in headers_t h) { apply { p.emit(h); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;";
    let compile = |text: &str| {
        let compiled = netkv_p4::compile_source("x.p4", text, &netkv_p4::Options::default());
        compiled.unwrap_or_else(|errors| panic!("{errors}")).program
    };
    // The tested executor wraps instead of saturating.
    let executors = Executors {
        reference: Box::new(|program, options| Switch::new(program.clone(), options)),
        tested: Box::new(|program, options| Switch::new(Arc::new(wrapping(program)), options)),
    };
    let case = Case::new(Arc::new(compile(source)), 3, 2_000, &[]);
    let failure = run(&case, &executors).expect_err("a difference");
    let reduced =
        reduce(case, failure, Some(source.to_owned()), &executors, Duration::from_secs(60));
    let packets =
        reduced.case.steps.iter().filter(|s| matches!(s, netkv_difftest::Step::Frames { .. }));
    assert_eq!(packets.count(), 1);
    let text = report(&reduced, "the test, seed 3", &executors);
    let smaller = reduced.source.expect("a program");
    assert!(!smaller.contains("table") && !smaller.contains("if ("), "{smaller}");
    assert!(smaller.contains("|+|"), "{smaller}");
    for part in ["packet ", "trace (interpreter)", "out (compiled)", "seed 3"] {
        assert!(text.contains(part), "{text}");
    }
}

/// The program with every saturating addition replaced by a wrapping one.
fn wrapping(program: &Program) -> Program {
    use netkv_ir::{BinaryOp, Expr, Op};
    fn swap(expr: &mut Expr) {
        if let Expr::Binary { op, left, right, .. } = expr {
            if *op == BinaryOp::SatAddUnsigned {
                *op = BinaryOp::Add;
            }
            swap(left);
            swap(right);
        }
    }
    let mut wrong = program.clone();
    for block in &mut wrong.ingress.blocks {
        for op in &mut block.ops {
            if let Op::Assign { value, .. } = op {
                swap(value);
            }
        }
    }
    wrong
}
