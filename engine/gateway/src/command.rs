//! The declaration of a command, and the lookup of the command of a request.

use rustc_hash::FxHashMap;

use crate::client::Client;
use crate::reply::{Reply, failure};
use crate::request::Words;
use crate::server::Server;
use crate::table;
use crate::work::Stored;

/// Bytes of a request that an error shows.
const MAX_SHOWN: usize = 128;
/// The longest name of a command or subcommand, and some bytes: longer names are unknown.
const MAX_NAME: usize = 16;

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
    /// By the rack.
    Stored(Stored),
    /// By its subcommands.
    Container,
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

    fn takes(&self, words: usize) -> bool {
        let words = words as i64;
        if self.arity > 0 { words == self.arity } else { words >= -self.arity }
    }

    fn wrong_number(&self) -> Reply {
        wrong_number(self.name)
    }
}

/// The error for a wrong number of words.
pub fn wrong_number(name: &str) -> Reply {
    failure(format!("ERR wrong number of arguments for '{name}' command"))
}

/// The commands of a gateway.
#[derive(Debug)]
pub struct Commands {
    list: Vec<&'static Command>,
    by_name: FxHashMap<&'static [u8], &'static Command>,
    separate_mset: bool,
}

impl Commands {
    /// All commands; MSET only if it may write each key separately.
    pub fn new(separate_mset: bool) -> Self {
        let list: Vec<_> = table::commands(separate_mset).collect();
        let by_name = list.iter().map(|it| (it.name.as_bytes(), *it)).collect();
        Self { list, by_name, separate_mset }
    }

    /// All commands in order.
    pub fn list(&self) -> &[&'static Command] {
        &self.list
    }

    /// A command by its name in any case.
    pub fn named(&self, name: &[u8]) -> Option<&'static Command> {
        let mut lower = [0; MAX_NAME];
        let lower = lower.get_mut(..name.len())?;
        lower.copy_from_slice(name);
        lower.make_ascii_lowercase();
        self.by_name.get(&*lower).copied()
    }

    /// The command of a request with valid arguments.
    ///
    /// # Errors
    ///
    /// The error that Redis sends, or that of a command which a rack cannot execute.
    pub fn find(
        &self,
        client: &mut Client,
        request: &Words<'_>,
    ) -> Result<&'static Command, Reply> {
        let name = &request[0];
        if let Some(error) = table::refused(client, name, self.separate_mset) {
            return Err(error);
        }
        let Some(mut command) = self.named(name) else {
            return Err(failure(unknown(request)));
        };
        if !command.subcommands.is_empty() && request.len() > 1 {
            let word = &request[1];
            command = command.subcommand(word).ok_or_else(|| {
                let mut text = b"ERR unknown subcommand '".to_vec();
                text.extend_from_slice(&word[..word.len().min(MAX_SHOWN)]);
                text.extend_from_slice(b"'. Try ");
                text.extend(command.name.bytes().map(|byte| byte.to_ascii_uppercase()));
                text.extend_from_slice(b" HELP.");
                failure(text)
            })?;
        }
        if !command.takes(request.len()) {
            return Err(command.wrong_number());
        }
        match command.check.and_then(|check| check(request)) {
            Some(error) => Err(error),
            None => Ok(command),
        }
    }
}

fn unknown(request: &Words<'_>) -> Vec<u8> {
    let name = &request[0];
    let mut text = b"ERR unknown command '".to_vec();
    text.extend_from_slice(&name[..name.len().min(MAX_SHOWN)]);
    text.extend_from_slice(b"', with args beginning with: ");
    let begin = text.len();
    for word in request.from(1).iter() {
        let shown = text.len() - begin;
        if shown >= MAX_SHOWN {
            break;
        }
        text.push(b'\'');
        text.extend_from_slice(&word[..word.len().min(MAX_SHOWN - shown)]);
        text.extend_from_slice(b"' ");
    }
    text
}
