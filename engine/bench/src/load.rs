//! Measures the time from a program's source to a switch that forwards packets.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use netkv_compiled::ExecutorKind;
use netkv_dataplane::SwitchOptions;

use crate::case::Case;
use crate::error::BenchError;
use crate::programs;

/// Number of repetitions; the result is their median.
const REPEATS: usize = 5;

/// Seconds of wall time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadTimes {
    /// From source text to IR.
    pub front_end: f64,
    /// From IR to a switch with the interpreter, tables empty.
    pub interpreter: f64,
    /// From IR to a switch with machine code, tables empty.
    pub compiled: f64,
}

/// Measures the load times of a case's program. If the case has a file, it may be any program.
///
/// # Errors
///
/// If the program does not compile or cannot run.
pub fn load_times(case: &Case) -> Result<LoadTimes, BenchError> {
    let program = programs::program(case)?;
    let front_end = median_seconds(|| programs::program(case).map(drop))?;
    let load = |kind| {
        median_seconds(|| {
            let switch =
                netkv_compiled::switch(Arc::clone(&program), SwitchOptions::default(), kind)?;
            black_box(&switch);
            Ok(())
        })
    };
    Ok(LoadTimes {
        front_end,
        interpreter: load(ExecutorKind::Interpreter)?,
        compiled: load(ExecutorKind::Compiled)?,
    })
}

fn median_seconds(mut work: impl FnMut() -> Result<(), BenchError>) -> Result<f64, BenchError> {
    let mut seconds = Vec::with_capacity(REPEATS);
    for _ in 0..REPEATS {
        let start = Instant::now();
        work()?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    seconds.sort_unstable_by(f64::total_cmp);
    Ok(seconds[REPEATS / 2])
}
