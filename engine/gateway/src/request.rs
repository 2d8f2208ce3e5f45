//! The parser of a connection: received bytes become requests, within limits.
//!
//! Rules
//! -----
//! 1. Requests and errors do not depend on where the received bytes were split.
//! 2. Memory is taken for bytes that have arrived, not for lengths that were announced.
//! 3. All requests before a malformed one are returned; then the error, again and again: the rest
//!    of the bytes cannot be parsed.

use crate::foreign;
use crate::inline;
use crate::text;
use crate::words::{Range, Words, integer};

/// Bytes of one request.
pub const MAX_REQUEST: usize = 2 << 20;
/// Bytes of one word. The limit of values is much lower and has an error message of its own.
pub const MAX_WORD: usize = 1 << 20;
/// Words of one request.
const MAX_WORDS: usize = 256 << 10;
/// Bytes of an inline command.
const MAX_INLINE: usize = 64 << 10;
/// Bytes of a line that announces a length.
const MAX_LINE: usize = 32;
/// Memory that an empty buffer keeps.
const MAX_KEPT: usize = 128 << 10;

/// Why the bytes of a client are not requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProtocolError {
    /// They are malformed; the text continues a sentence.
    Malformed(String),
    /// They are of another protocol.
    Foreign,
}

/// What the bytes at the beginning of the buffer are.
#[derive(PartialEq)]
enum Found {
    Incomplete,
    /// A request without words, which is ignored.
    Empty,
    Request,
}

/// The parser of one connection: see the module.
#[derive(Debug, Default)]
pub struct Requests {
    buffer: Vec<u8>,
    /// Where the first request in the buffer begins.
    start: usize,
    /// Position up to which the buffer was parsed.
    at: usize,
    /// The words of the first request, relative to `start`, or to `line`.
    words: Vec<Range>,
    /// Words that are missing; `None` before the line that announces them.
    missing: Option<usize>,
    /// Words of an inline command, without quotes.
    line: Vec<u8>,
    /// Whether the request that was returned is an inline command.
    is_inline: bool,
    /// Whether the first request was returned.
    returned: bool,
    error: Option<ProtocolError>,
}

impl Requests {
    /// Adds received bytes.
    pub fn feed(&mut self, data: &[u8]) {
        if self.error.is_some() {
            return;
        }
        self.forget_returned();
        if self.start == self.buffer.len() {
            self.buffer.clear();
            self.buffer.shrink_to(MAX_KEPT);
        } else {
            self.buffer.drain(..self.start);
        }
        self.at -= self.start;
        self.start = 0;
        self.buffer.extend_from_slice(data);
    }

    /// The next request; `None` if it is incomplete.
    ///
    /// # Errors
    ///
    /// See rule 3.
    pub fn next_request(&mut self) -> Result<Option<Words<'_>>, ProtocolError> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        self.forget_returned();
        while let Some(&first) = self.buffer.get(self.start) {
            self.is_inline = first != b'*';
            let found = if foreign::begins_foreign(first) {
                Err(ProtocolError::Foreign)
            } else if self.is_inline {
                self.inline()
            } else {
                self.array()
            };
            match found {
                Ok(Found::Incomplete) => return Ok(None),
                Ok(Found::Empty) => self.start = self.at,
                Ok(Found::Request) => {
                    self.returned = true;
                    break;
                }
                Err(error) => {
                    self.error = Some(error.clone());
                    return Err(error);
                }
            }
        }
        let bytes = if self.is_inline { &self.line } else { &self.buffer[self.start..] };
        Ok(self.returned.then_some(Words { bytes, ranges: &self.words, inline: self.is_inline }))
    }

    fn forget_returned(&mut self) {
        if self.returned {
            self.returned = false;
            self.start = self.at;
        }
    }

    fn inline(&mut self) -> Result<Found, ProtocolError> {
        let end = self.buffer[self.at..].iter().position(|&byte| byte == b'\n');
        let end = end.map(|length| self.at + length);
        if end.unwrap_or(self.buffer.len()) - self.start > MAX_INLINE {
            return Err(malformed("too big inline request"));
        }
        let Some(end) = end else {
            self.at = self.buffer.len();
            return Ok(Found::Incomplete);
        };
        self.words.clear();
        self.line.clear();
        let whole = inline::split(&self.buffer[self.start..end], |word| {
            self.words.push((self.line.len() as u32, word.len() as u32));
            self.line.extend_from_slice(word);
        });
        self.at = end + 1;
        match whole {
            false => Err(malformed("unbalanced quotes in request")),
            true if self.words.is_empty() => Ok(Found::Empty),
            true => Ok(Found::Request),
        }
    }

    fn array(&mut self) -> Result<Found, ProtocolError> {
        let mut missing = match self.missing {
            Some(missing) => missing,
            None => match self.length(b'*', "invalid multibulk length", MAX_WORDS)? {
                None => return Ok(Found::Incomplete),
                Some(None | Some(0)) => return Ok(Found::Empty),
                Some(Some(words)) => {
                    self.words.clear();
                    words
                }
            },
        };
        while missing > 0 {
            // A length is parsed again when more bytes arrive: one length for each arrival.
            self.missing = Some(missing);
            let head = self.at;
            let size = match self.length(b'$', "invalid bulk length", MAX_WORD)? {
                None => return Ok(Found::Incomplete),
                Some(None) => return Err(malformed("invalid bulk length")),
                Some(Some(size)) => size,
            };
            let end = self.at + size;
            if end + 2 - self.start > MAX_REQUEST {
                return Err(ProtocolError::Malformed(format!(
                    "a request may have {MAX_REQUEST} bytes"
                )));
            }
            let Some(after) = self.buffer.get(end..end + 2) else {
                self.at = head;
                return Ok(Found::Incomplete);
            };
            if after != b"\r\n" {
                return Err(malformed("a bulk string is longer than announced"));
            }
            self.words.push(((self.at - self.start) as u32, size as u32));
            self.at = end + 2;
            missing -= 1;
        }
        self.missing = None;
        Ok(Found::Request)
    }

    /// Parses and skips a line such as `$5`: `None` if it is incomplete, `Some(None)` for a
    /// negative length.
    fn length(
        &mut self,
        prefix: u8,
        invalid: &str,
        maximum: usize,
    ) -> Result<Option<Option<usize>>, ProtocolError> {
        let rest = &self.buffer[self.at..];
        let Some(&first) = rest.first() else { return Ok(None) };
        if first != prefix {
            return Err(ProtocolError::Malformed(format!(
                "expected '{}', got {}",
                char::from(prefix),
                text::word(&[first])
            )));
        }
        let invalid = || malformed(invalid);
        let line = &rest[..rest.len().min(MAX_LINE)];
        let Some(end) = line.windows(2).position(|pair| pair == b"\r\n") else {
            return if line.len() == MAX_LINE { Err(invalid()) } else { Ok(None) };
        };
        let length = match integer(&line[1..end]) {
            Some(length) if length < 0 => None,
            Some(length) if length <= maximum as i64 => Some(length as usize),
            _ => return Err(invalid()),
        };
        self.at += end + 2;
        Ok(Some(length))
    }
}

fn malformed(text: &str) -> ProtocolError {
    ProtocolError::Malformed(text.to_owned())
}

#[cfg(test)]
pub(crate) mod tests;
