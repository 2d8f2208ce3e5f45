//! Commands on stored records, which the rack executes: the operations of each, and its reply.

mod reads;
mod writes;

use netkv_rack::session::OwnedOp;
use netkv_roles::Outcome;

use crate::command::{Command, wrong_number};
use crate::failure::RackTexts;
use crate::keys::Keys;
use crate::known::{Known, MAX_KNOWN};
use crate::order::CommandId;
use crate::reply::{Reply, Version, failure, write_integer, write_line};
use crate::request::Words;
use crate::server::Counters;
use crate::text;
use reads::Reads;
use writes::Writes;

/// Keys of one command: its values are in memory until the reply is written.
const MAX_KEYS: usize = 4096;

/// The commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    /// GET: the value.
    Get,
    /// STRLEN: the length of the value.
    Length,
    /// TYPE: every value is a string.
    Kind,
    /// TTL and PTTL: -1: it never expires; -2: it does not exist.
    Expiry,
    /// EXISTS: a repeated key counts each time.
    Exists,
    /// MGET: one multiget of the rack; all values or an error.
    Multiget,
    /// SET.
    Put,
    /// MSET: one SET for each key, all concurrently.
    PutEach,
    /// DEL and UNLINK: the number of deleted keys.
    Delete,
    /// DBSIZE: keys that were stored through this gateway. A rack cannot list its keys.
    Count,
}

/// The part of the gateway that a command of the rack uses.
pub struct Operating<'a> {
    /// The texts of errors.
    pub texts: &'a RackTexts,
    /// The keys that DBSIZE counts.
    pub known: &'a mut Known,
    /// The counters of INFO.
    pub counters: &'a mut Counters,
    /// Operations to submit, with their tokens.
    pub operations: &'a mut Vec<(u64, OwnedOp)>,
    /// The command.
    pub command: CommandId,
}

impl Operating<'_> {
    fn submit(&mut self, part: usize, op: OwnedOp) {
        self.operations.push((token(self.command, part as u32), op));
    }
}

fn token(command: CommandId, part: u32) -> u64 {
    u64::from(command) << 32 | u64::from(part)
}

/// The command of a token, and the part of it that the operation was.
pub fn of_token(token: u64) -> (CommandId, u32) {
    ((token >> 32) as CommandId, token as u32)
}

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
