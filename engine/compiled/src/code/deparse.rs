//! Bit strings: the sent frame, and the input of hashes and checksums.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlags, Value, types};

use super::builder::{Builder, field, out_memory};
use crate::helpers;

/// 64 bits of a string; the last chunk may have fewer. They are at the high end, and the bits below
/// them are 0.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chunk {
    pub(super) value: Value,
    pub(super) bits: u32,
}

/// Bits of a string.
#[derive(Debug, Clone, Copy)]
struct Part {
    bits: u32,
    source: Source,
}

/// Where the bits of a part are.
#[derive(Debug, Clone, Copy)]
enum Source {
    /// The low bits of a value.
    Value(Value),
    /// At this bit of the received frame.
    Frame(u32),
}

impl Builder<'_> {
    /// Concatenates values. Bits that are next to each other in the received frame, too, are read
    /// from there together.
    pub(super) fn pack(&mut self, values: &[(Vec<Value>, u32)]) -> Vec<Chunk> {
        let mut chunks: Vec<Chunk> = Vec::new();
        for part in self.parts(values) {
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
                // Bits of the value before this part, if there are any, are shifted out: the rest of a
                // value begins a chunk.
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
    fn parts(&self, values: &[(Vec<Value>, u32)]) -> Vec<Part> {
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

    /// Appends a header to the sent frame, if it is valid.
    pub(super) fn emit(&mut self, header: u32) {
        let info = &self.program.headers[header as usize];
        let written = self.b.use_var(self.vars.written);
        if info.fields.iter().any(|field| field.varbit_length.is_some()) {
            let at = self.b.ins().iadd(self.out, written);
            let id = self.constant(u64::from(header));
            let bytes = self.call_for_result(helpers::emit as *const (), &[id, at]);
            let written = self.b.ins().iadd(written, bytes);
            self.b.def_var(self.vars.written, written);
            return;
        }
        let valid = self.get(info.valid);
        self.emit_if(valid, |b| {
            let values: Vec<_> =
                info.fields.iter().map(|field| (b.load(field.place), field.place.width)).collect();
            let bits: u32 = values.iter().map(|(_, width)| width).sum();
            let chunks = b.pack(&values);
            let at = b.b.ins().iadd(b.out, written);
            b.write(&chunks, at, out_memory());
            let written = b.b.ins().iadd_imm(written, i64::from(bits / 8));
            b.b.def_var(b.vars.written, written);
        });
    }

    /// Appends the unparsed rest of the frame, truncates the frame as `truncate` requests, and
    /// stores its length in the context.
    pub(super) fn finish_frame(&mut self) {
        self.append_rest();
        self.finish_length();
    }

    /// As [`Builder::finish_frame`], for a frame that is recirculated. Its payload can remain where it
    /// is.
    pub(super) fn finish_recirculated_frame(&mut self) {
        let length = self.finish_length();
        let Some(head) = self.plan.recirculated_head else {
            self.append_rest();
            self.context_store(field!(next_payload_start), length);
            return;
        };
        let [written, cursor] =
            [self.vars.written, self.vars.cursor].map(|var| self.b.use_var(var));
        // Payload that is in `frame` does not remain there.
        let stays = match self.payload_start {
            None => self.constant(1),
            Some(start) => self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, cursor, start),
        };
        let payload = self.payload;
        self.emit_if_else(
            stays,
            |b| {
                let rest = b.rest();
                let head = b.constant(u64::from(head));
                let end = b.b.ins().umax(written, head);
                let missing = b.b.ins().isub(end, written);
                let missing = b.b.ins().umin(missing, rest);
                b.append(payload, cursor, missing);
                let start = b.b.ins().iadd(written, missing);
                let start = b.b.ins().umin(start, length);
                b.context_store(field!(next_payload_start), start);
                let moved = b.b.ins().isub(cursor, written);
                let next = b.b.ins().iadd(payload, moved);
                b.context_store(field!(next_payload), next);
            },
            |b| {
                b.append_rest();
                b.context_store(field!(next_payload_start), length);
            },
        );
    }

    /// Number of bytes that are not parsed.
    fn rest(&mut self) -> Value {
        let cursor = self.b.use_var(self.vars.cursor);
        self.b.ins().isub(self.frame_length, cursor)
    }

    fn append_rest(&mut self) {
        let cursor = self.b.use_var(self.vars.cursor);
        let rest = self.rest();
        let Some(start) = self.payload_start else {
            self.append(self.payload, cursor, rest);
            return;
        };
        let start = self.b.ins().umax(start, cursor);
        let near = self.b.ins().isub(start, cursor);
        let written = self.b.use_var(self.vars.written);
        self.append(self.frame, cursor, near);
        let after = self.b.ins().iadd(written, near);
        self.b.def_var(self.vars.written, after);
        let far = self.b.ins().isub(rest, near);
        self.append(self.payload, start, far);
        self.b.def_var(self.vars.written, written);
    }

    /// Copies `length` bytes at position `from` of a frame behind the headers written.
    fn append(&mut self, frame: Value, from: Value, length: Value) {
        self.emit_if(length, |b| {
            let written = b.b.use_var(b.vars.written);
            let to = b.b.ins().iadd(b.out, written);
            let from = b.b.ins().iadd(frame, from);
            b.call(helpers::copy as *const (), &[to, from, length], false);
        });
    }

    /// Stores the length of the frame in the context.
    fn finish_length(&mut self) -> Value {
        let (written, rest) = (self.b.use_var(self.vars.written), self.rest());
        let length = self.b.ins().iadd(written, rest);
        let limit = self.b.use_var(self.vars.truncate);
        let length = self.b.ins().umin(length, limit);
        self.context_store(field!(out_length), length);
        debug_assert_eq!(self.b.func.dfg.value_type(length), types::I64);
        length
    }
}
