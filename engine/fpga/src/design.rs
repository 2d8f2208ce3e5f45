//! A design in virtual time.

use std::path::Path;
use std::ptr::NonNull;

use crate::abi::Handle;
use crate::interface::{BusSettings, Description, Error, PortCounters, PortSettings, Transmitted};
use crate::memory::Memory;

/// Cycles between two looks at the state of a design.
const LOOK_CYCLES: u64 = 100;

/// An instance of a design. It may move between threads; one thread uses it at a time.
pub struct Design {
    /// It is dropped before the memory that it uses.
    handle: Handle,
    description: Description,
    memories: Vec<Memory>,
}

impl Design {
    /// Loads a library that `netkv fpga build` has made, and creates an instance. It has been
    /// reset; `seed` seeds its memory models, and registers and memories without reset value.
    pub fn open(library: &Path, seed: u32) -> Result<Self, Error> {
        let (handle, description) = Handle::create(library, seed)?;
        Ok(Self { handle, description, memories: Vec::new() })
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

    /// Runs at most `cycles` cycles, until the design has sent a whole frame at any port or
    /// interrupted an attached function. Returns
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

    /// Changes the times of the bus.
    pub fn set_bus(&mut self, settings: &BusSettings) -> Result<(), Error> {
        self.handle.bus_set(settings)
    }

    /// Makes the caller the driver of a virtio function, which is reset and has no memory. Without
    /// that it has a built-in driver, which sends and receives the frames of its port.
    pub fn attach(&mut self, function: u32) -> Result<(), Error> {
        self.handle.attach(function)?;
        self.memories.retain(|memory| memory.function != function);
        Ok(())
    }

    /// Gives zeroed memory of this process to an attached function, at an address of its own that
    /// is a multiple of 64, as is the length.
    pub fn add_memory(&mut self, function: u32, address: u64, length: usize) -> Result<(), Error> {
        let memory = Memory::new(function, address, length);
        let (bytes, length) = (memory.bytes(), memory.length() as u64);
        // SAFETY: the memory lives until the function is attached anew, which takes it from the
        // library, or until the library is gone.
        #[allow(unsafe_code)]
        unsafe {
            self.handle.memory_map(function, address, bytes, length)?;
        }
        self.memories.push(memory);
        Ok(())
    }

    fn memory(&mut self, function: u32) -> impl Iterator<Item = &mut Memory> {
        self.memories.iter_mut().filter(move |memory| memory.function == function)
    }

    /// Reads memory that [`Self::add_memory`] has made.
    pub fn read_memory(
        &mut self,
        function: u32,
        address: u64,
        length: usize,
    ) -> Result<Vec<u8>, Error> {
        self.memory(function)
            .find_map(|memory| memory.read(address, length))
            .ok_or_else(|| no_memory(function, address, length))
    }

    /// Writes memory that [`Self::add_memory`] has made.
    pub fn write_memory(&mut self, function: u32, address: u64, bytes: &[u8]) -> Result<(), Error> {
        self.memory(function)
            .find_map(|memory| memory.write(address, bytes))
            .ok_or_else(|| no_memory(function, address, bytes.len()))
    }

    /// Gives memory to an attached function, at an address of its own. Both and the length are
    /// multiples of the bytes of a word.
    ///
    /// # Safety
    ///
    /// The memory must stay valid for reads and writes until [`Self::clear_memory`], or until the
    /// design is dropped. Other processes may use it meanwhile.
    #[allow(unsafe_code)]
    pub unsafe fn map_memory(
        &mut self,
        function: u32,
        address: u64,
        bytes: NonNull<u8>,
        length: u64,
    ) -> Result<(), Error> {
        // SAFETY: as this function.
        unsafe { self.handle.memory_map(function, address, bytes, length) }
    }

    /// Takes all memory from an attached function.
    pub fn clear_memory(&mut self, function: u32) -> Result<(), Error> {
        self.handle.memory_clear(function)?;
        self.memories.retain(|memory| memory.function != function);
        Ok(())
    }

    /// Reads 1, 2 or 4 bytes of the registers of an attached function, which takes a cycle.
    pub fn read_function(&mut self, function: u32, at: u16, bytes: u32) -> Result<u32, Error> {
        self.handle.function_read(function, at, bytes)
    }

    /// Writes 1, 2 or 4 bytes of the registers of an attached function, which takes a cycle.
    pub fn write_function(
        &mut self,
        function: u32,
        at: u16,
        bytes: u32,
        value: u32,
    ) -> Result<(), Error> {
        self.handle.function_write(function, at, bytes, value)
    }

    /// Interrupts of attached functions since the last call: of function f, bit 3f for its
    /// configuration, 3f + 1 for the receive queue, 3f + 2 for the transmit queue.
    pub fn interrupts(&mut self) -> Result<u64, Error> {
        self.handle.interrupts()
    }

    /// Accesses of host memory and notifications that are under way.
    pub fn pending_bus(&self) -> u64 {
        self.handle.pending_bus()
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

fn no_memory(function: u32, address: u64, length: usize) -> Error {
    Error::Argument(format!("Function {function} has no {length} bytes at address {address:#x}."))
}
