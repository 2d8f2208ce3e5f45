//! Compiles operations on the state area, the packet and the requests of a pipeline.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};
use netkv_dataplane::{DROP_PORT, NO_LIMIT, NO_LIST, Requests, mask};
use netkv_ir::{Expr, Op, Place};

use super::builder::{Builder, Element, field};
use super::expr::words;
use crate::position::fixed_bytes;

/// Whether the block continues after an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    Next,
    /// The block is closed.
    Ended,
}

impl Builder<'_> {
    /// An operation.
    pub(super) fn op(&mut self, op: &Op) -> Flow {
        match op {
            Op::Assign { to, value } => {
                let value = self.expr(value);
                self.store(*to, &value);
            }
            Op::AssignSlice { to, high, low, value } => self.assign_slice(*to, *high, *low, value),
            Op::StoreElement { stack, index, place, value } => {
                let value = self.expr(value);
                match self.constant_element(*stack, index, *place) {
                    Some(Element::At(place)) => self.store(place, &value),
                    Some(Element::Nowhere) => {}
                    None => {
                        let (distance, inside) = self.element(*stack, index);
                        self.emit_if(inside, |b| b.store_at(distance, place.word, &value));
                    }
                }
            }
            Op::CopyHeader { to, from } => self.copy_header(*to, *from),
            Op::CopyWords { to, from, words } => {
                let values: Vec<Value> = (*from..from + words).map(|word| self.get(word)).collect();
                (*to..).zip(values).for_each(|(word, value)| self.set(word, value));
            }
            Op::ZeroWords { to, words } => self.zero(*to, *words),
            Op::SetValid(header) => self.set_valid(*header),
            Op::SetInvalid(header) => self.set_invalid(*header),
            Op::SetValidElement { stack, index, valid } => {
                self.set_valid_element(*stack, index, *valid);
            }
            Op::PushFront { stack, count } => self.push_front(*stack, *count),
            Op::PopFront { stack, count } => self.pop_front(*stack, *count),
            Op::Extract(_)
            | Op::ExtractNext(_)
            | Op::ExtractVarbit { .. }
            | Op::Lookahead { .. }
            | Op::Advance(_)
            | Op::Verify { .. }
            | Op::CheckStackLast(_)
            | Op::Reject => return self.parse(op),
            Op::Emit(header) => self.emit(*header),
            Op::EmitStack(stack) => {
                let stack = &self.program.stacks[*stack as usize];
                (stack.first..stack.first + stack.size).for_each(|header| self.emit(header));
            }
            Op::MarkToDrop => {
                let standard = &self.program.standard_metadata;
                self.store_constant(standard.egress_spec, DROP_PORT);
                self.store_constant(standard.mcast_grp, 0);
            }
            Op::Clone { session, field_list, .. } => {
                let session = self.truncated(session);
                self.b.def_var(self.vars.clone_session, session);
                let list = self.list(*field_list);
                self.b.def_var(self.vars.clone_list, list);
                self.flag(Requests::CLONE);
            }
            Op::Resubmit { field_list } => {
                let list = self.list(*field_list);
                self.b.def_var(self.vars.resubmit_list, list);
                self.flag(Requests::RESUBMIT);
            }
            Op::Recirculate { field_list } => {
                let list = self.list(*field_list);
                self.b.def_var(self.vars.recirculate_list, list);
                self.flag(Requests::RECIRCULATE);
            }
            Op::Truncate(bytes) => {
                let bytes = self.truncated(bytes);
                let limit = self.b.use_var(self.vars.truncate);
                // Without a limit it is the largest number.
                let limit = match self.number(limit) {
                    Some(NO_LIMIT) => bytes,
                    _ => self.b.ins().umin(limit, bytes),
                };
                self.b.def_var(self.vars.truncate, limit);
            }
            Op::Digest { digest, values } => self.digest(*digest, values),
            _ => self.extern_op(op),
        }
        Flow::Next
    }

    fn list(&mut self, list: Option<u32>) -> Value {
        self.constant(list.map_or(NO_LIST, u64::from))
    }

    fn flag(&mut self, flag: u64) {
        let flags = self.b.use_var(self.vars.flags);
        let flags = self.b.ins().bor_imm(flags, flag as i64);
        self.b.def_var(self.vars.flags, flags);
    }

    fn digest(&mut self, digest: u32, values: &[Expr]) {
        let buffer = self.context_constant(field!(digest));
        let mut offset = 0;
        for value in values {
            for word in self.expr(value) {
                self.b.ins().store(super::builder::context_memory(), word, buffer, offset);
                offset += 8;
            }
        }
        let digest = self.constant(u64::from(digest));
        self.b.def_var(self.vars.digest, digest);
        self.flag(Requests::DIGEST);
    }

    fn assign_slice(&mut self, to: Place, high: u32, low: u32, value: &Expr) {
        let width = high - low + 1;
        let value = self.expr(value);
        // The bits, shifted to their position in the target, and the mask of the replaced bits.
        let first = low / 64;
        let count = (high / 64 - first + 1) as usize;
        let moved = self.shift_left(&value, low % 64, count);
        for (i, bits) in moved.into_iter().enumerate() {
            let word = first + i as u32;
            let (from, to_bit) = (low.max(64 * word), (low + width).min(64 * (word + 1)));
            let replaced = mask(to_bit - from) << (from - 64 * word);
            let old = self.get(to.word + word);
            let kept = self.b.ins().band_imm(old, !replaced as i64);
            let new = self.b.ins().bor(kept, bits);
            self.set(to.word + word, new);
        }
    }

    fn copy_header(&mut self, to: u32, from: u32) {
        let (to, from) = (&self.program.headers[to as usize], &self.program.headers[from as usize]);
        let words = to.words.min(from.words);
        let values: Vec<Value> =
            (from.base..from.base + words).map(|word| self.get(word)).collect();
        let valid = self.get(from.valid);
        (to.base..).zip(values).for_each(|(word, value)| self.set(word, value));
        self.set(to.valid, valid);
    }

    fn clear(&mut self, header: u32) {
        let header = &self.program.headers[header as usize];
        self.zero(header.base, header.words);
    }

    fn add_length(&mut self, bytes: Value) {
        let length = self.b.use_var(self.vars.length);
        let length = self.b.ins().iadd(length, bytes);
        self.b.def_var(self.vars.length, length);
    }

    fn set_valid(&mut self, header: u32) {
        let valid = self.program.headers[header as usize].valid;
        let fixed = self.constant(u64::from(fixed_bytes(self.program, header)));
        let old = self.get(valid);
        let (zero, one) = (self.constant(0), self.constant(1));
        let bytes = self.either(old, zero, fixed);
        self.add_length(bytes);
        // Values assigned to fields of an invalid header are lost.
        let info = &self.program.headers[header as usize];
        for word in info.base..info.base + info.words {
            let value = self.get(word);
            let value = self.either(old, value, zero);
            self.set(word, value);
        }
        self.set(valid, one);
    }

    fn set_invalid(&mut self, header: u32) {
        let info = &self.program.headers[header as usize];
        let valid = self.get(info.valid);
        let mut bytes = self.constant(u64::from(fixed_bytes(self.program, header)));
        for word in info.fields.iter().filter_map(|field| field.varbit_length) {
            let bits = self.get(word);
            let varbit = self.b.ins().ushr_imm(bits, 3);
            bytes = self.b.ins().iadd(bytes, varbit);
        }
        let zero = self.constant(0);
        let bytes = self.either(valid, bytes, zero);
        let bytes = self.b.ins().ineg(bytes);
        self.add_length(bytes);
        self.clear(header);
        self.set(info.valid, zero);
    }

    fn set_valid_element(&mut self, stack: u32, index: &Expr, valid: bool) {
        let first = self.program.stacks[stack as usize].first;
        let place = Place { word: self.program.headers[first as usize].valid, width: 1 };
        match self.constant_element(stack, index, place) {
            Some(Element::Nowhere) => {}
            Some(Element::At(_)) => {
                let Expr::Const(index) = index else { return };
                let header = first + index.words[0] as u32;
                if valid {
                    self.set_valid(header);
                } else {
                    self.set_invalid(header);
                }
            }
            None => {
                let (distance, inside) = self.element(stack, index);
                self.emit_if(inside, |b| b.set_valid_at(first, distance, valid));
            }
        }
    }

    /// `setValid` or `setInvalid` on the element at `distance` bytes from element 0.
    fn set_valid_at(&mut self, first: u32, distance: Value, valid: bool) {
        let header = &self.program.headers[first as usize];
        let fixed = self.constant(u64::from(fixed_bytes(self.program, first)));
        let (zero, one) = (self.constant(0), self.constant(1));
        let old = self.load_at(distance, header.valid);
        if valid {
            let bytes = self.b.ins().select(old, zero, fixed);
            self.add_length(bytes);
            let invalid = self.b.ins().icmp_imm(IntCC::Equal, old, 0);
            self.emit_if(invalid, |b| {
                b.store_at(distance, header.base, &vec![zero; header.words as usize]);
            });
            self.store_at(distance, header.valid, &[one]);
        } else {
            let bytes = self.b.ins().select(old, fixed, zero);
            let bytes = self.b.ins().ineg(bytes);
            self.add_length(bytes);
            let zeros = vec![zero; header.words as usize];
            self.store_at(distance, header.base, &zeros);
            self.store_at(distance, header.valid, &[zero]);
        }
    }

    fn push_front(&mut self, stack: u32, count: u32) {
        let stack = &self.program.stacks[stack as usize];
        let count = count.min(stack.size);
        for at in (0..stack.size).rev() {
            match at.checked_sub(count) {
                Some(from) => self.copy_header(stack.first + at, stack.first + from),
                None => self.invalidate_element(stack.first + at),
            }
        }
        let next = self.get(stack.next_index);
        let next = self.b.ins().iadd_imm(next, i64::from(count));
        let size = self.constant(u64::from(stack.size));
        let next = self.b.ins().umin(next, size);
        self.set(stack.next_index, next);
    }

    fn pop_front(&mut self, stack: u32, count: u32) {
        let stack = &self.program.stacks[stack as usize];
        for at in 0..stack.size {
            match at.checked_add(count).filter(|from| *from < stack.size) {
                Some(from) => self.copy_header(stack.first + at, stack.first + from),
                None => self.invalidate_element(stack.first + at),
            }
        }
        let next = self.get(stack.next_index);
        let less = self.b.ins().iadd_imm(next, -i64::from(count));
        let under = self.b.ins().icmp_imm(IntCC::UnsignedLessThan, next, i64::from(count));
        let zero = self.constant(0);
        let next = self.b.ins().select(under, zero, less);
        self.set(stack.next_index, next);
    }

    /// Makes a header invalid. The packet's length does not change, since a stack is shifted.
    fn invalidate_element(&mut self, header: u32) {
        self.clear(header);
        let zero = self.constant(0);
        self.set(self.program.headers[header as usize].valid, zero);
    }

    /// Stores the keys for a helper.
    pub(super) fn store_keys(&mut self, keys: &[Value]) {
        let buffer = self.context_constant(field!(keys));
        for (i, key) in keys.iter().enumerate() {
            self.b.ins().store(super::builder::context_memory(), *key, buffer, i as i32 * 8);
        }
    }

    /// A value truncated or zero-extended to `width` bits.
    pub(super) fn resized(&mut self, mut value: Vec<Value>, width: u32) -> Vec<Value> {
        let zero = self.constant(0);
        value.resize(words(width), zero);
        value
    }
}
