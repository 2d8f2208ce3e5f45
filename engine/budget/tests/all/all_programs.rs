//! Estimates of every program of the repository and of random programs exist and are consistent.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use netkv_budget::{Pipeline, Report, Target, estimate};
use netkv_p4::{Options, compile_source};

/// Number of random programs.
const SEEDS: u64 = 150;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The entries of a folder of the repository.
fn entries(folder: &str) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(root().join(folder)).expect("the folder");
    entries.map(|entry| entry.expect("an entry").path())
}

/// The programs that ship: `p4/NAME/NAME.p4`.
fn shipped() -> Vec<PathBuf> {
    let program = |folder: PathBuf| Some(folder.join(folder.file_name()?).with_extension("p4"));
    entries("p4").filter_map(program).filter(|path| path.is_file()).collect()
}

/// The estimate for a source; None if it does not compile, as some files of the fuzzer's corpus.
fn report(name: &str, source: &str) -> Option<Report> {
    let include_dirs = vec![root().join("p4")];
    let options = Options { include_dirs, defines: Vec::new() };
    let program = compile_source(name, source, &options).ok()?.program;
    let target = Target::default();
    let report = estimate(&program, &target).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(report, estimate(&program, &target).unwrap(), "{name}: twice the same");
    for pipeline in [&report.ingress, &report.egress] {
        assert_consistent(name, &target, pipeline);
    }
    Some(report)
}

/// Asserts that the parts of an estimate agree.
fn assert_consistent(name: &str, target: &Target, pipeline: &Pipeline) {
    let usage = &pipeline.usage;
    let last = pipeline.stages.last().map_or(0, |stage| stage.stage);
    assert_eq!(u64::from(last), usage.stages.used, "{name}: the last stage");
    let sum = |of: fn(&netkv_budget::Stage) -> u64| pipeline.stages.iter().map(of).sum::<u64>();
    assert_eq!(sum(|stage| stage.arrays.into()), usage.arrays.used, "{name}: arrays");
    assert_eq!(sum(|stage| stage.state_kib), usage.state_kib.used, "{name}: state");
    if usage.table_kib.used <= usage.table_kib.limit {
        assert_eq!(sum(|stage| stage.table_kib), usage.table_kib.used, "{name}: tables");
    }
    assert_eq!(usage.sram_kib.used, usage.state_kib.used + usage.table_kib.used, "{name}");
    for stage in &pipeline.stages {
        let one_fits = stage.arrays <= target.arrays_per_stage
            && stage.state_kib <= target.state_kib.into()
            && stage.table_kib <= target.table_kib.into();
        assert!(one_fits || !pipeline.exceeded.is_empty(), "{name}: stage {}", stage.stage);
    }
    // An object without a warning is placed once.
    let mut first: BTreeMap<&str, bool> = BTreeMap::new();
    for placed in pipeline.stages.iter().flat_map(|stage| &stage.placed) {
        let again = first.insert(&placed.name, true).is_some();
        assert!(again || !placed.again, "{name}: {} again before it was there", placed.name);
        let warned = pipeline.warnings.iter().any(|w| w.objects.contains(&placed.name));
        assert!(!placed.again || warned, "{name}: {} without a warning", placed.name);
    }
    let chain = &pipeline.longest_chain;
    assert!(chain.is_sorted_by_key(|link| link.stage), "{name}: {chain:#?}");
    assert_eq!(chain.last().map_or(0, |link| link.stage), last, "{name}: {chain:#?}");
}

#[test]
fn every_program_of_the_repository_gets_an_estimate() {
    let mut paths = shipped();
    for folder in ["tests/golden", "tests/p4", "tests/p4rt", "engine/bench/programs"] {
        paths.extend(entries(folder));
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "p4"));
    for path in &paths {
        let source = std::fs::read_to_string(path).expect("a readable file");
        let name = path.to_string_lossy();
        assert!(report(&name, &source).is_some(), "{name} does not compile");
    }
    assert!(paths.len() >= 12, "{} programs", paths.len());
}

#[test]
fn every_program_of_the_fuzzers_corpus_gets_an_estimate() {
    let folder = root().join("engine/fuzz/corpus/front_end");
    let mut compiled = 0;
    for entry in std::fs::read_dir(folder).expect("the corpus") {
        let path = entry.expect("an entry").path();
        let Ok(source) = std::fs::read_to_string(&path) else { continue };
        compiled += u32::from(report(&path.to_string_lossy(), &source).is_some());
    }
    assert!(compiled >= 10, "{compiled} programs compile");
}

#[test]
fn random_programs_get_an_estimate() {
    let mut warned = 0;
    for seed in 0..SEEDS {
        let source = netkv_difftest::program::generate(seed);
        let report = report(&format!("seed {seed}"), &source).expect("a program");
        warned += u64::from(!report.ingress.warnings.is_empty());
    }
    // Random programs often access a register twice.
    assert!(warned > 5, "{warned} of {SEEDS}");
}

#[test]
fn shipped_programs_access_each_array_once() {
    for path in shipped() {
        let name = path.to_string_lossy();
        let source = std::fs::read_to_string(&path).expect("a readable file");
        let report = report(&name, &source).expect("a program");
        for pipeline in [&report.ingress, &report.egress] {
            assert!(pipeline.warnings.is_empty(), "{name}: {:#?}", pipeline.warnings);
        }
    }
}
