//! The report of a violation.

use serde::Serialize;

use crate::event_clock::{COMPACT_INTERVAL, EventClock, FORGOTTEN_INTERVAL};
use crate::operation::{Action, NEVER, Observed, Record, WriteId, WriteKind};

/// The kind of a violation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ViolationKind {
    /// A read returned a value that was overwritten before its invocation.
    StaleRead,
    /// A read returned a value that no client wrote.
    PhantomValue,
    /// A read returned the value of a write that was refused.
    RefusedValue,
    /// The effect of an acknowledged write is lost permanently.
    LostWrite,
    /// The results of several reads contradict each other: there is no linearization.
    NotLinearizable,
}

/// A part of a key's history that is not linearizable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// The key, in hexadecimal digits.
    pub key: String,
    /// The kind of the violation.
    pub kind: ViolationKind,
    /// A sentence that describes it.
    pub text: String,
    /// The operations in the order of their invocations. As far as the checker could find out, the
    /// set is minimal: without any of them the rest is linearizable.
    pub operations: Vec<Operation>,
}

/// The kind of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OperationKind {
    /// Writes a value.
    Put,
    /// Removes the value.
    Delete,
    /// Reads.
    Get,
}

/// Identifies a request and its packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Request {
    /// The client; 0 for the initial value.
    pub client: u16,
    /// Its request number.
    pub request: u32,
}

/// One operation of a violation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Operation {
    /// The client.
    pub client: u16,
    /// Its request number.
    pub request: u32,
    /// Its kind.
    pub what: OperationKind,
    /// The request that wrote the value: of a read the dictating write, of a put the put itself.
    pub writer: Option<Request>,
    /// Its result.
    pub result: &'static str,
    /// Time of the invocation, in nanoseconds of the driver; none if it was forgotten.
    pub start_ns: Option<u64>,
    /// Time of the response; none if there is none, or if it was forgotten.
    pub end_ns: Option<u64>,
}

impl Operation {
    fn of(record: &Record, clock: &EventClock) -> Self {
        let (what, writer) = match record.action {
            Action::Write(WriteKind::Put) | Action::Refused => {
                (OperationKind::Put, Some(record.id))
            }
            Action::Write(WriteKind::Delete) => (OperationKind::Delete, None),
            Action::Read(Observed::Value(id)) => (OperationKind::Get, Some(id)),
            Action::Read(_) => (OperationKind::Get, None),
        };
        let forgotten =
            record.invocation == FORGOTTEN_INTERVAL.0 || record.invocation == COMPACT_INTERVAL.0;
        let time = |at: u64| (!forgotten && at != NEVER).then(|| clock.nanos(at));
        Self {
            client: record.id.client,
            request: record.id.request,
            what,
            writer: writer.map(|id| Request { client: id.client, request: id.request }),
            result: result(record),
            start_ns: time(record.invocation),
            end_ns: time(record.response),
        }
    }
}

fn result(record: &Record) -> &'static str {
    match record.action {
        _ if record.response == NEVER => "no answer",
        Action::Write(_) => "ok",
        Action::Refused => "refused",
        Action::Read(Observed::Value(WriteId::INITIAL)) => "initial value",
        Action::Read(Observed::Value(_)) => "value",
        Action::Read(Observed::NotFound) => "not found",
        Action::Read(Observed::Garbage) => "value never written",
    }
}

impl Violation {
    /// Makes a report. `records` are the read that was rejected and the operations that it
    /// contradicts.
    pub(crate) fn new(
        key: &[u8],
        kind: ViolationKind,
        read: WriteId,
        records: &[Record],
        clock: &EventClock,
    ) -> Self {
        Self {
            key: key.iter().map(|byte| format!("{byte:02x}")).collect(),
            kind,
            text: sentence(kind, read, records),
            operations: records.iter().map(|record| Operation::of(record, clock)).collect(),
        }
    }
}

fn sentence(kind: ViolationKind, read: WriteId, records: &[Record]) -> String {
    let Some(last) = records.iter().find(|it| it.id == read) else { return String::new() };
    let reader = format!("Get {}/{}", read.client, read.request);
    let saw = match last.action {
        Action::Read(Observed::Value(WriteId::INITIAL)) => "the initial value".to_owned(),
        Action::Read(Observed::Value(id)) => {
            format!("the value of put {}/{}", id.client, id.request)
        }
        Action::Read(Observed::NotFound) => "no value".to_owned(),
        _ => "a value that does not belong to this key".to_owned(),
    };
    let replaced = records
        .iter()
        .filter(|it| {
            matches!(it.action, Action::Write(_))
                && last.action != Action::Read(Observed::Value(it.id))
                && it.invocation < last.invocation
        })
        .max_by_key(|it| it.invocation)
        .map(|it| {
            let name = if it.action == Action::Write(WriteKind::Put) { "put" } else { "delete" };
            format!("{name} {}/{}", it.id.client, it.id.request)
        });
    match (kind, replaced) {
        (ViolationKind::PhantomValue, _) => format!("{reader} returned {saw}; no client wrote it."),
        (ViolationKind::RefusedValue, _) => format!("{reader} returned {saw}, which was refused."),
        (ViolationKind::StaleRead, Some(by)) => {
            format!("{reader} returned {saw}, although {by} had replaced it before the get began.")
        }
        (ViolationKind::LostWrite, Some(by)) => {
            format!("{reader} returned {saw}: the acknowledged {by} is lost.")
        }
        (ViolationKind::StaleRead, None) => {
            format!("{reader} returned {saw}, although no operation had removed the value.")
        }
        (ViolationKind::LostWrite, None) => {
            format!("{reader} returned {saw}: the value is lost, although no operation removed it.")
        }
        (ViolationKind::NotLinearizable, _) => {
            format!("No order of these operations explains that {} returned {saw}.", {
                format!("get {}/{}", read.client, read.request)
            })
        }
    }
}
