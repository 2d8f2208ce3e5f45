//! A failure as people read it: program, state, packets, both results and the trace.

use std::fmt::Write as _;

use netkv_dataplane::Output;
use netkv_ir::Program;

use crate::case::{Case, Step};
use crate::compare::{self, Failure, Sides};
use crate::reduce::Reduced;

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Steps as lines of an STF file, with the frames that leave a switch as expectations if given.
fn step_text(program: &Program, step: &Step) -> String {
    match step {
        Step::Control(request) => request.to_stf(program),
        Step::Frames { now_ns, port, frames, together } => {
            let batch = if *together && frames.len() > 1 { ", one batch" } else { "" };
            let mut text = format!("# at {now_ns} ns{batch}");
            for frame in frames {
                let _ = write!(text, "\npacket {port} {}", hex(frame));
            }
            text
        }
    }
}

/// The whole report. `origin` says how to make the case again.
pub fn text(reduced: &Reduced, origin: &str, sides: &Sides) -> String {
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
        text.push_str(&last_traces(case, sides));
    }
    text
}

/// Traces of the last step's frames, and where the results lie side by side.
fn last_traces(case: &Case, sides: &Sides) -> String {
    let Ok((mut left, mut right)) = compare::load(case, sides) else {
        return String::new();
    };
    let mut text = String::new();
    let last = case.steps.len().saturating_sub(1);
    for (at, step) in case.steps.iter().enumerate() {
        match step {
            Step::Control(request) => {
                let _ = (request.apply(&mut left), request.apply(&mut right));
            }
            Step::Frames { now_ns, port, frames, .. } => {
                for frame in frames {
                    let (mut a, mut b) = (Output::new(), Output::new());
                    if at < last {
                        left.process(*now_ns, *port, frame, &mut a);
                    } else {
                        let trace = left.trace(*now_ns, *port, frame, &mut a);
                        let _ = write!(text, "\n--- trace (interpreter)\n{trace}");
                    }
                    let process = std::panic::AssertUnwindSafe(|| {
                        right.process(*now_ns, *port, frame, &mut b);
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

fn outputs(left: &Output, right: &Output) -> String {
    let mut text = String::new();
    for (name, output) in [("interpreter", left), ("compiled", right)] {
        let _ = writeln!(text, "--- out ({name})");
        for (port, frame) in output.frames() {
            let _ = writeln!(text, "port {port}: {}", hex(frame));
        }
    }
    text
}
