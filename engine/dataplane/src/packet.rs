//! A packet in the switch, with the state that the program works on.

use netkv_ir::Place;

use crate::bits::{BitWriter, mask};
use crate::frame::Frame;
use crate::requests::{NO_LIMIT, Requests};

/// Maximum number of times that a packet is resubmitted, recirculated or cloned in egress.
pub const MAX_PASSES: u32 = 1_000;

/// Maximum number of passes of a received frame and all its copies together.
pub const MAX_PASSES_PER_FRAME: u32 = 65_536;

/// The state area of a packet, and the scratch stack for wide intermediate values.
#[derive(Debug, Clone, Default)]
pub struct State {
    /// The state area of the IR.
    pub words: Vec<u64>,
    /// Wide intermediate values; empty between operations.
    pub(crate) scratch: Vec<u64>,
    /// Result of `packet.length()`, in bytes.
    pub(crate) packet_length: u64,
}

/// A packet and its metadata.
#[derive(Debug, Clone, Default)]
pub struct Packet {
    /// State area and scratch stack.
    pub state: State,
    /// Received bytes.
    pub bytes: Vec<u8>,
    /// Position of the parser, in bits.
    pub cursor: usize,
    /// Length in bytes at the start of ingress, which counters add.
    pub ingress_length: u32,
    /// `packet_length` in egress, in bytes. As in bmv2, `setValid` and `setInvalid` change it.
    pub length: u32,
    /// Time on the caller's clock, in nanoseconds.
    pub now_ns: u64,
    /// Actions that the switch executes at the end of the pipeline.
    pub requests: Requests,
    /// Concatenated words of the digest's members, with their values at the call.
    pub digest_values: Vec<u64>,
    /// Output of the deparser.
    pub(crate) deparsed: BitWriter,
    /// Input of the current hash or checksum.
    pub(crate) hash_input: BitWriter,
    /// Port that received the frame, or the frame of which this packet is a copy.
    pub port: u16,
    /// Port that transmits the packet, unless egress drops it. Egress cannot change it.
    pub egress_port: u16,
    /// Pipeline of the current or last ingress.
    pub(crate) pipeline: usize,
    /// Number of times that this packet, or one that it is a copy of, was sent back to ingress or
    /// cloned in egress.
    pub(crate) passes: u32,
    /// The switch that has handed over the packet, see [`crate::Switch::take_crossing`].
    pub(crate) switch: u64,
    /// The epoch in which it was handed over, see [`crate::InFlight`].
    pub(crate) epoch: u64,
}

impl Packet {
    /// Resets it to a packet with these bytes, and all state 0. Keeps the allocations.
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

    /// Resets it to a packet of a frame that an executor has processed up to the end of a pipeline.
    /// The executor sets the state and all fields that this function does not set.
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

    /// Number of times that this packet, or one that it is a copy of, was sent back to ingress or
    /// cloned in egress.
    pub fn passes(&self) -> u32 {
        self.passes
    }

    /// Counts further passes, if an executor has processed them.
    pub fn count_passes(&mut self, passes: u32) {
        self.passes += passes;
    }

    /// Appends whole bytes to the output of the deparser.
    pub fn append_deparsed(&mut self, bytes: &[u8]) {
        self.deparsed.grow(bytes.len()).copy_from_slice(bytes);
    }

    /// Makes it a copy of `other` without its requests. Keeps the allocations.
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

    /// Sets a place to a number, truncated to the width of the place.
    pub(crate) fn set(&mut self, place: Place, value: u64) {
        self.state.words[place.word as usize] = value & mask(place.width);
        let rest = place.word as usize + 1..(place.word + place.words()) as usize;
        self.state.words[rest].fill(0);
    }

    /// The end of the packet, which `truncate` has not cut: as in bmv2, a copy of a packet has the
    /// last bytes of its buffer, as many as the limit permits. `from` is where the buffer begins.
    pub(crate) fn last_bytes(&self, from: usize) -> &[u8] {
        let limit = usize::try_from(self.requests.truncate).unwrap_or(usize::MAX);
        let buffer = &self.bytes[from.min(self.bytes.len())..];
        &buffer[buffer.len().saturating_sub(limit)..]
    }

    /// Where the payload that a checksum covers ends, in the bytes of the packet.
    pub(crate) fn payload_end(&self) -> usize {
        let limit = usize::try_from(self.requests.truncate).unwrap_or(usize::MAX);
        self.bytes.len().min((self.cursor / 8).saturating_add(limit))
    }

    /// Cuts the payload to what a copy of this packet has of it, and removes the limit. The bytes
    /// of parsed headers remain: executors may read fields there.
    pub(crate) fn cut_payload(&mut self) {
        let parsed = self.cursor / 8;
        let cut = self.bytes.len() - parsed - self.last_bytes(parsed).len();
        self.bytes.drain(parsed..parsed + cut);
        self.requests.truncate = NO_LIMIT;
    }

    /// Number of bits that are not parsed yet.
    pub(crate) fn bits_left(&self) -> usize {
        self.bytes.len() * 8 - self.cursor
    }
}
