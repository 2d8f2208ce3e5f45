//! Runs the differential fuzzer: `difftest [--program FILE]... [--seed N] [--seeds N] [--seconds S]
//! [--packets N] [--threads N] [--show]`. Without `--program` it generates programs. `--show` only
//! prints the program of the seed.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use netkv_difftest::{Campaign, Executors, Progress, SubjectProgram, resident_bytes};
use netkv_p4::{Options, compile_file};

/// A program from a file, with the frames of the STF file of the same name.
fn subject(path: &Path) -> SubjectProgram {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../p4");
    let options = Options { include_dirs: vec![include], defines: Vec::new() };
    let compiled = compile_file(path, &options).unwrap_or_else(|errors| panic!("{errors}"));
    let stf = std::fs::read_to_string(path.with_extension("stf")).unwrap_or_default();
    let source = std::fs::read_to_string(path).ok();
    SubjectProgram {
        name: path.display().to_string(),
        program: Arc::new(compiled.program),
        source: source.filter(|text| !text.contains("#include \"")),
        recorded: netkv_difftest::recorded_in_stf(&stf),
    }
}

fn main() {
    let mut plan = Campaign {
        subjects: Vec::new(),
        generated: false,
        first_seed: 1,
        seeds: Some(100),
        time: None,
        packets: 2_000,
        threads: std::thread::available_parallelism().map_or(1, usize::from),
    };
    let mut show = false;
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        if name == "--show" {
            show = true;
            continue;
        }
        let value = arguments.next().unwrap_or_else(|| panic!("{name} needs a value"));
        let number = || value.parse::<u64>().unwrap_or_else(|_| panic!("{name} {value}"));
        match name.as_str() {
            "--program" => plan.subjects.push(subject(Path::new(&value))),
            "--seed" => (plan.first_seed, plan.seeds) = (number(), Some(1)),
            "--seeds" => plan.seeds = Some(number()),
            "--seconds" => {
                (plan.time, plan.seeds) = (Some(Duration::from_secs(number())), None);
            }
            "--packets" => plan.packets = number() as usize,
            "--threads" => plan.threads = number() as usize,
            _ => panic!("{name} is no option"),
        }
    }
    if show {
        println!("{}", netkv_difftest::program::generate(plan.first_seed));
        return;
    }
    plan.generated = plan.subjects.is_empty();
    let progress = Progress::default();
    let (start, before) = (Instant::now(), resident_bytes());
    plan.run(&Executors::interpreter_and_compiled(), &progress);
    for finding in progress.findings() {
        println!("{}", finding.report);
    }
    let count =
        |counter: &std::sync::atomic::AtomicU64| counter.load(std::sync::atomic::Ordering::Relaxed);
    println!(
        "{} cases, {} generated programs, {} packets in, {} frames out, {:.1} s, memory {:?} -> {:?} kB",
        count(&progress.cases),
        count(&progress.programs),
        count(&progress.packets),
        count(&progress.frames_out),
        start.elapsed().as_secs_f64(),
        before.map(|bytes| bytes / 1024),
        resident_bytes().map(|bytes| bytes / 1024),
    );
    if !progress.findings().is_empty() {
        std::process::exit(1);
    }
}
