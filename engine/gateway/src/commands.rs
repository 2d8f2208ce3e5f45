//! The command of a request, or the error of a request that is no valid command.

use rustc_hash::FxHashMap;

use crate::client::Client;
use crate::command::{Command, wrong_number};
use crate::reply::{Reply, failure};
use crate::table;
use crate::words::Words;

/// Bytes of a request that an error shows.
const MAX_SHOWN: usize = 128;
/// The longest name of a command or subcommand, and some bytes: longer names are unknown.
const MAX_NAME: usize = 16;

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
        if let Some(error) = refused(client, name, self.separate_mset) {
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
            return Err(wrong_number(command.name));
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

/// The error for an unsupported command that many clients send, with alternatives.
///
/// Commands between MULTI and EXEC are refused as well: otherwise an atomic transaction would be
/// executed in part.
fn refused(client: &mut Client, name: &[u8], separate_mset: bool) -> Option<Reply> {
    let is = |other: &str| name.eq_ignore_ascii_case(other.as_bytes());
    if !client.transaction && !matches!(name.first(), Some(b'm' | b'M')) {
        return None;
    }
    if is("MSET") && !separate_mset {
        return Some(failure(
            "ERR MSET is atomic in Redis, but a rack cannot write keys of several servers \
             atomically: send SETs in a pipeline, or start 'netkv gateway --mset separate', which \
             writes each key of an MSET separately",
        ));
    }
    if is("MSETNX") {
        return Some(failure(
            "ERR MSETNX is not supported: a write to a rack cannot depend on the stored value",
        ));
    }
    if !client.transaction && !is("MULTI") {
        return None;
    }
    client.transaction = !["EXEC", "DISCARD", "RESET", "QUIT"].into_iter().any(is);
    if client.transaction {
        return Some(failure(
            "ERR a rack has no transactions; commands up to EXEC or DISCARD are not executed: send \
             a pipeline without MULTI (redis-py: pipeline(transaction=False))",
        ));
    }
    let ends = is("EXEC") || is("DISCARD");
    ends.then(|| failure("EXECABORT Transaction discarded because of previous errors."))
}
