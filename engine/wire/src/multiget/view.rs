//! Checking and reading multiget frames without copying them.

use std::fmt;

use super::layout::{Fields, ON_BEHALF_LEN};
use super::{Answer, Header, MAX_KEY, MAX_KEYS, MIN_KEY, MULTIGET_PORT, OnBehalf, Op};
use crate::view::check_outer;
use crate::{Ip, KV_OFFSET, MAX_VALUE};

/// The reason why a multiget frame is malformed. Nodes count and drop such frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malformed {
    /// A fault in Ethernet, IPv4 or UDP.
    Outer(crate::Malformed),
    /// The frame is shorter than its header.
    CutShort,
    /// No such operation.
    Op(u8),
    /// A key that is too short, too long or truncated, or more than [`MAX_KEYS`] keys.
    Keys,
    /// NUMKEY and STARTIDX denote keys that are not in the frame.
    Range,
    /// A value that is too long or truncated.
    Value,
    /// An unknown answer, or none.
    Answer,
    /// Bytes after the end.
    Excess,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Outer(outer) => outer.fmt(f),
            Self::CutShort => write!(f, "the frame is shorter than the multiget header"),
            Self::Op(code) => write!(f, "there is no multiget operation 0x{code:02x}"),
            Self::Keys => write!(
                f,
                "a multiget has 1 to {MAX_KEYS} complete keys of {MIN_KEY} to {MAX_KEY} bytes"
            ),
            Self::Range => write!(f, "NUMKEY and STARTIDX name keys that are not in the frame"),
            Self::Value => write!(f, "a value is truncated or longer than {MAX_VALUE} bytes"),
            Self::Answer => write!(f, "the reply has no known result of the request"),
            Self::Excess => write!(f, "there are bytes after the end of the multiget"),
        }
    }
}

impl std::error::Error for Malformed {}

/// A checked frame.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    source: Ip,
    destination: Ip,
    header: Header,
    /// The keys of a request, or the entries of a reply.
    list: &'a [u8],
    keys: u8,
    value: &'a [u8],
    on_behalf: Option<OnBehalf>,
    answer: Answer,
}

impl<'a> View<'a> {
    /// Checks a frame with these header fields. Ethernet padding after the IP packet is ignored.
    ///
    /// # Errors
    ///
    /// The reason why the frame is malformed. No input panics.
    pub fn parse(frame: &'a [u8], fields: impl Into<Fields>) -> Result<Self, Malformed> {
        let fields = fields.into();
        if frame.len() < KV_OFFSET {
            return Err(Malformed::CutShort);
        }
        let outer = check_outer(frame, MULTIGET_PORT).map_err(Malformed::Outer)?;
        let (source, destination, end) = outer;
        let payload = &frame[KV_OFFSET..end];
        let Some((header, rest)) = payload.split_at_checked(fields.header_len()) else {
            return Err(Malformed::CutShort);
        };
        let header = Header::read(header, fields).map_err(Malformed::Op)?;
        let view = Self {
            source,
            destination,
            header,
            list: rest,
            keys: 0,
            value: &[],
            on_behalf: None,
            answer: Answer::Ok,
        };
        if header.reply { view.with_entries() } else { view.with_keys() }
    }

    fn with_keys(mut self) -> Result<Self, Malformed> {
        let mut rest = self.list;
        let several = self.header.op == Op::Mget;
        let most = if several { MAX_KEYS } else { 1 };
        while !rest.is_empty() && usize::from(self.keys) < most {
            (_, rest) = take_key(rest).ok_or(Malformed::Keys)?;
            self.keys += 1;
        }
        if several && !rest.is_empty() {
            return Err(Malformed::Keys);
        }
        self.list = &self.list[..self.list.len() - rest.len()];
        if self.header.op == Op::Put {
            (self.value, rest) = take_value(rest).ok_or(Malformed::Value)?;
        }
        if !self.header.op.reads() && rest.len() == ON_BEHALF_LEN {
            self.on_behalf = Some(OnBehalf {
                client: u16::from_be_bytes([rest[0], rest[1]]),
                request: u32::from_be_bytes([rest[2], rest[3], rest[4], rest[5]]),
            });
            rest = &[];
        }
        if !rest.is_empty() {
            return Err(Malformed::Excess);
        }
        let Header { numkey, startidx, .. } = self.header;
        let end = usize::from(startidx) + usize::from(numkey);
        if numkey == 0 || end > usize::from(self.keys) {
            return Err(Malformed::Range);
        }
        Ok(self)
    }

    fn with_entries(mut self) -> Result<Self, Malformed> {
        let (code, mut rest) = self.list.split_first().ok_or(Malformed::Answer)?;
        self.answer = Answer::from_code(*code).ok_or(Malformed::Answer)?;
        self.list = rest;
        let Header { numkey, startidx, op, .. } = self.header;
        if numkey == 0 || usize::from(startidx) + usize::from(numkey) > MAX_KEYS {
            return Err(Malformed::Range);
        }
        if self.answer == Answer::Ok {
            self.keys = numkey;
            for _ in 0..numkey {
                (_, rest) = take_entry(rest, op.reads()).ok_or(Malformed::Value)?;
            }
        }
        if rest.is_empty() { Ok(self) } else { Err(Malformed::Excess) }
    }

    /// Source address.
    pub fn source(&self) -> Ip {
        self.source
    }

    /// Destination address.
    pub fn destination(&self) -> Ip {
        self.destination
    }

    /// The header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// All keys of a request, including those of other key groups; none in a reply.
    pub fn keys(&self) -> Keys<'a> {
        Keys { rest: if self.header.reply { &[] } else { self.list } }
    }

    /// The requested keys: NUMKEY from STARTIDX on, at least one; none in a reply.
    pub fn asked(&self) -> impl Iterator<Item = &'a [u8]> + Clone {
        let Header { startidx, numkey, .. } = self.header;
        self.keys().skip(startidx.into()).take(numkey.into())
    }

    /// The value of a PUT.
    pub fn value(&self) -> &'a [u8] {
        self.value
    }

    /// The client's request for which a coordinator has sent this write.
    pub fn on_behalf(&self) -> Option<OnBehalf> {
        self.on_behalf
    }

    /// The result of the request, in a reply.
    pub fn answer(&self) -> Answer {
        self.answer
    }

    /// The entries of a reply: NUMKEY, or none if the answer is not `Ok`.
    pub fn entries(&self) -> Entries<'a> {
        let answered = self.header.reply && self.answer == Answer::Ok;
        Entries { rest: if answered { self.list } else { &[] }, values: self.header.op.reads() }
    }
}

/// The keys of a request.
#[derive(Debug, Clone)]
pub struct Keys<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Keys<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (key, rest) = take_key(self.rest)?;
        self.rest = rest;
        Some(key)
    }
}

/// The part of a reply about one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The key.
    pub key: &'a [u8],
    /// Whether the key was found; always true for writes.
    pub found: bool,
    /// The value that was read.
    pub value: &'a [u8],
}

/// The entries of a reply.
#[derive(Debug, Clone)]
pub struct Entries<'a> {
    rest: &'a [u8],
    values: bool,
}

impl<'a> Iterator for Entries<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        let (entry, rest) = take_entry(self.rest, self.values)?;
        self.rest = rest;
        Some(entry)
    }
}

fn take_key(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first()?;
    let length = usize::from(*length);
    if !(MIN_KEY..=MAX_KEY).contains(&length) {
        return None;
    }
    rest.split_at_checked(length)
}

fn take_value(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    let length = usize::from(u16::from_be_bytes(*length));
    if length > MAX_VALUE {
        return None;
    }
    rest.split_at_checked(length)
}

fn take_entry(bytes: &[u8], with_value: bool) -> Option<(Entry<'_>, &[u8])> {
    let (key, rest) = take_key(bytes)?;
    let (status, rest) = rest.split_first()?;
    let found = match status {
        0 => true,
        1 => false,
        _ => return None,
    };
    let (value, rest) = if with_value { take_value(rest)? } else { (&[][..], rest) };
    Some((Entry { key, found, value }, rest))
}
