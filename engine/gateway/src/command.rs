//! The declaration of a command.

use crate::client::Client;
use crate::reply::{Reply, failure};
use crate::server::Server;
use crate::words::Words;

/// One command, or a subcommand of one.
#[derive(Debug)]
pub struct Command {
    /// `get`; of a subcommand `client|id`.
    pub name: &'static str,
    /// Number of words including the name; negative: the minimum.
    pub arity: i64,
    /// For COMMAND DOCS.
    pub summary: &'static str,
    /// The first version of Redis that has it.
    pub since: &'static str,
    /// `string`, `generic`, `connection` or `server`.
    pub group: &'static str,
    /// How it is executed.
    pub action: Action,
    /// Checks the arguments before execution; returns the error.
    pub check: Option<fn(&Words<'_>) -> Option<Reply>>,
    /// Flags of Redis.
    pub flags: &'static [&'static str],
    /// Which words are keys.
    pub keys: KeyWords,
    /// Its subcommands.
    pub subcommands: &'static [Command],
}

/// How a command is executed.
#[derive(Debug, Clone, Copy)]
pub enum Action {
    /// By the gateway, without the rack.
    Local(fn(&mut Client, &Server, &Words<'_>) -> Reply),
    /// By the gateway, from the declarations of all commands.
    Catalogue(fn(&[&'static Command], &Words<'_>) -> Reply),
    /// By the rack.
    Stored(Stored),
    /// By its subcommands.
    Container,
}

/// The commands that the rack executes.
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

/// Which words of a request are keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyWords {
    /// None: a command that the rack executes concerns all keys.
    None,
    /// The word after the name.
    First,
    /// Every word after the name.
    All,
    /// Every second word after the name: each key is followed by its value.
    Pairs,
}

impl Command {
    /// Whether it changes stored records.
    pub fn writes(&self) -> bool {
        self.flags.contains(&"write")
    }

    /// The keys in a request.
    pub fn keys<'a>(&self, request: &Words<'a>) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let (number, step) = match self.keys {
            KeyWords::None => (0, 1),
            KeyWords::First => (1, 1),
            KeyWords::All => (usize::MAX, 1),
            KeyWords::Pairs => (usize::MAX, 2),
        };
        request.from(1).iter().step_by(step).take(number)
    }

    /// The name without that of the container.
    pub fn own_name(&self) -> &'static str {
        self.name.split_once('|').map_or(self.name, |(_, name)| name)
    }

    /// A subcommand by its name in any case.
    pub fn subcommand(&self, name: &[u8]) -> Option<&'static Command> {
        self.subcommands.iter().find(|it| it.own_name().as_bytes().eq_ignore_ascii_case(name))
    }

    /// Whether a request may have so many words.
    pub fn takes(&self, words: usize) -> bool {
        let words = words as i64;
        if self.arity > 0 { words == self.arity } else { words >= -self.arity }
    }
}

/// The error for a wrong number of words.
pub fn wrong_number(name: &str) -> Reply {
    failure(format!("ERR wrong number of arguments for '{name}' command"))
}
