//! A design in virtual time.

use std::fmt;
use std::path::Path;

use crate::abi::Handle;

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
    /// Number of ports; the host port is the last.
    pub ports: u32,
    /// Bytes that cross a port in a cycle.
    pub word_bytes: u32,
    /// Bytes of the longest frame.
    pub max_frame: u32,
    /// Frames that [`Design::receive`] queues at most, for each port.
    pub max_queued: u32,
    /// 1 if [`Design::trace_open`] works.
    pub can_trace: u32,
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

/// Cycles between two looks at the state of a design.
const LOOK_CYCLES: u64 = 100;

/// An instance of a design. It may move between threads; one thread uses it at a time.
pub struct Design {
    handle: Handle,
    description: Description,
}

impl Design {
    /// Loads a library that `netkv fpga build` has made, and creates an instance. It has been
    /// reset; `seed` seeds its memory models, and registers and memories without reset value.
    pub fn open(library: &Path, seed: u32) -> Result<Self, Error> {
        let (handle, description) = Handle::create(library, seed)?;
        Ok(Self { handle, description })
    }

    /// What the library says about the design.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Number of ports.
    pub fn ports(&self) -> u32 {
        self.description.ports
    }

    /// Holds reset for some cycles. Frames in queues are dropped.
    pub fn reset(&mut self, cycles: u32) -> Result<(), Error> {
        self.handle.reset(cycles)
    }

    /// Changes settings of a port for later frames.
    pub fn set_port(&mut self, port: u32, settings: &PortSettings) -> Result<(), Error> {
        self.handle.port_set(port, settings)
    }

    /// Queues a frame whose first byte is on the line at `not_before`, or as soon as the line is
    /// free. Returns the first cycle in which the MAC presents it, if the design has taken earlier
    /// frames.
    pub fn receive(&mut self, port: u32, frame: &[u8], not_before: u64) -> Result<u64, Error> {
        self.handle.port_rx(port, frame, not_before)
    }

    /// Runs cycles.
    pub fn step(&mut self, cycles: u64) -> Result<(), Error> {
        self.handle.step(cycles, false).map(drop)
    }

    /// Runs at most `cycles` cycles, until the design has sent a whole frame at any port. Returns
    /// the number of cycles that ran.
    pub fn step_to_frame(&mut self, cycles: u64) -> Result<u64, Error> {
        self.handle.step(cycles, true)
    }

    /// Runs until bits `mask` of a register are 1, at most `cycles`; whether they are.
    pub fn step_until_set(&mut self, register: u16, mask: u32, cycles: u64) -> Result<bool, Error> {
        let end = self.cycle() + cycles;
        while self.read_register(register)? & mask != mask {
            if self.cycle() >= end {
                return Ok(false);
            }
            self.step(LOOK_CYCLES)?;
        }
        Ok(true)
    }

    /// Gives a frame to the design, and drops what it has sent meanwhile: to fill it in advance.
    pub fn preload(&mut self, port: u32, frame: &[u8]) -> Result<(), Error> {
        self.receive(port, frame, 0)?;
        while self.pending_rx() > 0 {
            self.step(LOOK_CYCLES)?;
        }
        self.drop_sent()
    }

    /// Drops the frames that the design has sent.
    pub fn drop_sent(&mut self) -> Result<(), Error> {
        for port in self.ready() {
            while self.transmitted(port)?.is_some() {}
        }
        Ok(())
    }

    /// Cycles since the design was opened.
    pub fn cycle(&self) -> u64 {
        self.handle.cycle()
    }

    /// Received frames that the design has not taken whole.
    pub fn pending_rx(&self) -> u64 {
        self.handle.pending_rx()
    }

    /// Sent frames that the host has not taken, and frames that the design is sending.
    pub fn pending_tx(&self) -> u64 {
        self.handle.pending_tx()
    }

    /// Ports at which a sent frame waits.
    pub fn ready(&self) -> impl Iterator<Item = u32> + use<> {
        let mask = self.handle.ready_tx();
        (0..u64::BITS).filter(move |port| mask >> port & 1 == 1)
    }

    /// The next frame that the design has sent at a port.
    pub fn transmitted(&mut self, port: u32) -> Result<Option<Transmitted<'_>>, Error> {
        match self.handle.port_tx(port) {
            Ok(frame) => Ok(Some(frame)),
            Err(Error::Empty(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Counts of a port.
    pub fn counters(&mut self, port: u32) -> Result<PortCounters, Error> {
        self.handle.port_count(port)
    }

    /// Reads a register, which takes a cycle.
    pub fn read_register(&mut self, address: u16) -> Result<u32, Error> {
        self.handle.register_read(address)
    }

    /// Writes a register, which takes a cycle.
    pub fn write_register(&mut self, address: u16, value: u32) -> Result<(), Error> {
        self.handle.register_write(address, value)
    }

    /// Records all signals from now on in an FST file.
    pub fn trace_open(&mut self, path: &Path) -> Result<(), Error> {
        self.handle.trace_open(path)
    }

    /// Completes the FST file.
    pub fn trace_close(&mut self) -> Result<(), Error> {
        self.handle.trace_close()
    }
}
