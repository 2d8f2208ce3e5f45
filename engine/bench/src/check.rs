//! Checks before a measurement: the outputs, digests and counters of all contenders are equal, and
//! the frames take the path of the case.

use netkv_dataplane::Output;

use crate::case::{Case, Executor};
use crate::contender::Contender;
use crate::error::BenchError;
use crate::handwritten::Counts;
use crate::programs::{self, Subject};
use crate::traffic::{BATCH, Traffic};

/// Sends frames of all kinds to contenders of their own and compares what they send and count.
///
/// # Errors
///
/// A sentence about the first difference.
pub(crate) fn check_all_kinds(
    case: &Case,
    executors: &[Executor],
    subject: &dyn Subject,
) -> Result<(), BenchError> {
    let case = case.all_kinds();
    let arrivals = subject.all_kinds(&case);
    if arrivals.is_empty() {
        return Ok(());
    }
    // The yardstick's program depends on the number of entries.
    let program = programs::program(&case)?;
    let mut contenders = Contender::all(executors, &case, subject, &program)?;
    for each in &arrivals {
        compare_outputs(each.port, &each.frames.slices(), &mut contenders)?;
    }
    compare_counts(subject, &mut contenders)
}

/// Sends the traffic to all contenders and compares what they send and count.
///
/// # Errors
///
/// A sentence about the first difference, or about a frame that does not take the path.
pub(crate) fn check_path(
    case: &Case,
    subject: &dyn Subject,
    traffic: &Traffic,
    contenders: &mut [Contender],
) -> Result<(), BenchError> {
    for batch in traffic.frames.slices().chunks(BATCH) {
        let answers = compare_outputs(traffic.port, batch, contenders)?;
        let as_expected = answers.len() == batch.len() * traffic.outputs
            && answers.frames().all(|(port, frame)| {
                traffic.output_ports.contains(&port) && frame.len() == traffic.output_bytes
            });
        if !as_expected {
            return Err(wrong_path_error(case, traffic, batch.len(), &answers));
        }
    }
    compare_counts(subject, contenders)
}

/// The first of the results of the contenders that differs from that of the first contender.
fn first_difference<T: PartialEq>(
    results: &[(&'static str, T)],
) -> Option<(&'static str, &'static str)> {
    let (first, rest) = results.split_first()?;
    rest.iter().find(|(_, result)| *result != first.1).map(|(name, _)| (*name, first.0))
}

fn fault(text: impl Into<String>) -> BenchError {
    BenchError::new(format!("{}: this is a fault of netkv.", text.into()))
}

/// The output for a batch, which must be equal for all contenders, as must the digests.
fn compare_outputs(
    port: u16,
    batch: &[&[u8]],
    contenders: &mut [Contender],
) -> Result<Output, BenchError> {
    let mut first: Option<(&'static str, Output)> = None;
    let mut digests = Vec::new();
    for contender in contenders {
        let mut out = Output::new();
        contender.process(0, port, batch, &mut out);
        let name = contender.executor().name();
        digests.push((name, contender.take_digests()));
        let Some((other, expected)) = &first else {
            first = Some((name, out));
            continue;
        };
        if !out.frames().eq(expected.frames()) {
            let differ = out.frames().zip(expected.frames()).find(|(one, other)| one != other);
            let frames = differ.map_or_else(
                || format!(" ({} frames, against {})", out.len(), expected.len()),
                |((port, bytes), (expected_port, expected))| {
                    let (bytes, expected) = (hex(bytes), hex(expected));
                    format!(" (port {port} {bytes}, against port {expected_port} {expected})")
                },
            );
            return Err(fault(format!("The {name} and the {other} answer differently{frames}")));
        }
    }
    if let Some((one, other)) = first_difference(&digests) {
        return Err(fault(format!("The {one} and the {other} send different digests")));
    }
    Ok(first.map(|(_, out)| out).unwrap_or_default())
}

/// Compares the arrays of cells of all contenders.
fn compare_counts(subject: &dyn Subject, contenders: &mut [Contender]) -> Result<(), BenchError> {
    let mut all = Vec::new();
    for contender in contenders.iter_mut() {
        all.push((contender.executor().name(), contender.counts(subject)?));
    }
    for (at, array) in subject.counted().iter().enumerate() {
        let named = |(name, counts): &(_, Counts)| (*name, counts.get(at).cloned());
        let arrays: Vec<_> = all.iter().map(named).collect();
        if let Some((one, other)) = first_difference(&arrays) {
            return Err(fault(format!("The {one} and the {other} count differently in '{array}'")));
        }
    }
    Ok(())
}

fn wrong_path_error(case: &Case, traffic: &Traffic, sent: usize, answers: &Output) -> BenchError {
    let found: Vec<String> = answers
        .frames()
        .take(3)
        .map(|(port, frame)| format!("{} bytes at port {port}", frame.len()))
        .collect();
    BenchError::new(format!(
        "Frames do not take the path '{}' of '{}': {sent} went in, {} should leave for each, with {} \
         bytes at port {} to {}; {} left ({}).",
        case.path,
        case.program,
        traffic.outputs,
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
