//! The values of the interface of a design.

use std::fmt;

/// Why a call failed; a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// The library cannot be used.
    Load(String),
    /// An argument is wrong.
    Argument(String),
    /// A queue is full: run cycles, then try again.
    Full(String),
    /// There is no frame.
    Empty(String),
    /// The design itself has failed and cannot run any more.
    Design(String),
    /// The library has no tracing, or the file cannot be written.
    Trace(String),
}

impl fmt::Display for Error {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Load(text)
        | Self::Argument(text)
        | Self::Full(text)
        | Self::Empty(text)
        | Self::Design(text)
        | Self::Trace(text)) = self;
        to.write_str(text)
    }
}

impl std::error::Error for Error {}

/// What a library says about its design.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Description {
    /// Number of ports; the host port or the virtio functions are the last.
    pub ports: u32,
    /// Bytes that cross a port in a cycle.
    pub word_bytes: u32,
    /// Bytes of the longest frame.
    pub max_frame: u32,
    /// Frames that [`crate::Design::receive`] queues at most, for each port.
    pub max_queued: u32,
    /// 1 if [`crate::Design::trace_open`] works.
    pub can_trace: u32,
    /// Number of virtio functions; port `ports - functions + f` is function f.
    pub functions: u32,
}

/// Settings of a port. 0 in a field is the state of a new design.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PortSettings {
    /// Line rate; 0: frames take no time on the line.
    pub bits_per_1000_cycles: u32,
    /// Frames in the receive buffer of the MAC; 0: 65,536.
    pub rx_frames: u32,
    /// Sent frames that wait for the host; 0: 65,536.
    pub tx_frames: u32,
}

/// Counts of a port.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Received frames that the design has taken whole.
    pub rx_frames: u64,
    /// Their bytes.
    pub rx_bytes: u64,
    /// Frames that arrived while the receive buffer was full.
    pub rx_drops: u64,
    /// Frames that the design has sent.
    pub tx_frames: u64,
    /// Their bytes.
    pub tx_bytes: u64,
    /// Sent frames that were lost because the host has not taken earlier ones.
    pub tx_drops: u64,
    /// Sent frames whose length does not fit their words.
    pub tx_malformed: u64,
    /// Cycles in which a received word waited for the design.
    pub rx_stalls: u64,
    /// Cycles in which a word to send waited for the line.
    pub tx_stalls: u64,
    /// Words of host memory that the function of this port may not use.
    pub bus_faults: u64,
}

/// Times of the bus between virtio functions and the memory of the host.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BusSettings {
    /// From a read request to its first word.
    pub read_cycles: u32,
    /// Until a written word is in memory.
    pub write_cycles: u32,
    /// Until a notification of a built-in driver reaches its function.
    pub register_cycles: u32,
}

/// A frame that the design has sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmitted<'a> {
    /// Its bytes, without FCS.
    pub frame: &'a [u8],
    /// Cycle in which the design handed over the first word.
    pub first_cycle: u64,
    /// Cycle in which the design handed over the last word.
    pub cycle: u64,
    /// Cycle in which the last byte is on the line; `cycle` without a line rate.
    pub wire_cycle: u64,
}
