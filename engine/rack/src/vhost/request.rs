//! Messages of vhost-user. Numbers have the byte order of the machine.

use std::fs::File;

use super::{Outcome, Place};

/// Bytes of the header of a message.
pub const HEADER_BYTES: usize = 12;
/// Bytes after the header of the longest message.
pub const MAX_BODY: usize = 4096;
/// Descriptors of a message.
pub const MAX_FILES: usize = 32;

/// Feature of virtio that stands for vhost-user's own features.
pub const PROTOCOL_FEATURES: u64 = 1 << 30;
/// vhost-user's own features that the back end has. User-Mode Linux needs BACKEND_REQ.
pub const OWN_FEATURES: u64 = REPLY_ACK | 1 << 5 | 1 << 9;
/// The front end may ask for an acknowledgement of a message.
pub const REPLY_ACK: u64 = 1 << 3;

const VERSION: u32 = 1;
const VERSION_MASK: u32 = 3;
const REPLY: u32 = 4;
const NEED_REPLY: u32 = 8;
/// In the number of a queue: the message has no descriptor.
const NO_FILE: u64 = 0x100;

/// The header of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Kind of the message.
    pub code: u32,
    flags: u32,
    /// Bytes after the header.
    pub size: usize,
}

impl Header {
    /// Reads the header of a request.
    pub fn parse(bytes: &[u8; HEADER_BYTES]) -> Outcome<Self> {
        let word = |at: usize| u32::from_ne_bytes([0, 1, 2, 3].map(|byte| bytes[at + byte]));
        let header = Self { code: word(0), flags: word(4), size: word(8) as usize };
        if header.flags & VERSION_MASK != VERSION || header.flags & REPLY != 0 {
            return Err(format!("a message has the flags {:#x}", header.flags));
        }
        if header.size > MAX_BODY {
            return Err(format!("a message has {} bytes", header.size));
        }
        Ok(header)
    }

    /// Whether the front end asks for an acknowledgement.
    pub fn needs_reply(&self) -> bool {
        self.flags & NEED_REPLY != 0
    }

    /// The bytes of a reply to this message.
    pub fn reply(&self, body: &[u8]) -> Vec<u8> {
        let words = [self.code, VERSION | REPLY, body.len() as u32];
        words.iter().flat_map(|word| word.to_ne_bytes()).chain(body.iter().copied()).collect()
    }
}

/// What a front end asks for.
#[derive(Debug)]
pub enum Request {
    /// Nothing that the back end has to do.
    Ignored,
    GetFeatures,
    SetFeatures(u64),
    GetOwnFeatures,
    SetOwnFeatures(u64),
    /// A socket for requests of the back end.
    SetChannel(File),
    SetMemory(Vec<(Place, File)>),
    SetSize {
        queue: u32,
        size: u32,
    },
    SetNext {
        queue: u32,
        next: u32,
    },
    /// Addresses of descriptor table, available ring and used ring.
    SetAddresses {
        queue: u32,
        addresses: [u64; 3],
    },
    SetKick {
        queue: u32,
        file: File,
    },
    SetCall {
        queue: u32,
        file: Option<File>,
    },
    SetError {
        queue: u32,
        file: Option<File>,
    },
    Enable {
        queue: u32,
        on: bool,
    },
    /// Stops a queue and returns its index.
    Halt {
        queue: u32,
    },
    /// Reads the device configuration; the head of the message stands before the bytes.
    GetConfig {
        offset: u32,
        length: u32,
        head: Vec<u8>,
    },
    Reset,
}

impl Request {
    /// Reads a message. It may be longer than its content.
    pub fn parse(header: &Header, body: &[u8], files: Vec<File>) -> Outcome<Self> {
        let mut it = Reader { body, files: files.into_iter() };
        Ok(match header.code {
            1 => Self::GetFeatures,
            2 => Self::SetFeatures(it.long()?),
            4 | 34 => Self::Reset,
            5 => {
                let count = it.word()? as usize;
                it.word()?;
                if !(1..=MAX_FILES).contains(&count) {
                    return Err(format!("a memory table has {count} regions"));
                }
                Self::SetMemory((0..count).map(|_| it.region()).collect::<Outcome<_>>()?)
            }
            8 => Self::SetSize { queue: it.word()?, size: it.word()? },
            9 => {
                let (queue, flags) = (it.word()?, it.word()?);
                if flags != 0 {
                    return Err("a log of written memory is not offered".to_owned());
                }
                let [descriptors, used, available] = [it.long()?, it.long()?, it.long()?];
                Self::SetAddresses { queue, addresses: [descriptors, available, used] }
            }
            10 => Self::SetNext { queue: it.word()?, next: it.word()? },
            11 => Self::Halt { queue: it.word()? },
            12 => {
                let (queue, file) = it.signal()?;
                let file = file.ok_or("a queue without notifications is not offered")?;
                Self::SetKick { queue, file }
            }
            13 => {
                let (queue, file) = it.signal()?;
                Self::SetCall { queue, file }
            }
            14 => {
                let (queue, file) = it.signal()?;
                Self::SetError { queue, file }
            }
            15 => Self::GetOwnFeatures,
            16 => Self::SetOwnFeatures(it.long()?),
            18 => Self::Enable { queue: it.word()?, on: it.word()? != 0 },
            21 => Self::SetChannel(it.file()?),
            24 => {
                let (offset, length, _) = (it.word()?, it.word()?, it.word()?);
                Self::GetConfig { offset, length, head: body[..12].to_vec() }
            }
            // SET_OWNER, and SET_CONFIG, all of whose fields are read-only.
            3 | 25 => Self::Ignored,
            code => return Err(format!("the message {code} is not offered")),
        })
    }
}

struct Reader<'a> {
    body: &'a [u8],
    files: std::vec::IntoIter<File>,
}

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Outcome<[u8; N]> {
        let (bytes, rest) = self.body.split_first_chunk().ok_or("a message is too short")?;
        self.body = rest;
        Ok(*bytes)
    }

    fn word(&mut self) -> Outcome<u32> {
        self.take().map(u32::from_ne_bytes)
    }

    fn long(&mut self) -> Outcome<u64> {
        self.take().map(u64::from_ne_bytes)
    }

    fn file(&mut self) -> Outcome<File> {
        Ok(self.files.next().ok_or("a message has too few descriptors")?)
    }

    fn region(&mut self) -> Outcome<(Place, File)> {
        let [guest, size, user, offset] = [self.long()?, self.long()?, self.long()?, self.long()?];
        Ok((Place { guest, user, size, offset }, self.file()?))
    }

    /// A queue, and the descriptor of a signal.
    fn signal(&mut self) -> Outcome<(u32, Option<File>)> {
        let value = self.long()?;
        let file = if value & NO_FILE == 0 { Some(self.file()?) } else { None };
        Ok((value as u8 as u32, file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(code: u32, flags: u32, size: u32) -> Outcome<Header> {
        let bytes: Vec<u8> = [code, flags, size].iter().flat_map(|it| it.to_ne_bytes()).collect();
        Header::parse(bytes[..].try_into().unwrap())
    }

    fn parse(code: u32, words: &[u32], files: usize) -> Outcome<Request> {
        let body: Vec<u8> = words.iter().flat_map(|it| it.to_ne_bytes()).collect();
        let files = (0..files).map(|_| File::open("/dev/null").unwrap()).collect();
        Request::parse(&header(code, 1, body.len() as u32).unwrap(), &body, files)
    }

    #[test]
    fn headers_of_other_versions_and_replies_are_refused() {
        assert!(header(1, 1, 4096).is_ok());
        assert!(header(1, 9, 0).unwrap().needs_reply());
        for (flags, size) in [(0, 0), (2, 0), (5, 0), (1, 4097), (1, u32::MAX)] {
            assert!(header(1, flags, size).is_err());
        }
    }

    #[test]
    fn a_memory_table_may_have_room_for_more_regions() {
        let mut table = vec![1, 0];
        table.extend([0, 1, 0x1000, 0, 0, 2, 0x3000, 0]);
        table.extend([7; 8]);
        let Ok(Request::SetMemory(regions)) = parse(5, &table, 1) else { panic!() };
        let place = Place { guest: 1 << 32, size: 0x1000, user: 2 << 32, offset: 0x3000 };
        assert_eq!(regions.iter().map(|(place, _)| *place).collect::<Vec<_>>(), [place]);
        for count in [0, 2, 3, 33, u32::MAX] {
            table[0] = count;
            assert!(parse(5, &table, 1).is_err(), "{count} regions, one descriptor");
        }
    }

    #[test]
    fn short_and_unknown_messages_are_refused() {
        for code in (0..100).filter(|code| ![1, 3, 4, 15, 25, 34].contains(code)) {
            assert!(parse(code, &[], 0).is_err(), "{code}");
        }
        assert!(parse(9, &[0, 1, 0, 0, 0, 0, 0, 0, 0, 0], 0).is_err(), "a log");
        assert!(parse(12, &[0x100, 0], 0).is_err(), "no notifications");
        assert!(matches!(parse(13, &[0x101, 0], 0), Ok(Request::SetCall { queue: 1, file: None })));
        assert!(parse(13, &[1, 0], 0).is_err(), "its descriptor is missing");
    }
}
