//! The sent frame.

use std::ops::Range;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Type, Value, types};

use super::builder::{Builder, field, out_memory};
use super::cells::VECTOR;
use super::parts::{FrameBytes, Part, frame_bytes, parts_between};
use crate::helpers;

/// Maximum number of changed bytes that are copied with the unchanged ones before and after them,
/// and then overwritten: as many as one instruction copies.
const MAX_CHANGED: u32 = 16;

impl Builder<'_> {
    /// Appends a header to the sent frame, if it is valid.
    pub(super) fn emit(&mut self, header: u32) {
        let info = &self.program.headers[header as usize];
        if info.fields.iter().any(|field| field.varbit_length.is_some()) {
            self.write_headers();
            let written = self.b.use_var(self.vars.written);
            let at = self.b.ins().iadd(self.out, written);
            let id = self.constant(u64::from(header));
            let bytes = self.call_for_result(helpers::emit as *const (), &[id, at]);
            let written = self.b.ins().iadd(written, bytes);
            self.b.def_var(self.vars.written, written);
            return;
        }
        let valid = self.get(info.valid);
        if self.is_zero(valid) {
            return;
        }
        let always = self.is_one(valid);
        if !always {
            self.write_headers();
        }
        let valid = self.is(valid, 1);
        self.emit_if(valid, |b| {
            for field in &info.fields {
                let value = b.load(field.place);
                b.emitted.push((value, field.place.width));
            }
            if !always {
                b.write_headers();
            }
        });
    }

    /// Writes the headers that were emitted since the last call.
    pub(super) fn write_headers(&mut self) {
        let values = std::mem::take(&mut self.emitted);
        if values.is_empty() {
            return;
        }
        let parts = self.parts(&values);
        let length = parts.iter().map(|part| part.bits).sum::<u32>() / 8;
        let written = self.b.use_var(self.vars.written);
        let at = self.b.ins().iadd(self.out, written);
        let unchanged = frame_bytes(&parts);
        for copy in copies(&unchanged) {
            self.copy_bytes(at, &copy);
        }
        for changed in gaps(&unchanged, length) {
            self.write_bytes(at, &parts, changed, length);
        }
        let written = self.b.ins().iadd_imm(written, i64::from(length));
        self.b.def_var(self.vars.written, written);
    }

    /// Copies bytes of the received frame.
    fn copy_bytes(&mut self, at: Value, copy: &FrameBytes) {
        for (ty, offset) in pieces(copy.bytes.len() as u32) {
            let (from, to) = (copy.from + offset, copy.bytes.start + offset);
            let value = self.b.ins().load(ty, self.frame_flags, self.frame, from as i32);
            self.b.ins().store(out_memory(), value, at, to as i32);
        }
    }

    /// Writes bytes of a string of `length` bytes. Bytes after the string may be overwritten.
    fn write_bytes(&mut self, at: Value, parts: &[Part], bytes: Range<u32>, length: u32) {
        let parts = parts_between(parts, 8 * bytes.start..8 * bytes.end);
        let mut offset = bytes.start;
        // Parts that are not written yet, and their bits.
        let (mut first, mut unwritten) = (0, 0);
        let mut next = 0;
        while next < parts.len() {
            match self.cells.vector(&parts[next..]).filter(|_| unwritten % 8 == 0) {
                Some(vector) => {
                    self.write_parts(at, &parts[first..next], offset, false);
                    offset += unwritten / 8;
                    self.copy_vector(vector, at, offset as i32);
                    offset += VECTOR;
                    next += 2;
                    (first, unwritten) = (next, 0);
                }
                None => {
                    unwritten += parts[next].bits;
                    next += 1;
                }
            }
        }
        self.write_parts(at, &parts[first..], offset, bytes.end == length);
    }

    /// Writes the bytes of parts, and up to seven bytes after the last one if nothing follows them.
    fn write_parts(&mut self, at: Value, parts: &[Part], mut offset: u32, is_end: bool) {
        for chunk in self.chunks(parts) {
            let mut value = self.b.ins().bswap(chunk.value);
            let mut left = if is_end { 8 } else { chunk.bits / 8 };
            while left > 0 {
                let size = 1 << left.ilog2();
                let ty = Type::int(8 * size as u16).unwrap_or(types::I64);
                let piece = if size == 8 { value } else { self.b.ins().ireduce(ty, value) };
                self.b.ins().store(out_memory(), piece, at, offset as i32);
                left -= size;
                offset += size;
                if left > 0 {
                    value = self.b.ins().ushr_imm(value, i64::from(8 * size));
                }
            }
        }
    }

    /// Appends the unparsed rest of the frame, truncates the frame as `truncate` requests, and
    /// stores its length in the context.
    pub(super) fn finish_frame(&mut self) {
        self.append_rest();
        self.finish_length();
    }

    /// As [`Builder::finish_frame`], for a frame that is recirculated. Its payload can remain where
    /// it is.
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
    pub(super) fn rest(&mut self) -> Value {
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
            b.call_without_context(helpers::copy as *const (), &[to, from, length], false);
        });
    }

    /// Stores the length of the frame in the context.
    fn finish_length(&mut self) -> Value {
        let (written, rest) = (self.b.use_var(self.vars.written), self.rest());
        let length = self.b.ins().iadd(written, rest);
        let limit = self.b.use_var(self.vars.truncate);
        let length = match self.number(limit) {
            Some(u64::MAX) => length,
            _ => self.b.ins().umin(length, limit),
        };
        self.context_store(field!(out_length), length);
        debug_assert_eq!(self.b.func.dfg.value_type(length), types::I64);
        length
    }
}

/// What to copy from the received frame: its bytes, joined where few changed bytes are in between.
fn copies(unchanged: &[FrameBytes]) -> Vec<FrameBytes> {
    let mut joined: Vec<FrameBytes> = Vec::new();
    for next in unchanged {
        if let Some(last) = joined.last_mut() {
            let changed = next.bytes.start - last.bytes.end;
            if changed <= MAX_CHANGED && last.from + last.bytes.len() as u32 + changed == next.from
            {
                last.bytes.end = next.bytes.end;
                continue;
            }
        }
        joined.push(next.clone());
    }
    joined
}

/// The bytes of a string of `length` bytes that are not among these.
fn gaps(unchanged: &[FrameBytes], length: u32) -> Vec<Range<u32>> {
    let mut gaps = Vec::new();
    let mut at = 0;
    for bytes in unchanged.iter().map(|it| &it.bytes).chain([&(length..length)]) {
        if at < bytes.start {
            gaps.push(at..bytes.start);
        }
        at = bytes.end;
    }
    gaps
}

/// The instructions that copy a number of bytes: type and offset. The last two may overlap.
fn pieces(bytes: u32) -> Vec<(Type, u32)> {
    let sizes = [(16, types::I8X16), (8, types::I64), (4, types::I32), (2, types::I16)];
    let (size, ty) = sizes.into_iter().find(|it| it.0 <= bytes).unwrap_or((1, types::I8));
    let mut pieces: Vec<(Type, u32)> = (0..bytes / size).map(|i| (ty, i * size)).collect();
    let rest = bytes % size;
    if rest > 0 {
        let (size, ty) = if rest <= 8 && size == 16 { (8, types::I64) } else { (size, ty) };
        pieces.push((ty, bytes - size));
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(from: u32, bytes: Range<u32>) -> FrameBytes {
        FrameBytes { from, bytes }
    }

    #[test]
    fn pieces_cover_all_bytes_and_no_others() {
        for bytes in 1..200 {
            let mut covered = vec![false; bytes as usize];
            for (ty, offset) in pieces(bytes) {
                covered[offset as usize..(offset + ty.bytes()) as usize].fill(true);
            }
            assert!(covered.iter().all(|it| *it), "{bytes} bytes");
        }
    }

    #[test]
    fn unchanged_bytes_are_copied_with_few_changed_ones_between() {
        // A header of 20 bytes of which bytes 8 to 11 are changed, then an inserted one.
        let unchanged = [run(14, 14..22), run(26, 26..34), run(34, 42..50)];
        assert_eq!(copies(&unchanged), [run(14, 14..34), run(34, 42..50)]);
        assert_eq!(gaps(&unchanged, 52), [0..14, 22..26, 34..42, 50..52]);
    }

    #[test]
    fn many_changed_bytes_are_not_copied() {
        let unchanged = [run(0, 0..8), run(8 + MAX_CHANGED + 1, 8 + MAX_CHANGED + 1..40)];
        assert_eq!(copies(&unchanged), unchanged);
    }
}
