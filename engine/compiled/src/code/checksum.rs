//! The Internet checksum (RFC 1071, section 2).
//!
//! The sum of 16-bit words does not depend on the order of the bytes in a word, if those of the sum
//! are exchanged in the same way. So words of the received frame are added as they are in memory,
//! two at a time.

use cranelift_codegen::ir::{InstBuilder, Value, types};
use netkv_dataplane::NO_LIMIT;
use netkv_ir::HashInput;

use super::bit_string::Chunk;
use super::builder::Builder;
use super::parts::{frame_bytes, parts_between};
use crate::checksum_lists::by_header;
use crate::helpers;

/// Values with their widths, one after the other.
type Values = Vec<(Vec<Value>, u32)>;

/// The sum of the first bytes of a string.
#[derive(Debug, Clone, Copy)]
struct Prefix {
    sum: Value,
    /// 1 if their number is odd, otherwise 0.
    odd: Value,
}

impl Builder<'_> {
    /// The checksum of a list whose words code adds: without fields of invalid headers, and with
    /// the payload if it is included.
    pub(super) fn checksum_of_list(&mut self, data: &[HashInput], payload: bool) -> Value {
        let zero = self.constant(0);
        let mut prefix = Prefix { sum: zero, odd: zero };
        // Values that are there for certain are added together.
        let mut certain = Values::new();
        for of in by_header(data) {
            let valid = match of[0].header {
                None => self.constant(1),
                Some(header) => self.get(self.program.headers[header as usize].valid),
            };
            if self.is_zero(valid) {
                continue;
            }
            let values: Values =
                of.iter().map(|it| (self.expr(&it.value), it.value.width())).collect();
            if self.is_one(valid) {
                certain.extend(values);
                continue;
            }
            prefix = self.add_string(prefix, &std::mem::take(&mut certain));
            prefix = self.add_string_if(valid, prefix, &values);
        }
        prefix = self.add_string(prefix, &certain);
        let sum = if payload { self.add_payload(prefix) } else { prefix.sum };
        self.complement(sum)
    }

    /// Appends whole bytes to a string.
    fn add_string(&mut self, Prefix { mut sum, odd }: Prefix, values: &Values) -> Prefix {
        let bits: u32 = values.iter().map(|(_, width)| width).sum();
        if bits == 0 {
            return Prefix { sum, odd };
        }
        if self.is_one(odd) {
            // The first byte is the second one of a word.
            let mut aligned = vec![(vec![self.constant(0)], 8)];
            aligned.extend_from_slice(values);
            let more = self.sum(&aligned);
            sum = self.b.ins().iadd(sum, more);
        } else {
            let more = self.sum(values);
            sum = self.add_at(Prefix { sum, odd }, more);
        }
        let odd = match bits / 8 % 2 {
            0 => odd,
            _ => self.other_parity(odd),
        };
        Prefix { sum, odd }
    }

    /// Appends whole bytes to a string if `valid` is 1.
    fn add_string_if(&mut self, valid: Value, before: Prefix, values: &Values) -> Prefix {
        let [sum, odd] = [before.sum, before.odd].map(|value| {
            let variable = self.b.declare_var(types::I64);
            self.b.def_var(variable, value);
            variable
        });
        self.emit_if(valid, |b| {
            let after = b.add_string(before, values);
            b.b.def_var(sum, after.sum);
            b.b.def_var(odd, after.odd);
        });
        Prefix { sum: self.b.use_var(sum), odd: self.b.use_var(odd) }
    }

    /// The sum of a string and of the payload after it.
    fn add_payload(&mut self, before: Prefix) -> Value {
        let [cursor, limit] = [self.vars.cursor, self.vars.truncate].map(|var| self.b.use_var(var));
        let rest = self.rest();
        let rest = match self.number(limit) {
            Some(NO_LIMIT) => rest,
            _ => self.b.ins().umin(rest, limit),
        };
        let Some(start) = self.payload_start else {
            return self.add_bytes(before, self.payload, cursor, rest).sum;
        };
        let start = self.b.ins().umax(start, cursor);
        let near = self.b.ins().isub(start, cursor);
        let near = self.b.ins().umin(near, rest);
        let far = self.b.ins().isub(rest, near);
        let before = self.add_bytes(before, self.frame, cursor, near);
        self.add_bytes(before, self.payload, start, far).sum
    }

    /// Appends bytes at position `from` of a frame to a string.
    fn add_bytes(&mut self, before: Prefix, frame: Value, from: Value, length: Value) -> Prefix {
        let sum = self.b.declare_var(types::I64);
        self.b.def_var(sum, before.sum);
        self.emit_if(length, |b| {
            let from = b.b.ins().iadd(frame, from);
            let more =
                b.call_without_context(helpers::sum_words as *const (), &[from, length], true);
            let after = b.add_at(before, more.expect("the helper has a result"));
            b.b.def_var(sum, after);
        });
        let odd = self.b.ins().bxor(before.odd, length);
        let odd = self.b.ins().band_imm(odd, 1);
        Prefix { sum: self.b.use_var(sum), odd }
    }

    /// Adds the sum of a string that follows another one. If it begins with the second byte of a
    /// word, the bytes of its words are exchanged.
    fn add_at(&mut self, before: Prefix, more: Value) -> Value {
        let more = if self.is_zero(before.odd) {
            more
        } else {
            // In 33 bits, so that it can be shifted.
            let low = self.b.ins().band_imm(more, 0xffff_ffff);
            let high = self.b.ins().ushr_imm(more, 32);
            let folded = self.b.ins().iadd(low, high);
            let bits = self.b.ins().ishl_imm(before.odd, 3);
            self.b.ins().ishl(folded, bits)
        };
        self.b.ins().iadd(before.sum, more)
    }

    fn other_parity(&mut self, odd: Value) -> Value {
        match self.number(odd) {
            Some(odd) => self.constant(1 - odd),
            None => self.b.ins().bxor_imm(odd, 1),
        }
    }

    /// The checksum of the concatenation of values.
    pub(super) fn checksum(&mut self, values: &[(Vec<Value>, u32)]) -> Value {
        let sum = self.sum(values);
        self.complement(sum)
    }

    /// The sum of the words of the concatenation of values.
    fn sum(&mut self, values: &[(Vec<Value>, u32)]) -> Value {
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
        self.add_chunks(sum, &chunks)
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

    fn add_chunks(&mut self, mut sum: Value, chunks: &[Chunk]) -> Value {
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
