//! What is told of a violation.

use serde::Serialize;

use crate::moments::{FORGOTTEN, Moments, SETTLED};
use crate::operation::{Action, NEVER, Observed, Record, WriteId, WriteKind};

/// What is wrong with a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ViolationKind {
    /// A read returned what had been overwritten before it began.
    StaleRead,
    /// A read returned what nobody had written.
    PhantomValue,
    /// What an acknowledged write did was gone for good.
    LostWrite,
    /// No order of the operations explains what the reads returned.
    NotLinearizable,
}

/// A part of a key's history that has no explanation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// The key, in hexadecimal digits.
    pub key: String,
    /// What is wrong.
    pub kind: ViolationKind,
    /// The same as a sentence.
    pub text: String,
    /// The operations, in the order in which they began; without any of them the rest would be
    /// in order, as far as that could be found out.
    pub operations: Vec<Operation>,
}

/// What an operation was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum What {
    /// A write of a value.
    Put,
    /// A write of no value.
    Delete,
    /// A read.
    Get,
}

/// A request, by which its packets are found.
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
    /// What it was.
    pub what: What,
    /// Who wrote the value: itself, or whose value the read returned.
    pub writer: Option<Request>,
    /// How it ended.
    pub result: &'static str,
    /// When it was sent first, in nanoseconds of the driver; none if that is not known any more.
    pub start_ns: Option<u64>,
    /// When it was answered; none without answer, or if that is not known any more.
    pub end_ns: Option<u64>,
}

impl Operation {
    fn of(record: &Record, moments: &Moments) -> Self {
        let (what, writer) = match record.action {
            Action::Write(WriteKind::Put) => (What::Put, Some(record.id)),
            Action::Write(WriteKind::Delete) => (What::Delete, None),
            Action::Read(Observed::Value(id)) => (What::Get, Some(id)),
            Action::Read(_) => (What::Get, None),
        };
        let forgotten = record.begun == FORGOTTEN.0 || record.begun == SETTLED.0;
        let time = |at: u64| (!forgotten && at != NEVER).then(|| moments.nanos(at));
        Self {
            client: record.id.client,
            request: record.id.request,
            what,
            writer: writer.map(|id| Request { client: id.client, request: id.request }),
            result: result(record),
            start_ns: time(record.begun),
            end_ns: time(record.ended),
        }
    }
}

fn result(record: &Record) -> &'static str {
    match record.action {
        _ if record.ended == NEVER => "no answer",
        Action::Write(_) => "ok",
        Action::Read(Observed::Value(WriteId::INITIAL)) => "initial value",
        Action::Read(Observed::Value(_)) => "value",
        Action::Read(Observed::NotFound) => "not found",
        Action::Read(Observed::Garbage) => "nobody's value",
    }
}

impl Violation {
    /// `records` have the read that was refused, and what it contradicts.
    pub(crate) fn new(
        key: &[u8],
        kind: ViolationKind,
        read: WriteId,
        records: &[Record],
        moments: &Moments,
    ) -> Self {
        Self {
            key: key.iter().map(|byte| format!("{byte:02x}")).collect(),
            kind,
            text: sentence(kind, read, records),
            operations: records.iter().map(|record| Operation::of(record, moments)).collect(),
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
        _ => "a value that no write of this key can have made".to_owned(),
    };
    let replaced = records
        .iter()
        .filter(|it| {
            matches!(it.action, Action::Write(_))
                && last.action != Action::Read(Observed::Value(it.id))
                && it.begun < last.begun
        })
        .max_by_key(|it| it.begun)
        .map(|it| {
            let name = if it.action == Action::Write(WriteKind::Put) { "put" } else { "delete" };
            format!("{name} {}/{}", it.id.client, it.id.request)
        });
    match (kind, replaced) {
        (ViolationKind::PhantomValue, _) => format!("{reader} returned {saw}: nobody wrote it."),
        (ViolationKind::StaleRead, Some(by)) => format!(
            "{reader} returned {saw}, although {by} had taken its place before the get began."
        ),
        (ViolationKind::LostWrite, Some(by)) => {
            format!("{reader} returned {saw}: the acknowledged {by} is lost.")
        }
        (ViolationKind::StaleRead, None) => {
            format!("{reader} returned {saw}, although nobody had taken away what was there.")
        }
        (ViolationKind::LostWrite, None) => {
            format!("{reader} returned {saw}: what was there is lost, and nobody took it away.")
        }
        (ViolationKind::NotLinearizable, _) => {
            format!("No order of these operations explains that {} returned {saw}.", {
                format!("get {}/{}", read.client, read.request)
            })
        }
    }
}
