//! One packet on its way through the pipeline.

use netkv_ir::Place;

use crate::bits::{BitWriter, mask};
use crate::executor::Frame;
use crate::expr::State;
use crate::requests::Requests;

/// State of one packet that an executor works on.
#[derive(Debug, Clone, Default)]
pub struct Packet {
    /// The IR's state area.
    pub state: State,
    /// The bytes that came in.
    pub bytes: Vec<u8>,
    /// Bits parsed so far.
    pub cursor: usize,
    /// Bytes of the packet when it entered ingress: what counters count.
    pub ingress_length: u32,
    /// `packet_length` that egress sees: the ingress length plus and minus `setValid` and
    /// `setInvalid`, as bmv2 keeps it.
    pub length: u32,
    /// Time of the caller in nanoseconds.
    pub now_ns: u64,
    /// What the end of the pipeline has to do.
    pub requests: Requests,
    /// Words of the digest's members one after the other, taken at the call.
    pub digest_values: Vec<u64>,
    /// What the deparser has written.
    pub(crate) deparsed: BitWriter,
    /// Input of the hash or checksum at work.
    pub(crate) hash_input: BitWriter,
    /// Port on which the frame (or its ancestor) came in.
    pub port: u16,
    /// Port on which it leaves unless egress drops it; what egress itself writes there is too late.
    pub egress_port: u16,
    /// Pipeline whose ingress it takes or has taken last.
    pub(crate) pipeline: usize,
    /// Times that this packet or its ancestors went back to ingress or egress.
    pub(crate) passes: u32,
}

impl Packet {
    /// Makes it a fresh packet with these bytes and all state 0. Keeps the storage.
    pub(crate) fn reset(&mut self, state_words: usize, bytes: &[u8], now_ns: u64) {
        self.state.words.clear();
        self.state.words.resize(state_words, 0);
        self.state.scratch.clear();
        self.state.packet_length = bytes.len() as u64;
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        self.cursor = 0;
        self.ingress_length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        self.length = self.ingress_length;
        self.now_ns = now_ns;
        self.requests = Requests::default();
        self.digest_values.clear();
        self.port = 0;
        self.egress_port = 0;
        self.pipeline = 0;
        self.passes = 0;
    }

    /// Makes it the packet of a frame that an executor has taken to the end of a pipeline. The
    /// state is the executor's to fill, as are the fields that say how far the packet is.
    pub fn take_over(&mut self, frame: Frame<'_>) {
        self.state.scratch.clear();
        self.state.packet_length = frame.bytes.len() as u64;
        self.bytes.clear();
        self.bytes.extend_from_slice(frame.bytes);
        self.ingress_length = u32::try_from(frame.bytes.len()).unwrap_or(u32::MAX);
        self.now_ns = frame.now_ns;
        self.digest_values.clear();
        self.port = frame.port;
        self.egress_port = 0;
        self.passes = 0;
    }

    /// Appends whole bytes to what the deparser has written.
    pub fn append_deparsed(&mut self, bytes: &[u8]) {
        self.deparsed.grow(bytes.len()).copy_from_slice(bytes);
    }

    /// Makes it a copy of `other`, requests left out. Keeps the storage.
    pub(crate) fn copy_from(&mut self, other: &Packet) {
        self.state.words.clone_from(&other.state.words);
        self.state.scratch.clear();
        self.state.packet_length = other.state.packet_length;
        self.bytes.clone_from(&other.bytes);
        self.cursor = other.cursor;
        self.ingress_length = other.ingress_length;
        self.length = other.length;
        self.now_ns = other.now_ns;
        self.requests = other.requests.for_copy();
        self.digest_values.clear();
        self.port = other.port;
        self.egress_port = other.egress_port;
        self.pipeline = other.pipeline;
        self.passes = other.passes;
    }

    /// The low 64 bits of a place.
    pub(crate) fn get(&self, place: Place) -> u64 {
        self.state.words[place.word as usize]
    }

    /// Sets a place to a number, cut to its width.
    pub(crate) fn set(&mut self, place: Place, value: u64) {
        self.state.words[place.word as usize] = value & mask(place.width);
        let rest = place.word as usize + 1..(place.word + place.words()) as usize;
        self.state.words[rest].fill(0);
    }

    /// Bits left to parse.
    pub(crate) fn bits_left(&self) -> usize {
        self.bytes.len() * 8 - self.cursor
    }
}
