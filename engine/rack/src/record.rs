//! Records of the frames at the ports of a switch node, in pcapng (Wireshark, tcpdump).
//!
//! Each port has a file, with both directions. A record has the time in nanoseconds and the
//! direction of the frame (into the switch: inbound).

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::clock::unix_nanos;

/// Direction of a frame at a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passage {
    /// Into the switch.
    In = 1,
    /// Out of it.
    Out = 2,
}

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;
const ETHERNET: u32 = 1;
const OPTION_NAME: u16 = 2;
const OPTION_RESOLUTION: u16 = 9;
const OPTION_FLAGS: u16 = 2;

/// Files that are open, in the order of the ports.
pub struct Recorder {
    /// `None` after a write has failed (e.g. the disk is full).
    files: Vec<Option<BufWriter<File>>>,
    block: Vec<u8>,
}

impl Recorder {
    /// Creates `port-N.pcapng` for each port number, and the directory if there is none.
    ///
    /// # Errors
    ///
    /// A sentence: a file cannot be created.
    pub fn create(directory: &Path, ports: impl Iterator<Item = u16>) -> io::Result<Self> {
        let describe = |error: io::Error| {
            let text = format!("cannot record frames in {}: {error}", directory.display());
            io::Error::new(error.kind(), text)
        };
        fs::create_dir_all(directory).map_err(describe)?;
        let mut recorder = Self { files: Vec::new(), block: Vec::new() };
        for port in ports {
            let path = directory.join(format!("port-{port}.pcapng"));
            recorder.files.push(Some(BufWriter::new(File::create(path).map_err(describe)?)));
            recorder.head(recorder.files.len() - 1, port).map_err(describe)?;
        }
        Ok(recorder)
    }

    fn head(&mut self, index: usize, port: u16) -> io::Result<()> {
        self.begin(SECTION);
        self.words(&[0x1a2b_3c4d, 1, u32::MAX, u32::MAX]); // version 1.0, of unknown length
        self.end(index)?;
        self.begin(INTERFACE);
        self.words(&[ETHERNET, 0]);
        self.option(OPTION_NAME, format!("port {port}").as_bytes());
        self.option(OPTION_RESOLUTION, &[9]);
        self.option(0, &[]);
        self.end(index)?;
        self.flush();
        Ok(())
    }

    /// Writes a frame; returns false if that failed.
    pub fn frame(&mut self, index: usize, passage: Passage, frame: &[u8]) -> bool {
        if self.files[index].is_none() {
            return false;
        }
        let (now, length) = (unix_nanos() as u64, frame.len() as u32);
        self.begin(PACKET);
        self.words(&[0, (now >> 32) as u32, now as u32, length, length]);
        self.bytes(frame);
        self.option(OPTION_FLAGS, &(passage as u32).to_le_bytes());
        self.option(0, &[]);
        let written = self.end(index).is_ok();
        if !written {
            self.files[index] = None;
        }
        written
    }

    /// Flushes all files.
    pub fn flush(&mut self) {
        for file in &mut self.files {
            if file.as_mut().is_some_and(|file| file.flush().is_err()) {
                *file = None;
            }
        }
    }

    fn begin(&mut self, kind: u32) {
        self.block.clear();
        self.words(&[kind, 0]); // the length is set at the end
    }

    fn words(&mut self, words: &[u32]) {
        self.block.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    }

    /// Appends bytes, padded to a whole word.
    fn bytes(&mut self, bytes: &[u8]) {
        self.block.extend_from_slice(bytes);
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        self.block.extend(code.to_le_bytes());
        self.block.extend((value.len() as u16).to_le_bytes());
        self.bytes(value);
    }

    fn end(&mut self, index: usize) -> io::Result<()> {
        let length = self.block.len() as u32 + 4;
        self.words(&[length]);
        self.block[4..8].copy_from_slice(&length.to_le_bytes());
        match &mut self.files[index] {
            Some(file) => file.write_all(&self.block),
            None => Ok(()),
        }
    }
}
