//! What bmv2 answered to every packet of `tests/golden` is what a compiled program answers.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use netkv_dataplane::{Switch, SwitchOptions, stf};
use netkv_p4::{Options, compile_file};

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden")
}

fn answers_as_bmv2_does(name: &str) {
    run(&golden(), name);
}

/// Compiles `name.p4` of a directory and runs `name.stf` on it.
fn run(directory: &Path, name: &str) {
    let path = directory.join(format!("{name}.p4"));
    let compiled = compile_file(&path, &Options::default()).unwrap_or_else(|e| panic!("{e}"));
    let program = Arc::new(compiled.program);
    let mut switch =
        Switch::new(program, SwitchOptions::default()).unwrap_or_else(|e| panic!("{e}"));
    let text = std::fs::read_to_string(directory.join(format!("{name}.stf"))).expect("the STF file");
    let report = stf::run(&mut switch, &text, name).unwrap_or_else(|e| panic!("{e}"));
    assert!(report.passed(), "{report}");
    assert!(report.packets > 0, "{name}.stf sends nothing");
}

#[test]
fn operators_of_every_width_answer_as_bmv2_does() {
    answers_as_bmv2_does("arith");
}

#[test]
fn cache_hits_and_misses_answer_as_bmv2_does() {
    answers_as_bmv2_does("cache_read");
}

#[test]
fn calls_return_exit_and_copy_out_as_bmv2_does() {
    answers_as_bmv2_does("calls");
}

#[test]
fn hashes_and_checksums_are_those_of_bmv2() {
    answers_as_bmv2_does("hashes");
}

#[test]
fn parser_errors_reach_ingress_as_in_bmv2() {
    answers_as_bmv2_does("parse");
}

#[test]
fn register_state_outlives_packets_as_in_bmv2() {
    answers_as_bmv2_does("registers");
}

#[test]
fn copies_of_packets_are_those_of_bmv2() {
    answers_as_bmv2_does("replicate");
}

#[test]
fn tables_choose_the_entry_that_bmv2_chooses() {
    answers_as_bmv2_does("tables");
}
