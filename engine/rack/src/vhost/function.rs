//! A function of a design as its driver sees it: BAR 0 and host memory.

use netkv_fpga::{Design, Error};

use super::{Memory, Outcome};
use crate::sys::Lent;

/// What a driver can do with a function.
pub trait Function {
    /// Reads 1, 2 or 4 bytes of BAR 0.
    fn read(&mut self, offset: u16, bytes: u32) -> Outcome<u32>;

    /// Writes 1, 2 or 4 bytes of BAR 0.
    fn write(&mut self, offset: u16, bytes: u32, value: u32) -> Outcome<()>;

    /// Lets time pass.
    fn run(&mut self, cycles: u64) -> Outcome<()>;

    /// Makes the memory of a guest the host memory of the function.
    fn map(&mut self, memory: &Memory) -> Outcome<()>;

    /// Takes all memory away. The function accesses none at that time.
    fn unmap(&mut self) -> Outcome<()>;
}

/// A function of a design.
pub struct Bar<'a> {
    /// The design.
    pub design: &'a mut Design,
    /// Number of the function.
    pub function: u32,
    /// The memory that it has.
    pub lent: &'a mut Lent,
}

fn sentence(error: Error) -> String {
    error.to_string()
}

impl Function for Bar<'_> {
    fn read(&mut self, offset: u16, bytes: u32) -> Outcome<u32> {
        self.design.read_function(self.function, offset, bytes).map_err(sentence)
    }

    fn write(&mut self, offset: u16, bytes: u32, value: u32) -> Outcome<()> {
        self.design.write_function(self.function, offset, bytes, value).map_err(sentence)
    }

    fn run(&mut self, cycles: u64) -> Outcome<()> {
        self.design.step(cycles).map_err(sentence)
    }

    fn map(&mut self, memory: &Memory) -> Outcome<()> {
        for region in memory.regions() {
            let place = region.place;
            // `Memory` has mapped the region, so offset and size fit.
            let range = (place.offset as usize, place.size as usize);
            self.lent
                .lend(self.design, self.function, place.guest, &region.mapping, range)
                .map_err(sentence)?;
        }
        Ok(())
    }

    fn unmap(&mut self) -> Outcome<()> {
        self.lent.take_back(self.design, self.function).map_err(sentence)
    }
}
