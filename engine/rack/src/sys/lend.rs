//! Memory of a guest that a design accesses.

use std::sync::Arc;

use netkv_fpga::{Design, Error};

use super::mapping::Mapping;

/// Mappings that are host memory of a function of a design.
///
/// Dropped without [`Lent::take_back`], the mappings stay as long as the process: a design never
/// accesses memory that is gone.
#[derive(Default)]
pub struct Lent {
    mappings: Vec<Arc<Mapping>>,
}

impl Lent {
    /// Makes `length` bytes of a mapping, from `offset` on, the host memory of a function from
    /// `address` on.
    pub fn lend(
        &mut self,
        design: &mut Design,
        function: u32,
        address: u64,
        mapping: &Arc<Mapping>,
        (offset, length): (usize, usize),
    ) -> Result<(), Error> {
        let bytes = mapping.bytes(offset, length);
        self.mappings.push(Arc::clone(mapping));
        // SAFETY: the bytes are inside of the mapping (`bytes` checks it), which exists until
        // `take_back` has removed it from the design, or as long as the process.
        unsafe { design.map_memory(function, address, bytes, length as u64) }
    }

    /// Removes all memory from the function.
    pub fn take_back(&mut self, design: &mut Design, function: u32) -> Result<(), Error> {
        design.clear_memory(function)?;
        self.mappings.clear();
        Ok(())
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        for mapping in self.mappings.drain(..) {
            std::mem::forget(mapping);
        }
    }
}
