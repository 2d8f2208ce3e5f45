//! Compiles the parser's operations, which read headers from the frame.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};
use netkv_ir::{Expr, Op};

use super::builder::Builder;
use super::ops::Flow;
use crate::helpers;
use crate::position::fixed_bytes;

impl Builder<'_> {
    /// Index of one of core.p4's errors in the program.
    fn error_index(&self, name: &str) -> u64 {
        self.program.errors.iter().position(|error| error == name).unwrap_or(0) as u64
    }

    /// Ends the parser with an error if `cond` is not 0.
    fn fail_if(&mut self, cond: Value, error: &str) {
        let error = self.error_index(error);
        let (fail, next) = (self.new_block(), self.new_block());
        self.b.set_cold_block(fail);
        self.b.ins().brif(cond, fail, &[], next, &[]);
        self.enter(fail);
        let error = self.constant(error);
        self.fail(error);
        self.enter(next);
    }

    /// Ends the graph with an error; closes the block.
    fn fail(&mut self, error: Value) {
        self.store_number(self.program.standard_metadata.parser_error, error);
        self.b.ins().jump(self.end, &[]);
    }

    /// Ends a graph that exceeded the block limit with an error.
    pub(super) fn fail_on_block_limit(&mut self) {
        let error = self.error_index("ParserTimeout");
        let error = self.constant(error);
        self.fail(error);
    }

    /// Bytes parsed.
    fn cursor(&mut self) -> Value {
        match self.position.cursor {
            Some(cursor) => self.constant(u64::from(cursor)),
            None => self.b.use_var(self.vars.cursor),
        }
    }

    fn set_cursor(&mut self, cursor: Value) {
        self.b.def_var(self.vars.cursor, cursor);
    }

    /// Ends the parser unless the frame has `bytes` more.
    fn require_bytes(&mut self, bytes: u32) {
        if let Some(cursor) = self.position.cursor {
            let end = cursor.saturating_add(bytes);
            if end <= self.position.at_least {
                return;
            }
            let short =
                self.b.ins().icmp_imm(IntCC::UnsignedLessThan, self.frame_length, i64::from(end));
            self.fail_if(short, "PacketTooShort");
        } else {
            let left = self.bytes_left();
            let short = self.b.ins().icmp_imm(IntCC::UnsignedLessThan, left, i64::from(bytes));
            self.fail_if(short, "PacketTooShort");
        }
        self.position.require(bytes);
    }

    fn bytes_left(&mut self) -> Value {
        let cursor = self.cursor();
        self.b.ins().isub(self.frame_length, cursor)
    }

    /// The parser's position: an address and a constant offset.
    fn parser_address(&mut self) -> (Value, i32) {
        match self.position.cursor {
            Some(cursor) => (self.frame, cursor as i32),
            None => {
                let cursor = self.cursor();
                (self.b.ins().iadd(self.frame, cursor), 0)
            }
        }
    }

    fn advance_bytes(&mut self, bytes: u32) {
        let cursor = self.cursor();
        let next = self.b.ins().iadd_imm(cursor, i64::from(bytes));
        self.position.read(bytes);
        let next = match self.position.cursor {
            Some(cursor) => self.constant(u64::from(cursor)),
            None => next,
        };
        self.set_cursor(next);
    }

    /// An operation that may end the parser.
    pub(super) fn parse(&mut self, op: &Op) -> Flow {
        match op {
            Op::Extract(header) => {
                let bytes = fixed_bytes(self.program, *header);
                self.require_bytes(bytes);
                self.read_header(*header, bytes);
                self.advance_bytes(bytes);
            }
            Op::ExtractNext(stack) => self.extract_next(*stack),
            Op::ExtractVarbit { header, bits } => self.extract_varbit(*header, bits),
            Op::Lookahead { to, skip, need } => {
                self.require_bytes(need.div_ceil(8));
                let at = self.parser_address();
                let value = self.read_place(at, *skip, to.width, need.div_ceil(8));
                self.store(*to, &value);
            }
            Op::Advance(bits) => self.advance(bits),
            // A slot that is prefetched in vain does no harm.
            Op::Verify { .. } if self.only_slot => {}
            Op::Verify { cond, error } => {
                let cond = self.narrow_expr(cond);
                let (fail, next) = (self.new_block(), self.new_block());
                self.b.set_cold_block(fail);
                self.b.ins().brif(cond, next, &[], fail, &[]);
                self.enter(fail);
                let error = self.narrow_expr(error);
                self.fail(error);
                self.enter(next);
            }
            Op::CheckStackLast(stack) => {
                let next = self.get(self.program.stacks[*stack as usize].next_index);
                let none = self.b.ins().icmp_imm(IntCC::Equal, next, 0);
                self.fail_if(none, "StackOutOfBounds");
            }
            _ => {
                // `transition reject`.
                let end: Block = self.end;
                self.b.ins().jump(end, &[]);
                return Flow::Ended;
            }
        }
        Flow::Next
    }

    fn read_header(&mut self, header: u32, bytes: u32) {
        let info = &self.program.headers[header as usize];
        let at = self.parser_address();
        let mut bit = 0;
        for field in info.fields.iter().filter(|field| field.varbit_length.is_none()) {
            let value = self.read_place(at, bit, field.place.width, bytes);
            self.store(field.place, &value);
            bit += field.place.width;
        }
        let one = self.constant(1);
        self.set(info.valid, one);
    }

    fn extract_next(&mut self, stack: u32) {
        let info = &self.program.stacks[stack as usize];
        let next = self.get(info.next_index);
        let past =
            self.b.ins().icmp_imm(IntCC::UnsignedGreaterThanOrEqual, next, i64::from(info.size));
        self.fail_if(past, "StackOutOfBounds");
        let bytes = fixed_bytes(self.program, info.first);
        self.require_bytes(bytes);
        let distance = self.b.ins().imul_imm(next, i64::from(info.stride) * 8);
        let at = self.parser_address();
        let header = &self.program.headers[info.first as usize];
        let mut bit = 0;
        for field in &header.fields {
            let value = self.read_place(at, bit, field.place.width, bytes);
            self.store_at(distance, field.place.word, &value);
            bit += field.place.width;
        }
        let one = self.constant(1);
        self.store_at(distance, header.valid, &[one]);
        self.advance_bytes(bytes);
        let next = self.b.ins().iadd_imm(next, 1);
        self.set(info.next_index, next);
    }

    /// The order of the checks is bmv2's.
    fn extract_varbit(&mut self, header: u32, bits: &Expr) {
        let info = &self.program.headers[header as usize];
        let fixed = fixed_bytes(self.program, header);
        let varbit = info.fields.iter().find(|field| field.varbit_length.is_some());
        let max_value = varbit.map_or(0, |field| field.place.width);
        let bits = self.saturated(bits);
        let odd = self.b.ins().band_imm(bits, 7);
        self.fail_if(odd, "ParserInvalidArgument");
        let bytes = self.b.ins().ushr_imm(bits, 3);
        let all = self.b.ins().iadd_imm(bytes, i64::from(fixed));
        let left = self.bytes_left();
        let short = self.b.ins().icmp(IntCC::UnsignedLessThan, left, all);
        self.fail_if(short, "PacketTooShort");
        let long = self.b.ins().icmp_imm(IntCC::UnsignedGreaterThan, bits, i64::from(max_value));
        self.fail_if(long, "HeaderTooShort");
        let (id, cursor) = (self.constant(u64::from(header)), self.cursor());
        let arguments = [id, cursor, bits, self.frame, self.frame_length];
        self.call(helpers::extract as *const (), &arguments, false);
        let next = self.b.ins().iadd(cursor, all);
        self.position.cursor = None;
        self.set_cursor(next);
    }

    fn advance(&mut self, bits: &Expr) {
        if let Expr::Const(value) = bits
            && value.width <= 64
            && value.words[0].is_multiple_of(8)
            && value.words[0] < 1 << 20
        {
            let bytes = value.words[0] as u32 / 8;
            self.require_bytes(bytes);
            self.advance_bytes(bytes);
            return;
        }
        let bits = self.saturated(bits);
        let odd = self.b.ins().band_imm(bits, 7);
        self.fail_if(odd, "ParserInvalidArgument");
        let bytes = self.b.ins().ushr_imm(bits, 3);
        let left = self.bytes_left();
        let short = self.b.ins().icmp(IntCC::UnsignedLessThan, left, bytes);
        self.fail_if(short, "PacketTooShort");
        let cursor = self.cursor();
        let next = self.b.ins().iadd(cursor, bytes);
        self.position.cursor = None;
        self.set_cursor(next);
    }

    /// Reads `width` bits at bit `bit` after `at`. The frame has `bytes` bytes there.
    fn read_place(&mut self, at: (Value, i32), bit: u32, width: u32, bytes: u32) -> Vec<Value> {
        let mut value = Vec::new();
        let mut left = width;
        while left > 0 {
            let take = left.min(64);
            left -= take;
            let word = self.read_bits(at, bit + left, take, bytes);
            if at.0 == self.frame {
                self.origins.insert(word, (8 * at.1 as u32 + bit + left, take));
            }
            value.push(word);
        }
        value
    }

    /// Reads at most 64 bits. The memory has `bytes` bytes from `at`.
    pub(super) fn read_bits(
        &mut self,
        at: (Value, i32),
        bit: u32,
        width: u32,
        bytes: u32,
    ) -> Value {
        let (first, last) = (bit / 8, (bit + width - 1) / 8);
        let span = last - first + 1;
        if span > 8 {
            // Nine bytes: the first eight, and the bits of the last one.
            let high_bits = 8 * (last - first) - bit % 8;
            let high = self.read_bits(at, bit, high_bits, bytes);
            let low = self.read_bits(at, bit + high_bits, width - high_bits, bytes);
            let high = self.b.ins().ishl_imm(high, i64::from(width - high_bits));
            return self.b.ins().bor(high, low);
        }
        let (from, size) = window(first, span, bytes);
        let value = self.load_be(at, from, size);
        // Number of bits after the field in the window.
        let bits_after = 8 * (from + size) - (bit + width);
        let value = if bits_after > 0 {
            self.b.ins().ushr_imm(value, i64::from(bits_after))
        } else {
            value
        };
        if 8 * size - bits_after > width { self.truncate_to(value, width) } else { value }
    }

    /// A big-endian number of 1 to 8 bytes.
    fn load_be(&mut self, (base, offset): (Value, i32), from: u32, size: u32) -> Value {
        let (flags, offset) = (self.frame_flags, offset + from as i32);
        match size {
            // Not `uload8`: Cranelift leaves it where it is, even if only some paths use its value.
            1 | 2 | 4 | 8 => {
                let ty = types::Type::int(size as u16 * 8).unwrap_or(types::I64);
                let value = self.b.ins().load(ty, flags, base, offset);
                let value = if size == 1 { value } else { self.b.ins().bswap(value) };
                if size == 8 { value } else { self.b.ins().uextend(types::I64, value) }
            }
            _ => {
                // Two loads of the exact size: the frame may end there.
                let front = if size > 4 { 4 } else { 2 };
                let high = self.load_be((base, offset), 0, front);
                let low = self.load_be((base, offset), front, size - front);
                let high = self.b.ins().ishl_imm(high, i64::from(8 * (size - front)));
                self.b.ins().bor(high, low)
            }
        }
    }
}

/// The bytes to load for `span` bytes at byte `first` of a range of `bytes`: with a minimum number
/// of loads, and none beyond the end of the range.
fn window(first: u32, span: u32, bytes: u32) -> (u32, u32) {
    match span {
        1 | 2 | 4 | 8 => (first, span),
        3 if bytes >= 4 => (first.min(bytes - 4), 4),
        5..=7 if bytes >= 8 => (first.min(bytes - 8), 8),
        _ => (first, span),
    }
}
