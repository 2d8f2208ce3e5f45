//! Copies of 128 bits between a register cell and a frame.
//!
//! A cell is little-endian and a frame is big-endian, so the bytes of a value are reversed. Word by
//! word that takes two loads, two exchanges of bytes, two stores, and often two places on the stack
//! in between. As a vector it takes three instructions.

use cranelift_codegen::ir::{InstBuilder, Value, types};

use super::builder::{Builder, objects_memory, out_memory};
use super::cells::VECTOR;

impl Builder<'_> {
    /// Copies a vector of a cell to the sent frame.
    pub(super) fn copy_vector(&mut self, (cell, from): (Value, i32), to: Value, offset: i32) {
        let vector = self.b.ins().load(types::I8X16, objects_memory(), cell, from);
        let vector = self.reversed(vector);
        self.b.ins().store(out_memory(), vector, to, offset);
    }

    /// Writes words to a cell.
    pub(super) fn write_cell_words(&mut self, words: &[Value], cell: Value, offset: i32) {
        let mut at = 0;
        while let Some(word) = words.get(at) {
            let offset = offset + 8 * at as i32;
            match words.get(at + 1).and_then(|high| self.vector_of_frame(*high, *word)) {
                Some(from) => {
                    let flags = self.frame_flags;
                    let vector = self.b.ins().load(types::I8X16, flags, self.frame, from as i32);
                    let vector = self.reversed(vector);
                    self.b.ins().store(objects_memory(), vector, cell, offset);
                    at += 2;
                }
                None => {
                    self.b.ins().store(objects_memory(), *word, cell, offset);
                    at += 1;
                }
            }
        }
    }

    /// The byte of the received frame where two words begin, if they are next to each other in it.
    fn vector_of_frame(&self, high: Value, low: Value) -> Option<u32> {
        let [high, low] = [high, low].map(|word| {
            let (bit, bits) = self.origins.get(&self.b.func.dfg.resolve_aliases(word))?;
            (*bits == 64 && bit % 8 == 0).then_some(bit / 8)
        });
        (high? + 8 == low?).then_some(high?)
    }

    fn reversed(&mut self, vector: Value) -> Value {
        let order: Vec<u8> = (0..VECTOR as u8).rev().collect();
        let order = self.b.func.dfg.immediates.push(order.into());
        self.b.ins().shuffle(vector, vector, order)
    }
}
