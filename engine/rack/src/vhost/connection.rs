//! A connection of a front end: bytes and descriptors in, messages out.

use std::fs::File;
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::unix::net::UnixStream;

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, recvmsg, send};

use super::Outcome;
use super::request::{HEADER_BYTES, Header, MAX_BODY, MAX_FILES, Request};

/// What a connection has received.
pub enum Received {
    /// A message, which the back end may have to answer.
    Message(Header, Outcome<Request>),
    /// The rest of a message is still to come.
    Nothing,
    /// The front end is gone.
    End,
}

/// A connection that never blocks.
pub struct Connection {
    /// The socket.
    pub stream: UnixStream,
    header: Option<Header>,
    /// The part of a header or a body that has come.
    bytes: Vec<u8>,
    files: Vec<File>,
}

impl Connection {
    /// A new connection.
    pub fn new(stream: UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self { stream, header: None, bytes: Vec::with_capacity(MAX_BODY), files: Vec::new() })
    }

    /// Receives the next message.
    ///
    /// # Errors
    ///
    /// The bytes are no message; the connection cannot be used any more.
    pub fn receive(&mut self) -> Outcome<Received> {
        loop {
            // Descriptors come with the first byte of a message, so none is read beyond its end.
            let end = self.header.map_or(HEADER_BYTES, |header| header.size);
            if self.bytes.len() < end {
                match self.fill(end) {
                    Ok(0) => return Ok(Received::End),
                    Ok(_) => continue,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        return Ok(Received::Nothing);
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(_) => return Ok(Received::End),
                }
            }
            if let Some(header) = self.header.take() {
                let files = std::mem::take(&mut self.files);
                let request = Request::parse(&header, &self.bytes, files);
                self.bytes.clear();
                return Ok(Received::Message(header, request));
            }
            if let Some(bytes) = self.bytes.first_chunk() {
                self.header = Some(Header::parse(bytes)?);
            }
            self.bytes.clear();
        }
    }

    /// Sends a reply.
    pub fn send(&self, bytes: &[u8]) -> Outcome<()> {
        match send(&self.stream, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Ok(length) if length == bytes.len() => Ok(()),
            _ => Err("it does not take replies".to_owned()),
        }
    }

    /// Reads bytes up to `end`, and their descriptors; 0: the front end is gone.
    fn fill(&mut self, end: usize) -> io::Result<usize> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FILES))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let start = self.bytes.len();
        self.bytes.resize(end, 0);
        let mut slices = [IoSliceMut::new(&mut self.bytes[start..])];
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let done = recvmsg(&self.stream, &mut slices, &mut ancillary, flags);
        let length = done.as_ref().map_or(0, |received| received.bytes);
        self.bytes.truncate(start + length);
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(files) = message {
                self.files.extend(files.map(File::from).take(MAX_FILES));
            }
        }
        done?;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn message(code: u32, body: &[u8]) -> Vec<u8> {
        let words = [code, 1, body.len() as u32];
        words.iter().flat_map(|word| word.to_ne_bytes()).chain(body.iter().copied()).collect()
    }

    #[test]
    fn messages_are_cut_wherever_they_were_split() {
        let (mut theirs, ours) = UnixStream::pair().unwrap();
        let mut connection = Connection::new(ours).unwrap();
        let mut bytes = message(2, &77u64.to_ne_bytes());
        bytes.extend(message(1, &[]));
        bytes.extend(message(16, &[1; 8]));
        let mut codes = Vec::new();
        for byte in bytes {
            theirs.write_all(&[byte]).unwrap();
            while let Received::Message(header, request) = connection.receive().unwrap() {
                codes.push((header.code, request.is_ok()));
            }
        }
        assert_eq!(codes, [(2, true), (1, true), (16, true)]);
        drop(theirs);
        assert!(matches!(connection.receive(), Ok(Received::End)));
    }

    #[test]
    fn other_bytes_end_a_connection() {
        let (mut theirs, ours) = UnixStream::pair().unwrap();
        let mut connection = Connection::new(ours).unwrap();
        theirs.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        assert!(connection.receive().is_err());
    }
}
