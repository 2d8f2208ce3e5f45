//! Operations that people and programs hand to a client, beside those of a load: what they ask and
//! how it ends.

use std::fmt::Write as _;

/// What a user asks. Keys and values are the user's; a client says which it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserOp<'a> {
    /// The values of these keys, all or none.
    Get(&'a [&'a [u8]]),
    /// Write a value (the second) to a key.
    Put(&'a [u8], &'a [u8]),
    /// Delete a key.
    Delete(&'a [u8]),
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
    /// The deadline has come first. A write may still take effect.
    TimedOut {
        /// What was not answered, for people. Keys that are no text are hexadecimal: 0x2a.
        missing: String,
    },
    /// A write of which nobody can tell whether it was done.
    Unknown,
    /// It will not be done; why, as half a sentence.
    Refused(String),
}

/// The end of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// What it was handed in with.
    pub token: u64,
    /// How it ended.
    pub outcome: Outcome,
}

/// Keys that are named when they are missing; of more only the number is told.
const NAMED: usize = 8;

/// Keys without an answer, for people: hexadecimal, so that whoever knows their names can put
/// them in place.
pub(crate) fn name_keys<'a>(keys: impl Iterator<Item = &'a [u8]>) -> String {
    let (mut text, mut more) = (String::new(), 0);
    for (place, key) in keys.enumerate() {
        if place >= NAMED {
            more += 1;
            continue;
        }
        text.push_str(if place == 0 { "0x" } else { ", 0x" });
        for byte in key {
            let _ = write!(text, "{byte:02x}");
        }
    }
    if more > 0 {
        let _ = write!(text, " and {more} more");
    }
    text
}
