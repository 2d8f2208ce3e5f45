//! The benchmark without Python, for work on the engine.
//!
//! `cargo run --release -p netkv-bench --example bench -- \
//! [PROGRAM] [PATH] [SECONDS] [PIPELINES] [ENTRIES]`
//!
//! PROGRAM is `yardstick` (the default), a program in `p4/` (`farreach`, `distreach-tail`) or
//! `all`. PATH is one path or `all` (the default). SECONDS are for each executor and path (default
//! 1). PIPELINES is 1, 2 or 4. ENTRIES is the number of cached keys (default 10,000). With several
//! pipelines, a thread for each of them is measured, too, against one thread with one pipeline, if
//! the benchmark has frames for each pipeline (those of the yardstick).

use std::path::Path;
use std::process::ExitCode;

use netkv_bench::{
    BenchError, Case, Executor, Subject, load_times, measure, measure_threads, subjects,
};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |at: usize| arguments.get(at).map_or("", String::as_str);
    let program = match argument(0) {
        "" | "yardstick" => "cache_read",
        name => name,
    };
    let path = if argument(1).is_empty() { "all" } else { argument(1) };
    let seconds = argument(2).parse().unwrap_or(1.0);
    let usual = Case::new(program, path);
    let pipelines = argument(3).parse().unwrap_or(usual.pipelines);
    let entries = argument(4).parse().unwrap_or(usual.entries);
    let sizes = Case { pipelines, entries, ..usual };
    let chosen: Vec<_> =
        subjects().iter().filter(|s| program == "all" || s.name() == program).collect();
    if chosen.is_empty() {
        eprintln!("There is no program '{program}' that the benchmark knows.");
        return ExitCode::from(2);
    }
    for subject in chosen {
        if let Err(error) = report(*subject, path, seconds, &sizes) {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn report(subject: &dyn Subject, path: &str, seconds: f64, sizes: &Case) -> Result<(), BenchError> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../p4");
    let name = subject.name();
    let (directory, stem) = name.split_once('-').unwrap_or((name, name));
    let file = folder.join(format!("{directory}/{stem}.p4")).canonicalize().ok();
    let case = |path: &str| Case {
        program: name.to_owned(),
        path: path.to_owned(),
        file: file.clone(),
        include_dirs: vec![folder.clone()],
        ..sizes.clone()
    };
    let times = load_times(&case(""))?;
    println!(
        "{}: front end {:.1} ms, load {:.1} ms interpreted, {:.1} ms compiled",
        subject.name(),
        times.front_end * 1e3,
        times.interpreter * 1e3,
        times.compiled * 1e3
    );
    for path in subject.paths().into_iter().filter(|name| path == "all" || path == *name) {
        let results = measure(&case(path), &Executor::ALL, seconds)?;
        for result in &results {
            println!(
                "  {path:<18} {:<12} {:>12.0} packets/s  ({:.2}x the interpreter)  \
                 p50 {:.1} ns  p99 {:.1} ns  [wall {:.0}]",
                result.executor.name(),
                result.pps,
                result.pps / results[0].pps,
                result.ns_p50,
                result.ns_p99,
                result.wall_pps
            );
        }
        let case = case(path);
        if case.pipelines > 1 && subject.traffic_of_pipelines(&case).is_ok() {
            let found = measure_threads(&case, seconds)?;
            println!(
                "  {path:<18} {} threads    {:>12.0} packets/s of wall time, one {:.0}: ratio {:.2} \
                 ({:.2} by processor time)  crossed {:.0}%  dropped {:.1}%",
                case.pipelines,
                found.all,
                found.one,
                found.ratio,
                found.core_ratio,
                100.0 * found.crossed,
                100.0 * found.dropped
            );
        }
    }
    Ok(())
}
