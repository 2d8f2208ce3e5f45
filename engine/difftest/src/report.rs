//! The report of a failure: program, state, packets, both results and the trace.

use std::fmt::Write as _;

use netkv_dataplane::Output;
use netkv_ir::Program;

use crate::bits::hex;
use crate::case::{Case, Step};
use crate::compare::{self, Executors, Failure};
use crate::reduce::Reduced;

/// A step as lines of an STF file.
fn step_text(program: &Program, step: &Step) -> String {
    match step {
        Step::Control(request) => request.to_stf(program),
        Step::Frames { now_ns, port, frames, batched } => {
            let batch = if *batched && frames.len() > 1 { ", one batch" } else { "" };
            let mut text = format!("# at {now_ns} ns{batch}");
            for frame in frames {
                let _ = write!(text, "\npacket {port} {}", hex(frame));
            }
            text
        }
    }
}

/// The complete report. `origin` describes how to repeat the case.
pub fn text(reduced: &Reduced, origin: &str, executors: &Executors) -> String {
    let Reduced { case, failure, source } = reduced;
    let pipelines = match case.pipelines {
        1 => String::new(),
        count => format!("; switches of {count} pipelines"),
    };
    let mut text = format!("DIFFERENCE in {origin}{pipelines}\n{failure}\n");
    if let Some(source) = source {
        let lines = source.lines().filter(|line| !line.trim().is_empty());
        let source: Vec<&str> = lines.collect();
        let _ = write!(text, "\n--- program\n{}\n", source.join("\n"));
    }
    text.push_str("\n--- what happened\n");
    for step in &case.steps {
        let _ = writeln!(text, "{}", step_text(&case.program, step));
    }
    if !matches!(failure, Failure::Load { .. }) {
        text.push_str(&last_traces(case, executors));
    }
    text
}

/// Traces and results of the frames of the last step.
fn last_traces(case: &Case, executors: &Executors) -> String {
    let Ok((mut reference, mut tested)) = compare::load_switches(case, executors) else {
        return String::new();
    };
    let mut text = String::new();
    let last = case.steps.len().saturating_sub(1);
    for (at, step) in case.steps.iter().enumerate() {
        match step {
            Step::Control(request) => {
                let _ = (request.apply(&mut reference), request.apply(&mut tested));
            }
            Step::Frames { now_ns, port, frames, .. } => {
                for frame in frames {
                    let (mut a, mut b) = (Output::new(), Output::new());
                    if at < last {
                        reference.process(*now_ns, *port, frame, &mut a);
                    } else {
                        let trace = reference.trace(*now_ns, *port, frame, &mut a);
                        let _ = write!(text, "\n--- trace (interpreter)\n{trace}");
                    }
                    let process = std::panic::AssertUnwindSafe(|| {
                        tested.process(*now_ns, *port, frame, &mut b);
                    });
                    if std::panic::catch_unwind(process).is_err() {
                        text.push_str("--- the compiled executor panicked\n");
                        return text;
                    }
                    if at == last {
                        text.push_str(&outputs(&a, &b));
                    }
                }
            }
        }
    }
    text
}

fn outputs(reference: &Output, tested: &Output) -> String {
    let mut text = String::new();
    for (name, output) in [("interpreter", reference), ("compiled", tested)] {
        let _ = writeln!(text, "--- out ({name})");
        for (port, frame) in output.frames() {
            let _ = writeln!(text, "port {port}: {}", hex(frame));
        }
    }
    text
}
