//! Bit strings: the sent frame, and the input of hashes and checksums.

use cranelift_codegen::ir::{InstBuilder, MemFlags, Value, types};

use super::builder::{Builder, out_memory};
use super::expr::mask;
use crate::helpers;

/// Up to 64 bits of a string, right-aligned.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chunk {
    pub(super) value: Value,
    pub(super) bits: u32,
}

impl Builder<'_> {
    /// Concatenates values to chunks of 64 bits; the last one may be shorter.
    pub(super) fn pack(&mut self, values: &[(Vec<Value>, u32)]) -> Vec<Chunk> {
        let mut chunks = Vec::new();
        let mut partial: Option<Chunk> = None;
        for (value, width) in values {
            for (i, word) in value.iter().enumerate().rev() {
                let bits = (width - 64 * i as u32).min(64);
                self.append(&mut chunks, &mut partial, Chunk { value: *word, bits });
            }
        }
        chunks.extend(partial);
        chunks
    }

    fn append(&mut self, chunks: &mut Vec<Chunk>, partial: &mut Option<Chunk>, part: Chunk) {
        let Some(before) = partial.take() else {
            if part.bits == 64 {
                chunks.push(part);
            } else {
                *partial = Some(part);
            }
            return;
        };
        let free_bits = 64 - before.bits;
        let take = free_bits.min(part.bits);
        let rest = part.bits - take;
        let high = self.b.ins().ishl_imm(before.value, i64::from(take));
        let low =
            if rest > 0 { self.b.ins().ushr_imm(part.value, i64::from(rest)) } else { part.value };
        let joined = Chunk { value: self.b.ins().bor(high, low), bits: before.bits + take };
        if joined.bits < 64 {
            *partial = Some(joined);
            return;
        }
        chunks.push(joined);
        if rest > 0 {
            let value = self.b.ins().band_imm(part.value, mask(rest) as i64);
            *partial = Some(Chunk { value, bits: rest });
        }
    }

    /// Writes chunks to memory, big-endian. The last one is padded with zeros to eight bytes, so
    /// the memory must be large enough.
    pub(super) fn write(&mut self, chunks: &[Chunk], at: Value, flags: MemFlags) {
        let mut offset = 0;
        for chunk in chunks {
            let value = self.left_aligned(*chunk);
            let value = self.b.ins().bswap(value);
            self.b.ins().store(flags, value, at, offset);
            offset += 8;
        }
    }

    /// The bits of a chunk at the high end of 64.
    pub(super) fn left_aligned(&mut self, chunk: Chunk) -> Value {
        if chunk.bits == 64 {
            chunk.value
        } else {
            self.b.ins().ishl_imm(chunk.value, i64::from(64 - chunk.bits))
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
        let cursor = self.b.use_var(self.vars.cursor);
        let written = self.b.use_var(self.vars.written);
        let rest = self.b.ins().isub(self.frame_length, cursor);
        self.emit_if(rest, |b| {
            let to = b.b.ins().iadd(b.out, written);
            b.call(helpers::copy as *const (), &[to, cursor, rest], false);
        });
        let length = self.b.ins().iadd(written, rest);
        let limit = self.b.use_var(self.vars.truncate);
        let length = self.b.ins().umin(length, limit);
        self.context_store(super::builder::field!(out_length), length);
        debug_assert_eq!(self.b.func.dfg.value_type(length), types::I64);
    }
}
