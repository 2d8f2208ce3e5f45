//! Runs packet tests written as STF, the form of p4c's tests and of `tests/golden`.
//!
//! One command a line; `#` starts a comment. Numbers are decimal, `0x…` or `0b…`.
//!
//! ```text
//! packet PORT HEX                      a frame comes in
//! expect PORT [HEX [$]]                a frame leaves; * is any digit, $ ends the frame
//! add TABLE [PRIORITY] KEY:MATCH ... ACTION(PARAM:VALUE, ...)
//! setdefault TABLE ACTION(PARAM:VALUE, ...)
//! mirroring_add SESSION PORT
//! mc_mgrp_create GROUP | mc_node_create RID PORT ... | mc_node_associate GROUP HANDLE
//! register_write REGISTER INDEX VALUE
//! wait | no_packet                     nothing: the switch is done when `packet` is
//! ```
//!
//! Expectations are met in order per port, and every frame that leaves must be expected.

mod command;
mod literal;
mod names;
mod record;
mod setup;
mod trace;

use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::fmt;

use crate::output::Output;
use crate::switch::Switch;
use crate::trace::hex;

use command::{Command, Expected};
pub use record::{frames, record};
pub use trace::{TracedPacket, trace};

/// A file that cannot be run: what is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StfError {
    /// Name of the file.
    pub name: String,
    /// Line from 1.
    pub line: usize,
    /// A sentence.
    pub message: String,
}

impl fmt::Display for StfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.name, self.line, self.message)
    }
}

impl std::error::Error for StfError {}

/// A frame that is not what the file says.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct StfMismatch {
    /// Line of the expectation, or of the packet that caused an unexpected frame.
    pub line: usize,
    /// Line of the packet that caused the frame; where none left, of the last packet before the
    /// expectation. None if the expectation stands before all packets.
    pub packet: Option<usize>,
    /// Egress port.
    pub port: u16,
    /// What the file says; none for a frame that nothing expects.
    pub expected: Option<String>,
    /// What left; none when nothing did.
    pub actual: Option<String>,
    /// Index of the first byte that differs, if both are there.
    pub first_difference: Option<usize>,
}

impl fmt::Display for StfMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, port {}: ", self.line, self.port)?;
        match (&self.expected, &self.actual) {
            (Some(expected), Some(actual)) => {
                let at = self.first_difference.unwrap_or(0);
                let marker = " ".repeat(12 + 2 * at);
                write!(f, "the frame differs from byte {at} on.\n  expected  {expected}\n")?;
                write!(f, "  actual    {actual}\n{marker}^^")
            }
            (Some(expected), None) => {
                write!(f, "expected a frame, but none left.\n  expected  {expected}")
            }
            (_, actual) => {
                let actual = actual.as_deref().unwrap_or("");
                write!(f, "nothing is expected here, but a frame left.\n  actual    {actual}")
            }
        }
    }
}

/// What came of a file.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct StfReport {
    /// Name of the file.
    pub name: String,
    /// Frames that went in.
    pub packets: usize,
    /// Frames that were expected.
    pub expectations: usize,
    /// What was different.
    pub mismatches: Vec<StfMismatch>,
}

impl StfReport {
    /// Whether everything was as expected.
    pub fn passed(&self) -> bool {
        self.mismatches.is_empty()
    }
}

impl fmt::Display for StfReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for mismatch in &self.mismatches {
            writeln!(f, "{}: {mismatch}", self.name)?;
        }
        let wrong = self.mismatches.len();
        write!(
            f,
            "{}: {} packets in, {} expected, {wrong} mismatches",
            self.name, self.packets, self.expectations
        )
    }
}

/// Frames that left on a port, each with the line of the packet that caused it.
type Seen = BTreeMap<u16, VecDeque<(usize, Vec<u8>)>>;

/// A frame that the file expects.
struct Awaited {
    line: usize,
    /// Line of the last packet before it.
    after: Option<usize>,
    port: u16,
    frame: Expected,
}

/// Nanoseconds between two packets of a file.
const PACKET_GAP_NS: u64 = 1_000_000;

/// Runs a file on a switch. `name` is for messages.
///
/// # Errors
///
/// [`StfError`] for a line that is no command, a name that the program does not have, or a
/// request that the switch refuses. Frames that differ are in the report.
pub fn run(switch: &mut Switch, text: &str, name: &str) -> Result<StfReport, StfError> {
    let mut report =
        StfReport { name: name.to_owned(), packets: 0, expectations: 0, mismatches: Vec::new() };
    let mut setup = setup::Setup::default();
    let mut seen = Seen::new();
    let mut expected: Vec<Awaited> = Vec::new();
    let mut last_packet = None;
    let mut output = Output::new();
    for (line, text) in (1..).zip(text.lines()) {
        let fail = |message: String| StfError { name: name.to_owned(), line, message };
        let Some(command) = command::parse(text).map_err(fail)? else { continue };
        match command {
            Command::Packet { port, bytes } => {
                output.clear();
                let now_ns = report.packets as u64 * PACKET_GAP_NS;
                switch.process(now_ns, port, &bytes, &mut output);
                report.packets += 1;
                last_packet = Some(line);
                for (port, frame) in output.frames() {
                    seen.entry(port).or_default().push_back((line, frame.to_vec()));
                }
            }
            Command::Expect { port, expected: frame } => {
                expected.push(Awaited { line, after: last_packet, port, frame });
            }
            other => setup.run(switch, other).map_err(fail)?,
        }
    }
    report.expectations = expected.len();
    report.mismatches = compare(expected, seen);
    Ok(report)
}

fn compare(expected: Vec<Awaited>, mut seen: Seen) -> Vec<StfMismatch> {
    let mut mismatches = Vec::new();
    for Awaited { line, after, port, frame } in expected {
        let actual = seen.get_mut(&port).and_then(VecDeque::pop_front);
        let difference = actual.as_ref().and_then(|(_, bytes)| frame.first_difference(bytes));
        if actual.is_none() || difference.is_some() {
            mismatches.push(StfMismatch {
                line,
                packet: actual.as_ref().map_or(after, |(packet, _)| Some(*packet)),
                port,
                expected: Some(frame.to_string()),
                actual: actual.map(|(_, bytes)| hex(&bytes)),
                first_difference: difference,
            });
        }
    }
    for (port, frames) in seen {
        for (line, bytes) in frames {
            let (packet, actual) = (Some(line), Some(hex(&bytes)));
            let (expected, first_difference) = (None, None);
            mismatches.push(StfMismatch { line, packet, port, expected, actual, first_difference });
        }
    }
    mismatches
}
