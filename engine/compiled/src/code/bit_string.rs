//! Bit strings: headers of the sent frame, and the input of hashes and checksums.

use cranelift_codegen::ir::{InstBuilder, MemFlags, Value};

use super::builder::Builder;
use super::parts::{Part, Source};

/// 64 bits of a string; the last chunk may have fewer. They are at the high end, and the bits below
/// them are 0.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chunk {
    pub(super) value: Value,
    pub(super) bits: u32,
}

impl Builder<'_> {
    /// Concatenates values.
    pub(super) fn pack(&mut self, values: &[(Vec<Value>, u32)]) -> Vec<Chunk> {
        let parts = self.parts(values);
        self.chunks(&parts)
    }

    /// The 64-bit chunks of a string. Bits that are next to each other in the received frame, too,
    /// are read from there together.
    pub(super) fn chunks(&mut self, parts: &[Part]) -> Vec<Chunk> {
        let mut chunks: Vec<Chunk> = Vec::new();
        for part in parts {
            let mut left = part.bits;
            while left > 0 {
                let free = match chunks.last() {
                    Some(chunk) if chunk.bits < 64 => 64 - chunk.bits,
                    _ => 64,
                };
                let take = free.min(left);
                let value = match part.source {
                    Source::Value(value) if take < left => {
                        self.b.ins().ushr_imm(value, i64::from(left - take))
                    }
                    Source::Value(value) => value,
                    Source::Frame(bit) => {
                        let end = (bit + part.bits).div_ceil(8);
                        self.read_bits((self.frame, 0), bit + part.bits - left, take, end)
                    }
                };
                // Bits of the value before this part, if there are any, are shifted out: the rest
                // of a value begins a chunk.
                let value = if take == free {
                    value
                } else {
                    self.b.ins().ishl_imm(value, i64::from(free - take))
                };
                left -= take;
                match chunks.last_mut().filter(|chunk| chunk.bits < 64) {
                    Some(chunk) => {
                        chunk.value = self.b.ins().bor(chunk.value, value);
                        chunk.bits += take;
                    }
                    None => chunks.push(Chunk { value, bits: take }),
                }
            }
        }
        chunks
    }

    /// The words of values from the first bit to the last.
    pub(super) fn parts(&self, values: &[(Vec<Value>, u32)]) -> Vec<Part> {
        let mut parts: Vec<Part> = Vec::new();
        for (value, width) in values {
            for (i, word) in value.iter().enumerate().rev() {
                let bits = (width - 64 * i as u32).min(64);
                let word = self.b.func.dfg.resolve_aliases(*word);
                let source = match self.origins.get(&word) {
                    Some((bit, width)) if *width == bits => Source::Frame(*bit),
                    _ => Source::Value(word),
                };
                match (parts.last_mut(), source) {
                    (
                        Some(Part { bits: before, source: Source::Frame(start) }),
                        Source::Frame(bit),
                    ) if *start + *before == bit => {
                        *before += bits;
                    }
                    _ => parts.push(Part { bits, source }),
                }
            }
        }
        parts
    }

    /// Writes chunks to memory, big-endian. The last one is padded with zeros to eight bytes, so
    /// the memory must be large enough.
    pub(super) fn write(&mut self, chunks: &[Chunk], at: Value, flags: MemFlags) {
        let mut offset = 0;
        for chunk in chunks {
            let value = self.b.ins().bswap(chunk.value);
            self.b.ins().store(flags, value, at, offset);
            offset += 8;
        }
    }
}
