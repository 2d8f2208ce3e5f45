//! Checks before a measurement: the outputs of all contenders are equal, and the frames take the
//! path of the case.

use netkv_dataplane::Output;

use crate::case::Case;
use crate::contender::Contender;
use crate::error::BenchError;
use crate::programs::Subject;
use crate::traffic::Traffic;

/// Number of frames of a batch.
pub(crate) const BATCH: usize = 32;

/// Sends the traffic to all contenders and compares their outputs and counters.
///
/// # Errors
///
/// A sentence about the first difference, or about a frame that does not take the path.
pub(crate) fn check_equal_outputs(
    case: &Case,
    subject: &dyn Subject,
    traffic: &Traffic,
    contenders: &mut [Contender],
) -> Result<(), BenchError> {
    for batch in traffic.others.slices().chunks(BATCH) {
        compare_outputs(traffic.port, batch, contenders)?;
    }
    for batch in traffic.frames.slices().chunks(BATCH) {
        let answers = compare_outputs(traffic.port, batch, contenders)?;
        let as_expected = answers.len() == batch.len()
            && answers.frames().all(|(port, frame)| {
                traffic.output_ports.contains(&port) && frame.len() == traffic.output_bytes
            });
        if !as_expected {
            return Err(wrong_path_error(case, traffic, batch.len(), &answers));
        }
    }
    let mut counts = Vec::new();
    for contender in contenders.iter_mut() {
        let found = contender.counts(case, subject)?;
        let (name, first) =
            counts.first().cloned().unwrap_or((contender.executor(), found.clone()));
        if first != found {
            return Err(BenchError::new(format!(
                "The {} and the {} count reads differently: this is a fault of netkv.",
                name.name(),
                contender.executor().name()
            )));
        }
        counts.push((name, first));
    }
    Ok(())
}

/// The output for a batch, which must be equal for all contenders.
fn compare_outputs(
    port: u16,
    batch: &[&[u8]],
    contenders: &mut [Contender],
) -> Result<Output, BenchError> {
    let mut first: Option<(&'static str, Output)> = None;
    for contender in contenders {
        let mut out = Output::new();
        contender.process(0, port, batch, &mut out);
        let name = contender.executor().name();
        let Some((other, expected)) = &first else {
            first = Some((name, out));
            continue;
        };
        if !out.frames().eq(expected.frames()) {
            let frame = out
                .frames()
                .zip(expected.frames())
                .find(|(found, expected)| found != expected)
                .map_or_else(String::new, |((port, bytes), (expected_port, expected))| {
                    format!(
                        " (port {port} {}, against port {expected_port} {})",
                        hex(bytes),
                        hex(expected)
                    )
                });
            return Err(BenchError::new(format!(
                "The {name} and the {other} answer differently{frame}: this is a fault of netkv."
            )));
        }
    }
    Ok(first.map(|(_, out)| out).unwrap_or_default())
}

fn wrong_path_error(case: &Case, traffic: &Traffic, sent: usize, answers: &Output) -> BenchError {
    let found: Vec<String> = answers
        .frames()
        .take(3)
        .map(|(port, frame)| format!("{} bytes at port {port}", frame.len()))
        .collect();
    BenchError::new(format!(
        "Frames do not take the path '{}' of '{}': {sent} went in, and each should leave with {} \
         bytes at port {} to {}; {} left ({}).",
        case.path,
        case.program,
        traffic.output_bytes,
        traffic.output_ports.start(),
        traffic.output_ports.end(),
        answers.len(),
        found.join(", ")
    ))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
