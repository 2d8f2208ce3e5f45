//! Errors of operations of the rack, as replies. The texts are those of `netkv.client`.

use netkv_roles::Outcome;

use crate::keys::{Keys, Name};
use crate::text;

/// Keys that an error of several keys names.
const MAX_NAMED: usize = 3;

/// Why an operation has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// No answer arrived in time. A write may still take effect.
    TimedOut,
    /// The switch failed during a write, whose effect is unknown.
    Unknown,
    /// The rack refuses the key or value; nothing has changed.
    Refused,
}

/// A failed operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Why.
    pub why: Why,
    /// A sentence.
    pub text: String,
}

impl Failure {
    /// The operation was not submitted, for this reason.
    pub fn refused(text: String) -> Self {
        Self { why: Why::Refused, text }
    }

    /// The error of an operation on `names` that has ended with neither a result nor "not found".
    pub fn of(outcome: Outcome, names: &[&Name], rack: &RackTexts) -> Self {
        let why = match &outcome {
            Outcome::TimedOut { .. } => Why::TimedOut,
            Outcome::Unknown => Why::Unknown,
            _ => Why::Refused,
        };
        let text = match outcome {
            Outcome::TimedOut { missing } => {
                let about = rack.named(missing, names);
                format!("No answer within {} s about {about}.", rack.timeout)
            }
            Outcome::Unknown => format!(
                "The switch has failed while {} was being written: the effect of the write is \
                 unknown.",
                shown(names)
            ),
            Outcome::Refused(reason) => format!("{} was refused: {reason}", shown(names)),
            other => format!("{} has ended with {other:?}, an error of netkv", shown(names)),
        };
        Self { why, text }
    }

    /// The code with which the reply begins.
    pub fn code(&self) -> &'static str {
        match self.why {
            Why::TimedOut => "TIMEOUT",
            Why::Unknown => "UNKNOWN",
            Why::Refused => "ERR",
        }
    }

    /// The text of the reply.
    pub fn reply(&self) -> String {
        format!("{} {}", self.code(), self.text)
    }
}

/// What errors tell about the rack.
#[derive(Debug, Clone, Copy)]
pub struct RackTexts {
    /// Its keys.
    pub keys: Keys,
    /// Time-out of an operation, in seconds.
    pub timeout: f64,
}

impl RackTexts {
    /// A role names unanswered keys by their bytes on the wire, in hexadecimal: replaces them by
    /// the keys of the user, with their servers.
    fn named(&self, mut missing: String, names: &[&Name]) -> String {
        for name in names {
            let wire: String = name.wire.iter().map(|byte| format!("{byte:02x}")).collect();
            let (key, server) = (text::key(name.key()), self.keys.server(name));
            missing = missing.replace(&format!("0x{wire}"), &format!("{key} (server {server})"));
        }
        missing
    }
}

fn shown(names: &[&Name]) -> String {
    let keys: Vec<String> = names.iter().take(MAX_NAMED).map(|it| text::key(it.key())).collect();
    let more = if names.len() > MAX_NAMED { ", …" } else { "" };
    format!("{}{more}", keys.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Encoding;

    #[test]
    fn errors_name_the_keys_and_servers_of_the_user() {
        let keys = Keys { encoding: Encoding::Fixed, servers: 4 };
        let rack = RackTexts { keys, timeout: 0.5 };
        let names: Vec<Name> =
            ["user:1", "b", "c", "d"].map(|key| keys.name(key.as_bytes()).unwrap()).into();
        let names: Vec<&Name> = names.iter().collect();
        let servers: Vec<u32> = names.iter().map(|name| keys.server(name)).collect();
        let missing = "0x757365723a31000000000000000000f6, 0x630000000000000000000000000000f1";
        let timed_out = Outcome::TimedOut { missing: missing.to_owned() };
        assert_eq!(
            Failure::of(timed_out, &names, &rack).reply(),
            format!(
                "TIMEOUT No answer within 0.5 s about b'user:1' (server {}), b'c' (server {}).",
                servers[0], servers[2]
            )
        );
        assert_eq!(
            Failure::of(Outcome::Unknown, &names[..1], &rack).reply(),
            "UNKNOWN The switch has failed while b'user:1' was being written: the effect of the \
             write is unknown."
        );
        assert_eq!(
            Failure::of(Outcome::Refused("no room".to_owned()), &names, &rack).reply(),
            "ERR b'user:1', b'b', b'c', … was refused: no room"
        );
    }
}
