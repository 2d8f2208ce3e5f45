//! The trace of a packet: its events as data, and as text.

use std::fmt;

use serde::Serialize;

use crate::graph::Graph;

/// All events of one frame in order, including those of its copies and additional passes.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Trace {
    /// The events.
    pub events: Vec<Event>,
}

/// An event with its position in the program.
#[derive(Debug, Clone, Serialize)]
pub struct Event {
    /// The graph that ran; `None` between graphs.
    pub graph: Option<Graph>,
    /// Source file; empty if there is no source.
    pub file: String,
    /// Line from 1; 0 if there is no source.
    pub line: u32,
    /// The event.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// A name and a value in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Named {
    /// Name of the field, key or parameter.
    pub name: String,
    /// Value as `0x…`.
    pub value: String,
}

/// The kind of an event, with its details.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum EventKind {
    /// A frame was received.
    Received { port: u16, bytes: String },
    /// Ingress or egress starts. `port` is the ingress or egress port. `number` is that of the
    /// pipeline, if the switch has several.
    Pass {
        pipeline: &'static str,
        port: u16,
        #[serde(skip_serializing_if = "Option::is_none")]
        number: Option<usize>,
    },
    /// A parser state or another named block starts.
    Enter { label: String },
    /// A header was read from the packet.
    Extract { header: String, fields: Vec<Named> },
    /// The parser stopped with an error.
    ParserError { error: String },
    /// A variable or field was assigned.
    Assign { name: String, value: String },
    /// A header became valid or invalid.
    Validity { header: String, valid: bool },
    /// The condition of an `if` was evaluated.
    Branch { taken: bool },
    /// A table was applied. `entry` is the text of its matches, `None` on a miss.
    Table {
        table: String,
        keys: Vec<Named>,
        hit: bool,
        entry: Option<String>,
        action: String,
        params: Vec<Named>,
    },
    /// A register was read. `value` is `None` if the index is out of range.
    RegisterRead { register: String, index: u64, value: Option<String> },
    /// A register was written. `value` is `None` if the index is out of range.
    RegisterWrite { register: String, index: u64, value: Option<String> },
    /// A counter was incremented.
    Count { counter: String, index: u64 },
    /// A meter was executed or read.
    Meter { meter: String, colour: u64 },
    /// A hash, checksum or random number was stored.
    Computed { what: &'static str, name: String, value: String },
    /// A checksum was verified.
    ChecksumVerified { ok: bool },
    /// A header was written to the outgoing packet.
    Emit { header: String },
    /// Another operation, as text.
    Operation { text: String },
    /// `log_msg`.
    Log { message: String },
    /// An `assert` or `assume` failed.
    AssertionFailed,
    /// The program called `mark_to_drop`, or requested a clone, resubmit, recirculate or truncate.
    Request { text: String },
    /// A clone was made, or its session is unknown.
    Clone { pipeline: &'static str, session: u64, known: bool },
    /// The packet was replicated. `copies` is `None` if the group is unknown.
    Multicast { group: u64, copies: Option<usize> },
    /// A digest was sent to the control plane.
    Digest { name: String },
    /// The packet was sent back to the parser at the end of ingress.
    Resubmit,
    /// The packet was sent back to the parser at the end of egress.
    Recirculate,
    /// The packet was dropped at the end of a pipeline.
    Drop { pipeline: &'static str },
    /// The packet was dropped because it exceeded the number of passes.
    LoopCut { passes: u32 },
    /// A frame was transmitted.
    Transmitted { port: u16, bytes: String },
}

impl EventKind {
    pub(crate) fn received(port: u16, frame: &[u8]) -> Self {
        EventKind::Received { port, bytes: hex(frame) }
    }

    pub(crate) fn transmitted(port: u16, frame: &[u8]) -> Self {
        EventKind::Transmitted { port, bytes: hex(frame) }
    }
}

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn list(values: &[Named]) -> String {
    let parts: Vec<String> = values.iter().map(|v| format!("{}={}", v.name, v.value)).collect();
    parts.join(", ")
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.events.iter().try_for_each(|event| writeln!(f, "{event}"))
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.graph.is_some() {
            f.write_str("    ")?;
        }
        write!(f, "{}", self.kind)?;
        if self.line > 0 {
            write!(f, "  ({}:{})", self.file, self.line)?;
        }
        Ok(())
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EventKind::Received { port, bytes } => {
                write!(f, "received on port {port}, {} bytes: {bytes}", bytes.len() / 2)
            }
            EventKind::Pass { pipeline, port, number: None } => {
                write!(f, "  {pipeline}, port {port}")
            }
            EventKind::Pass { pipeline, port, number: Some(number) } => {
                write!(f, "  {pipeline} of pipeline {number}, port {port}")
            }
            EventKind::Enter { label } => write!(f, "{label}:"),
            EventKind::Extract { header, fields } => {
                write!(f, "extract {header}: {}", list(fields))
            }
            EventKind::ParserError { error } => write!(f, "parser error {error}"),
            EventKind::Assign { name, value } => write!(f, "{name} = {value}"),
            EventKind::Validity { header, valid: true } => write!(f, "{header} is valid"),
            EventKind::Validity { header, valid: false } => write!(f, "{header} is invalid"),
            EventKind::Branch { taken: true } => f.write_str("condition holds"),
            EventKind::Branch { taken: false } => f.write_str("condition does not hold"),
            EventKind::Table { table, keys, hit, entry, action, params } => {
                let result = if *hit { "hit" } else { "miss" };
                write!(f, "table {table}({}): {result}", list(keys))?;
                if let Some(entry) = entry {
                    write!(f, " [{entry}]")?;
                }
                write!(f, ", action {action}({})", list(params))
            }
            EventKind::RegisterRead { register, index, value: Some(value) } => {
                write!(f, "read {register}[{index}] = {value}")
            }
            EventKind::RegisterWrite { register, index, value: Some(value) } => {
                write!(f, "write {register}[{index}] = {value}")
            }
            EventKind::RegisterRead { register, index, value: None }
            | EventKind::RegisterWrite { register, index, value: None } => {
                write!(f, "{register}[{index}] is out of range, nothing happens")
            }
            EventKind::Count { counter, index } => write!(f, "count {counter}[{index}]"),
            EventKind::Meter { meter, colour } => write!(f, "meter {meter}: colour {colour}"),
            EventKind::Computed { what, name, value } => write!(f, "{what} {name} = {value}"),
            EventKind::ChecksumVerified { ok: true } => f.write_str("checksum is right"),
            EventKind::ChecksumVerified { ok: false } => f.write_str("checksum is wrong"),
            EventKind::Emit { header } => write!(f, "emit {header}"),
            EventKind::Operation { text } | EventKind::Request { text } => f.write_str(text),
            EventKind::Log { message } => write!(f, "log: {message}"),
            EventKind::AssertionFailed => f.write_str("assertion does not hold"),
            EventKind::Clone { pipeline, session, known } => {
                let known = if *known { "" } else { ", which does not exist: no clone" };
                write!(f, "  clone at the end of {pipeline} to session {session}{known}")
            }
            EventKind::Multicast { group, copies: Some(copies) } => {
                write!(f, "  multicast to group {group}: {copies} copies")
            }
            EventKind::Multicast { group, copies: None } => {
                write!(f, "  multicast to group {group}, which does not exist: no copies")
            }
            EventKind::Digest { name } => write!(f, "  digest {name}"),
            EventKind::Resubmit => f.write_str("  resubmit"),
            EventKind::Recirculate => f.write_str("  recirculate"),
            EventKind::Drop { pipeline } => write!(f, "  dropped at the end of {pipeline}"),
            EventKind::LoopCut { passes } => {
                write!(f, "  dropped: it went through the switch {passes} times")
            }
            EventKind::Transmitted { port, bytes } => {
                write!(f, "transmitted on port {port}, {} bytes: {bytes}", bytes.len() / 2)
            }
        }
    }
}
