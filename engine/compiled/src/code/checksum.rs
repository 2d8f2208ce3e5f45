//! The Internet checksum (RFC 1071, section 2).
//!
//! The sum of 16-bit words does not depend on the order of the bytes in a word, if those of the sum
//! are exchanged in the same way. So words of the received frame are added as they are in memory,
//! two at a time.

use cranelift_codegen::ir::{InstBuilder, Value, types};

use super::bit_string::{frame_bytes, parts_between};
use super::builder::Builder;

impl Builder<'_> {
    /// The checksum of the concatenation of values.
    pub(super) fn checksum(&mut self, values: &[(Vec<Value>, u32)]) -> Value {
        let parts = self.parts(values);
        let bits: u32 = parts.iter().map(|part| part.bits).sum();
        let mut sum = self.constant(0);
        // What is not added yet begins at this byte of the string, which begins a word.
        let mut at = 0;
        for in_frame in frame_bytes(&parts) {
            let words = in_frame.bytes.start.div_ceil(2)..in_frame.bytes.end / 2;
            if words.is_empty() {
                continue;
            }
            let chunks = self.chunks(&parts_between(&parts, 8 * at..16 * words.start));
            sum = self.add_chunks(sum, &chunks);
            let from = in_frame.from + 2 * words.start - in_frame.bytes.start;
            sum = self.add_words(sum, from, words.len() as u32);
            at = 2 * words.end;
        }
        let chunks = self.chunks(&parts_between(&parts, 8 * at..bits));
        sum = self.add_chunks(sum, &chunks);
        self.complement(sum)
    }

    /// Adds words of the received frame.
    fn add_words(&mut self, mut sum: Value, from: u32, words: u32) -> Value {
        for word in (0..words).step_by(2) {
            let (flags, offset) = (self.frame_flags, (from + 2 * word) as i32);
            let more = if word + 1 < words {
                self.b.ins().uload32(flags, self.frame, offset)
            } else {
                self.b.ins().uload16(types::I64, flags, self.frame, offset)
            };
            sum = self.b.ins().iadd(sum, more);
        }
        sum
    }

    fn add_chunks(&mut self, mut sum: Value, chunks: &[super::bit_string::Chunk]) -> Value {
        for chunk in chunks {
            let value = self.b.ins().bswap(chunk.value);
            let low = self.b.ins().band_imm(value, 0xffff_ffff);
            sum = self.b.ins().iadd(sum, low);
            if chunk.bits > 32 {
                let high = self.b.ins().ushr_imm(value, 32);
                sum = self.b.ins().iadd(sum, high);
            }
        }
        sum
    }

    /// The complement of a sum of words with exchanged bytes. A number and itself with both halves
    /// exchanged have a sum whose upper half is the sum of the halves and of its carry.
    fn complement(&mut self, sum: Value) -> Value {
        let turned = self.b.ins().rotl_imm(sum, 32);
        let sum = self.b.ins().iadd(sum, turned);
        let sum = self.b.ins().ushr_imm(sum, 32);
        let sum = self.b.ins().ireduce(types::I32, sum);
        let turned = self.b.ins().rotl_imm(sum, 16);
        let sum = self.b.ins().iadd(sum, turned);
        let sum = self.b.ins().ushr_imm(sum, 16);
        let sum = self.b.ins().ireduce(types::I16, sum);
        let sum = self.b.ins().bnot(sum);
        let sum = self.b.ins().bswap(sum);
        self.b.ins().uextend(types::I64, sum)
    }
}
