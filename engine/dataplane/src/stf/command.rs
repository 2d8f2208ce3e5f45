//! Parses the lines of an STF file.

use std::fmt;

/// Time between two packets of a file, in nanoseconds.
pub(super) const PACKET_GAP_NS: u64 = 1_000_000;

/// A command. Names and values are still text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Command {
    Packet { port: u16, bytes: Vec<u8> },
    Expect { port: u16, expected: Expected },
    Add { table: String, priority: Option<u32>, keys: Vec<(String, String)>, action: Call },
    SetDefault { table: String, action: Call },
    MirroringAdd { session: u32, port: u16 },
    GroupCreate(u32),
    NodeCreate { instance: u16, ports: Vec<u16> },
    NodeAssociate { group: u32, handle: usize },
    RegisterWrite { register: String, index: u32, value: String },
}

/// An action with its arguments. An argument without name is assigned by its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) action: String,
    pub(super) arguments: Vec<(String, String)>,
}

/// An expected frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Expected {
    /// Hexadecimal digits; `None` for `*`.
    digits: Vec<Option<u8>>,
    /// The frame must end after the digits.
    complete: bool,
}

impl Expected {
    /// Index of the first byte that differs.
    pub(super) fn first_difference(&self, actual: &[u8]) -> Option<usize> {
        for (at, digit) in self.digits.iter().enumerate() {
            let Some(byte) = actual.get(at / 2) else { return Some(actual.len()) };
            let nibble = if at % 2 == 0 { byte >> 4 } else { byte & 15 };
            if digit.is_some_and(|digit| digit != nibble) {
                return Some(at / 2);
            }
        }
        let length = self.digits.len() / 2;
        (self.complete && actual.len() > length).then_some(length)
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for digit in &self.digits {
            match digit {
                Some(digit) => write!(f, "{digit:x}")?,
                None => f.write_str("*")?,
            }
        }
        if self.complete { f.write_str(" $") } else { Ok(()) }
    }
}

/// Parses a line. `None`: the line has no effect.
pub(super) fn parse_line(line: &str) -> Result<Option<Command>, String> {
    let line = line.split('#').next().unwrap_or("").trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    let words: Vec<&str> = rest.split_whitespace().collect();
    let command = match word {
        "" | "wait" | "no_packet" => return Ok(None),
        "packet" => {
            let (port, digits) = words.split_first().ok_or("packet needs a port and a frame.")?;
            Command::Packet {
                port: parse_number(port, "a port")?,
                bytes: parse_bytes(&digits.concat())?,
            }
        }
        "expect" => {
            let (port, digits) = words.split_first().ok_or("expect needs a port.")?;
            Command::Expect {
                port: parse_number(port, "a port")?,
                expected: parse_expected(digits.concat())?,
            }
        }
        "add" => parse_add(rest)?,
        "setdefault" => {
            let (head, action) = parse_call(rest)?;
            let [table] = head.as_slice() else {
                return Err("setdefault needs a table and an action.".to_owned());
            };
            Command::SetDefault { table: (*table).to_owned(), action }
        }
        "mirroring_add" => {
            let [session, port] = exact_words(&words, "mirroring_add SESSION PORT")?;
            Command::MirroringAdd {
                session: parse_number(session, "a session")?,
                port: parse_number(port, "a port")?,
            }
        }
        "mc_mgrp_create" => {
            let [group] = exact_words(&words, "mc_mgrp_create GROUP")?;
            Command::GroupCreate(parse_number(group, "a group")?)
        }
        "mc_node_create" => {
            let (instance, ports) =
                words.split_first().ok_or("mc_node_create needs RID PORT ...")?;
            let ports =
                ports.iter().map(|port| parse_number(port, "a port")).collect::<Result<_, _>>()?;
            Command::NodeCreate { instance: parse_number(instance, "a replication id")?, ports }
        }
        "mc_node_associate" => {
            let [group, handle] = exact_words(&words, "mc_node_associate GROUP HANDLE")?;
            Command::NodeAssociate {
                group: parse_number(group, "a group")?,
                handle: parse_number(handle, "a handle")?,
            }
        }
        "register_write" => {
            let [register, index, value] =
                exact_words(&words, "register_write REGISTER INDEX VALUE")?;
            Command::RegisterWrite {
                register: (*register).to_owned(),
                index: parse_number(index, "an index")?,
                value: (*value).to_owned(),
            }
        }
        other => {
            return Err(format!(
                "'{other}' is no STF command. Commands: add, expect, mc_mgrp_create, \
                 mc_node_associate, mc_node_create, mirroring_add, no_packet, packet, \
                 register_write, setdefault, wait."
            ));
        }
    };
    Ok(Some(command))
}

fn exact_words<'a, const N: usize>(words: &[&'a str], usage: &str) -> Result<[&'a str; N], String> {
    words
        .try_into()
        .map_err(|_| format!("The command is {usage}, but {} words follow it.", words.len()))
}

fn parse_number<T: TryFrom<u64>>(text: &str, what: &str) -> Result<T, String> {
    let value = match text.split_at_checked(2) {
        Some(("0x" | "0X", digits)) => u64::from_str_radix(digits, 16),
        Some(("0b" | "0B", digits)) => u64::from_str_radix(digits, 2),
        _ => text.parse(),
    };
    let value = value.ok().and_then(|value| T::try_from(value).ok());
    value.ok_or_else(|| format!("'{text}' is not {what}."))
}

fn parse_digit(text: char) -> Result<u8, String> {
    let digit = text.to_digit(16).ok_or_else(|| format!("'{text}' is no hexadecimal digit."))?;
    Ok(digit as u8)
}

fn parse_bytes(text: &str) -> Result<Vec<u8>, String> {
    let digits = text.chars().map(parse_digit).collect::<Result<Vec<_>, _>>()?;
    if digits.len() % 2 == 1 {
        return Err(format!("The frame has {} hexadecimal digits, an odd number.", digits.len()));
    }
    Ok(digits.chunks(2).map(|pair| (pair[0] << 4) | pair[1]).collect())
}

fn parse_expected(text: String) -> Result<Expected, String> {
    let (text, complete) = match text.strip_suffix('$') {
        Some(text) => (text.to_owned(), true),
        None => (text, false),
    };
    let one = |c| if c == '*' { Ok(None) } else { parse_digit(c).map(Some) };
    Ok(Expected { digits: text.chars().map(one).collect::<Result<_, _>>()?, complete })
}

/// Splits a text into the words before an action, and the action with its arguments.
fn parse_call(text: &str) -> Result<(Vec<&str>, Call), String> {
    let (head, arguments) = match text.split_once('(') {
        Some((head, rest)) => {
            let (inside, _) = rest.split_once(')').ok_or("The action's ')' is missing.")?;
            (head, inside)
        }
        None => (text, ""),
    };
    let mut words: Vec<&str> = head.split_whitespace().collect();
    let action = words.pop().ok_or("The action is missing.")?.to_owned();
    let arguments = arguments
        .split(',')
        .map(str::trim)
        .filter(|argument| !argument.is_empty())
        .map(|argument| {
            let (name, value) = argument.split_once(':').unwrap_or(("", argument));
            (name.trim().to_owned(), value.trim().to_owned())
        })
        .collect();
    Ok((words, Call { action, arguments }))
}

fn parse_add(text: &str) -> Result<Command, String> {
    let (words, action) = parse_call(text)?;
    let (table, rest) = words.split_first().ok_or("add needs a table and an action.")?;
    let (priority, rest) = match rest.split_first() {
        Some((word, keys)) if !word.contains(':') => {
            (Some(parse_number(word, "a priority")?), keys)
        }
        _ => (None, rest),
    };
    let key = |word: &&str| {
        let parts = word.split_once(':').ok_or_else(|| format!("'{word}' is not KEY:MATCH."))?;
        Ok((parts.0.trim_matches('"').to_owned(), parts.1.to_owned()))
    };
    let keys = rest.iter().map(key).collect::<Result<_, String>>()?;
    Ok(Command::Add { table: (*table).to_owned(), priority, keys, action })
}
