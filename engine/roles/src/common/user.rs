//! Operations that people and programs submit to a client, beside those of a load, and their
//! outcomes.

use std::fmt::Write as _;
use std::slice::from_ref;

use netkv_wire::MAX_VALUE;
use netkv_workload::OpKind;

/// An operation of a user. Each client has its own limits of keys and values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserOp<'a> {
    /// The values of these keys, all or none.
    Get(&'a [&'a [u8]]),
    /// Write a value (the second) to a key.
    Put(&'a [u8], &'a [u8]),
    /// Delete a key.
    Delete(&'a [u8]),
}

impl UserOp<'_> {
    /// The kind of the operation, its keys, and the value that it writes.
    pub(crate) fn parts(&self) -> (OpKind, &[&[u8]], &[u8]) {
        match self {
            Self::Get(keys) => (OpKind::Read, keys, &[]),
            Self::Put(key, value) => (OpKind::Update, from_ref(key), value),
            Self::Delete(key) => (OpKind::Delete, from_ref(key), &[]),
        }
    }
}

/// Checks the length of a value. An error is a sentence for users.
pub(crate) fn check_value(value: &[u8]) -> Result<(), String> {
    match value.len() {
        ..=MAX_VALUE => Ok(()),
        length => {
            Err(format!("A value of {length} bytes is too long; it may have up to {MAX_VALUE}."))
        }
    }
}

/// How an operation ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The values of all keys, in their order; `None` for keys that have none.
    Values(Vec<Option<Vec<u8>>>),
    /// The write is done.
    Done,
    /// The key to be deleted was not there. Not every scheme says so.
    NotFound,
    /// The deadline has passed. A write may still take effect.
    TimedOut {
        /// The keys without an answer, as a text for users.
        missing: String,
    },
    /// It is unknown whether the write was applied.
    Unknown,
    /// The operation is refused, for this reason.
    Refused(String),
}

/// The end of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// The token with which the operation was submitted.
    pub token: u64,
    /// How it ended.
    pub outcome: Outcome,
}

/// Number of missing keys that are listed; the others are only counted.
const NAMED: usize = 8;

/// Lists keys in hexadecimal; a caller that knows their names can substitute them.
pub(crate) fn name_keys<'a>(keys: impl Iterator<Item = &'a [u8]>) -> String {
    let (mut text, mut more) = (String::new(), 0);
    for (index, key) in keys.enumerate() {
        if index >= NAMED {
            more += 1;
            continue;
        }
        text.push_str(if index == 0 { "0x" } else { ", 0x" });
        for byte in key {
            let _ = write!(text, "{byte:02x}");
        }
    }
    if more > 0 {
        let _ = write!(text, " and {more} more");
    }
    text
}
