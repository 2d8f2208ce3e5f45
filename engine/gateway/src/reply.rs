//! Replies of the Redis protocol: version 2, or version 3 after HELLO 3.
//!
//! Version 2 has no maps, sets, nulls and verbatim strings; they become arrays, arrays, null
//! strings and strings.

use std::io::Write as _;

/// Version of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Version {
    /// RESP2.
    #[default]
    Two,
    /// RESP3.
    Three,
}

/// A reply to a command that the gateway answers itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// No value.
    Null,
    /// A number.
    Integer(i64),
    /// A string of any bytes.
    Bulk(Vec<u8>),
    /// A word such as OK.
    Simple(String),
    /// An error: a code in capitals and a sentence.
    Failure(Vec<u8>),
    /// A text of several lines for users.
    Verbatim(String),
    /// A set of simple strings, such as the flags of a command.
    Words(Vec<&'static str>),
    /// Replies in a row.
    Array(Vec<Reply>),
    /// Replies by name.
    Map(Vec<(&'static str, Reply)>),
}

/// The reply OK.
pub fn ok() -> Reply {
    Reply::Simple("OK".to_owned())
}

/// An error.
pub fn failure(text: impl Into<Vec<u8>>) -> Reply {
    Reply::Failure(text.into())
}

/// A string.
pub fn text(text: &str) -> Reply {
    Reply::Bulk(text.as_bytes().to_vec())
}

impl Reply {
    /// Appends the bytes of the reply.
    pub fn write(&self, version: Version, out: &mut Vec<u8>) {
        let three = version == Version::Three;
        match self {
            Self::Null => write_null(version, out),
            Self::Integer(number) => write_integer(*number, out),
            Self::Bulk(bytes) => write_bulk(bytes, out),
            Self::Simple(text) => write_line(b'+', text.as_bytes(), out),
            Self::Failure(text) => write_line(b'-', text, out),
            Self::Verbatim(text) if three => {
                const KIND: &str = "txt:";
                write_head(b'=', KIND.len() + text.len(), out);
                out.extend_from_slice(KIND.as_bytes());
                out.extend_from_slice(text.as_bytes());
                out.extend_from_slice(b"\r\n");
            }
            Self::Verbatim(text) => write_bulk(text.as_bytes(), out),
            Self::Words(words) => {
                write_head(if three { b'~' } else { b'*' }, words.len(), out);
                words.iter().for_each(|word| write_line(b'+', word.as_bytes(), out));
            }
            Self::Array(replies) => {
                write_array(replies.len(), out);
                replies.iter().for_each(|reply| reply.write(version, out));
            }
            Self::Map(pairs) => {
                match version {
                    Version::Three => write_head(b'%', pairs.len(), out),
                    Version::Two => write_array(2 * pairs.len(), out),
                }
                for (name, reply) in pairs {
                    write_bulk(name.as_bytes(), out);
                    reply.write(version, out);
                }
            }
        }
    }
}

/// Appends a string.
pub fn write_bulk(bytes: &[u8], out: &mut Vec<u8>) {
    write_head(b'$', bytes.len(), out);
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

/// Appends a value, or that there is none.
pub fn write_value(value: Option<&[u8]>, version: Version, out: &mut Vec<u8>) {
    match value {
        Some(bytes) => write_bulk(bytes, out),
        None => write_null(version, out),
    }
}

/// Appends the head of an array, which the replies in it follow.
pub fn write_array(length: usize, out: &mut Vec<u8>) {
    write_head(b'*', length, out);
}

/// Appends a number.
pub fn write_integer(number: i64, out: &mut Vec<u8>) {
    // Writing to a vector does not fail.
    let _ = write!(out, ":{number}\r\n");
}

/// Appends a simple string (`+`) or an error (`-`). A newline would end it, so it has spaces
/// instead.
pub fn write_line(kind: u8, text: &[u8], out: &mut Vec<u8>) {
    out.push(kind);
    out.extend(text.iter().map(|&byte| if matches!(byte, b'\r' | b'\n') { b' ' } else { byte }));
    out.extend_from_slice(b"\r\n");
}

fn write_null(version: Version, out: &mut Vec<u8>) {
    out.extend_from_slice(match version {
        Version::Two => b"$-1\r\n",
        Version::Three => b"_\r\n",
    });
}

fn write_head(kind: u8, length: usize, out: &mut Vec<u8>) {
    out.push(kind);
    if length < 10 {
        out.push(b'0' + length as u8);
    } else {
        let _ = write!(out, "{length}");
    }
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(reply: &Reply, version: Version) -> String {
        let mut out = Vec::new();
        reply.write(version, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn each_kind_has_its_form_in_both_versions() {
        let cases = [
            (Reply::Null, "$-1\r\n", "_\r\n"),
            (Reply::Integer(-12), ":-12\r\n", ":-12\r\n"),
            (text("0123456789"), "$10\r\n0123456789\r\n", "$10\r\n0123456789\r\n"),
            (ok(), "+OK\r\n", "+OK\r\n"),
            (failure("ERR a\r\nb"), "-ERR a  b\r\n", "-ERR a  b\r\n"),
            (Reply::Verbatim("ab".to_owned()), "$2\r\nab\r\n", "=6\r\ntxt:ab\r\n"),
            (Reply::Words(vec!["a"]), "*1\r\n+a\r\n", "~1\r\n+a\r\n"),
            (Reply::Array(vec![Reply::Null]), "*1\r\n$-1\r\n", "*1\r\n_\r\n"),
            (
                Reply::Map(vec![("a", Reply::Integer(1))]),
                "*2\r\n$1\r\na\r\n:1\r\n",
                "%1\r\n$1\r\na\r\n:1\r\n",
            ),
        ];
        for (reply, two, three) in cases {
            assert_eq!(written(&reply, Version::Two), two);
            assert_eq!(written(&reply, Version::Three), three);
        }
    }
}
