//! Runs packet tests in STF, the format of p4c's tests and of `tests/golden`.
//!
//! Each line has one command, and `#` starts a comment. Numbers are decimal, `0x…` or `0b…`.
//!
//! ```text
//! packet PORT HEX                      the port receives a frame
//! expect PORT [HEX [$]]                it transmits a frame; * is any digit, $ the end of frame
//! add TABLE [PRIORITY] KEY:MATCH ... ACTION(PARAM:VALUE, ...)
//! setdefault TABLE ACTION(PARAM:VALUE, ...)
//! mirroring_add SESSION PORT
//! mc_mgrp_create GROUP | mc_node_create RID PORT ... | mc_node_associate GROUP HANDLE
//! register_write REGISTER INDEX VALUE
//! wait | no_packet                     no effect, because `packet` returns when it is done
//! ```
//!
//! For each port, the transmitted frames must be the expected ones, in the same order.
//!
//! `command` parses lines, `literal` values, `name_lookup` finds objects of the program. `setup`
//! executes the commands that configure the switch. `record` writes a file, and `trace` traces
//! packets of a file.

mod command;
mod error;
mod literal;
mod name_lookup;
mod record;
mod setup;
mod trace;

use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::fmt;

use crate::output::Output;
use crate::switch::{FailedAssertion, Switch};
use crate::trace::hex;

use command::{Command, Expected, PACKET_GAP_NS};
pub use error::StfError;
pub use record::{frames, record};
pub use trace::{TracedPacket, trace};

/// A transmitted frame that differs from the expected one, is missing or was not expected.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct StfMismatch {
    /// Line of the expectation, or of the packet that caused an unexpected frame.
    pub line: usize,
    /// Line of the packet that caused the frame. If the frame is missing, the line of the last
    /// packet before the expectation. `None`: no packet precedes the expectation.
    pub packet: Option<usize>,
    /// Egress port.
    pub port: u16,
    /// The expected frame; `None`: no frame was expected.
    pub expected: Option<String>,
    /// The transmitted frame; `None`: there was none.
    pub actual: Option<String>,
    /// Index of the first byte that differs, if there are both frames.
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

/// Result of running a file.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct StfReport {
    /// Name of the file.
    pub name: String,
    /// Number of received frames.
    pub packets: usize,
    /// Number of expected frames.
    pub expectations: usize,
    /// Differences from the expected frames.
    pub mismatches: Vec<StfMismatch>,
    /// Assertions that were false.
    pub failed_assertions: Vec<FailedAssertion>,
}

impl StfReport {
    /// True if there is no mismatch.
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

/// Transmitted frames by port, each with the line of the packet that caused it.
type FramesByPort = BTreeMap<u16, VecDeque<(usize, Vec<u8>)>>;

/// A frame that the file expects, with its line.
struct ExpectedFrame {
    line: usize,
    /// Line of the last packet before the expectation.
    after: Option<usize>,
    port: u16,
    frame: Expected,
}

/// Runs a file on a switch. `name` is the file name in messages.
///
/// # Errors
///
/// [`StfError`] for a line that is not a command, a name that the program does not have, or a
/// request that the switch rejects. Frames that differ are in the report.
pub fn run(switch: &mut Switch, text: &str, name: &str) -> Result<StfReport, StfError> {
    let mut report = StfReport {
        name: name.to_owned(),
        packets: 0,
        expectations: 0,
        mismatches: Vec::new(),
        failed_assertions: Vec::new(),
    };
    let mut setup = setup::Setup::default();
    let mut seen = FramesByPort::new();
    let mut expected: Vec<ExpectedFrame> = Vec::new();
    let mut last_packet = None;
    let mut output = Output::new();
    for (line, text) in (1..).zip(text.lines()) {
        let fail = |message: String| StfError::new(name, line, message);
        let Some(command) = command::parse_line(text).map_err(fail)? else { continue };
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
                expected.push(ExpectedFrame { line, after: last_packet, port, frame });
            }
            other => setup.run(switch, other).map_err(fail)?,
        }
    }
    report.expectations = expected.len();
    report.mismatches = compare(expected, seen);
    report.failed_assertions = switch.failed_assertions();
    Ok(report)
}

fn compare(expected: Vec<ExpectedFrame>, mut seen: FramesByPort) -> Vec<StfMismatch> {
    let mut mismatches = Vec::new();
    for ExpectedFrame { line, after, port, frame } in expected {
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
