//! Commands on stored records, which the rack executes: the operations of each, and its reply.

mod operating;
mod reads;
mod writes;

use netkv_roles::Outcome;

use crate::command::{Command, Stored, wrong_number};
use crate::keys::Keys;
use crate::known::{Known, MAX_KNOWN};
use crate::reply::{Reply, Version, failure, write_integer, write_line};
use crate::text;
use crate::words::Words;
pub use operating::{Operating, of_token};
use reads::Reads;
use writes::Writes;

/// Keys of one command: its values are in memory until the reply is written.
const MAX_KEYS: usize = 4096;

/// A command of the rack that was not answered.
#[derive(Debug)]
pub enum Work {
    /// It reads keys.
    Reads(Reads),
    /// It writes or deletes keys, each by itself.
    Writes(Writes),
    /// DBSIZE.
    Count,
}

impl Work {
    /// The work of a request with valid arguments.
    pub fn new(
        stored: Stored,
        command: &Command,
        request: &Words<'_>,
        keys: &Keys,
        known: &Known,
    ) -> Self {
        match stored {
            Stored::Count => Self::Count,
            Stored::Put | Stored::PutEach => {
                let pairs = command.keys(request).zip(request.from(2).iter().step_by(2));
                Self::Writes(Writes::puts(pairs, keys, known))
            }
            Stored::Delete => Self::Writes(Writes::deletes(command.keys(request), keys, known)),
            reads => Self::Reads(Reads::new(reads, command.keys(request), keys)),
        }
    }

    /// Submits the first operations; returns whether the command has ended, because there are none.
    pub fn start(&mut self, rack: &mut Operating<'_>) -> bool {
        match self {
            Self::Reads(reads) => reads.start(rack),
            Self::Writes(writes) => writes.start(rack),
            Self::Count => true,
        }
    }

    /// An operation has ended; returns whether the command has ended.
    pub fn on_outcome(&mut self, part: u32, outcome: Outcome, rack: &mut Operating<'_>) -> bool {
        match self {
            Self::Reads(reads) => reads.on_outcome(part as usize, outcome, rack),
            Self::Writes(writes) => writes.on_outcome(part as usize, outcome, rack),
            Self::Count => true,
        }
    }

    /// Appends the reply of a command that has ended; returns whether it is an error.
    pub fn write_reply(&self, known: &Known, version: Version, out: &mut Vec<u8>) -> bool {
        let error = match self {
            Self::Reads(reads) => reads.write_reply(version, out),
            Self::Writes(writes) => writes.write_reply(out),
            Self::Count => match known.count() {
                Some(count) => {
                    write_integer(count as i64, out);
                    None
                }
                None => Some(format!(
                    "ERR DBSIZE counts up to {} keys that were stored through this gateway; there \
                     were more",
                    text::thousands(MAX_KNOWN)
                )),
            },
        };
        if let Some(error) = &error {
            write_line(b'-', error.as_bytes(), out);
        }
        error.is_some()
    }
}

/// The error for every option of SET: a rack supports none.
pub fn check_set(request: &Words<'_>) -> Option<Reply> {
    let options = request.from(3);
    let option = options.iter().next()?.to_ascii_uppercase();
    let why = match &option[..] {
        b"EX" | b"PX" | b"EXAT" | b"PXAT" | b"KEEPTTL" => "values do not expire",
        b"NX" | b"XX" => "a write cannot depend on the stored value",
        b"GET" => "a write does not return the previous value",
        _ => return Some(failure("ERR syntax error")),
    };
    let option = String::from_utf8_lossy(&option);
    Some(failure(format!("ERR SET with {option} is not supported: {why}")))
}

/// Not more than [`MAX_KEYS`] keys.
pub fn check_keys(request: &Words<'_>) -> Option<Reply> {
    check_number(request.len() - 1)
}

/// A value for each key, and not more than [`MAX_KEYS`] keys.
pub fn check_pairs(request: &Words<'_>) -> Option<Reply> {
    if request.len().is_multiple_of(2) {
        return Some(wrong_number("mset"));
    }
    check_number(request.len() / 2)
}

fn check_number(keys: usize) -> Option<Reply> {
    (keys > MAX_KEYS).then(|| {
        failure(format!(
            "ERR a command may have up to {MAX_KEYS} keys, not {keys}: send several commands"
        ))
    })
}
