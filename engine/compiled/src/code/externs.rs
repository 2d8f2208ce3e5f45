//! Compiles calls of v1model's externs.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use netkv_dataplane::{CounterData, RegisterLayout};
use netkv_ir::{Expr, HashAlgorithm, HashInput, Op, Place};

use super::builder::{Builder, context_memory, field, objects_memory};
use crate::checksum_lists::adds_words;
use crate::crc::{self, Crc};
use crate::helpers::{self, ALGORITHMS};

impl Builder<'_> {
    pub(super) fn extern_op(&mut self, op: &Op) {
        match op {
            Op::RegisterRead { register, index, to } => {
                self.register_read(*register as usize, index, *to);
            }
            Op::RegisterWrite { register, index, value } => {
                let value = self.expr(value);
                self.register_write(*register as usize, index, &value);
            }
            Op::Count { counter, index } => self.count_packet(*counter as usize, index),
            Op::ExecuteMeter { meter, index, to } => {
                let (meter, index) = (self.constant(u64::from(*meter)), self.saturated(index));
                let colour = self.call_for_result(helpers::meter as *const (), &[meter, index]);
                let known = self.b.ins().icmp_imm(IntCC::NotEqual, colour, -1);
                self.emit_if(known, |b| b.store_number(*to, colour));
            }
            Op::ReadDirectMeter { meter, to } => {
                let meter = self.constant(u64::from(*meter));
                let colour = self.call_for_result(helpers::direct_meter as *const (), &[meter]);
                self.store_number(*to, colour);
            }
            Op::Hash { to, algorithm, base, data, max } => {
                let hash = self.hash(*algorithm, data, false);
                let base = self.truncated(base);
                let rest = match max {
                    Expr::Const(max) if max.words[0].is_power_of_two() => {
                        self.b.ins().band_imm(hash, (max.words[0] - 1) as i64)
                    }
                    max => {
                        let max = self.truncated(max);
                        self.remainder(hash, max)
                    }
                };
                let value = self.b.ins().iadd(base, rest);
                self.store_number(*to, value);
            }
            Op::Random { to, low, high } => {
                let (low, high) = (self.truncated(low), self.truncated(high));
                let value = self.call_for_result(helpers::random as *const (), &[low, high]);
                self.store_number(*to, value);
            }
            Op::VerifyChecksum { cond, data, checksum, algorithm, with_payload } => {
                let cond = self.narrow_expr(cond);
                self.emit_if(cond, |b| {
                    let found = b.hash(*algorithm, data, *with_payload);
                    let expected = b.truncated(checksum);
                    let wrong = b.b.ins().icmp(IntCC::NotEqual, found, expected);
                    b.emit_if(wrong, |b| {
                        b.store_constant(b.program.standard_metadata.checksum_error, 1);
                    });
                });
            }
            Op::UpdateChecksum { cond, data, to, header, algorithm, with_payload } => {
                let mut cond = self.narrow_expr(cond);
                if let Some(header) = header {
                    let valid = self.get(self.program.headers[*header as usize].valid);
                    cond = self.and(cond, valid);
                }
                self.emit_if(cond, |b| {
                    let sum = b.hash(*algorithm, data, *with_payload);
                    b.store_number(*to, sum);
                });
            }
            Op::Assert { cond, assertion } => {
                let cond = self.narrow_expr(cond);
                let failed = self.b.ins().icmp_imm(IntCC::Equal, cond, 0);
                let offset = *assertion as usize * size_of::<u64>();
                self.emit_if(failed, |b| b.count(field!(failed_assertions), offset));
            }
            // `log_msg` has output in traces only, which the interpreter makes.
            _ => debug_assert!(matches!(op, Op::Log { .. }), "{op:?} has no compiled form"),
        }
    }

    /// The remainder; 0 for a division by 0.
    fn remainder(&mut self, value: Value, divisor: Value) -> Value {
        let one = self.constant(1);
        let zero = self.constant(0);
        let by_zero = self.b.ins().icmp_imm(IntCC::Equal, divisor, 0);
        let divisor = self.b.ins().select(by_zero, one, divisor);
        let rest = self.b.ins().urem(value, divisor);
        self.b.ins().select(by_zero, zero, rest)
    }

    /// The address of a cell, which must exist.
    fn cell(&mut self, layout: &RegisterLayout, index: Value) -> Value {
        let blocks = self.context_constant(field!(registers));
        let flags =
            cranelift_codegen::ir::MemFlags::new().with_notrap().with_readonly().with_can_move();
        let block = self.b.ins().load(types::I64, flags, blocks, layout.block as i32 * 8);
        let distance = self.b.ins().imul_imm(index, layout.stride as i64);
        self.b.ins().iadd(block, distance)
    }

    fn register_read(&mut self, register: usize, index: &Expr, to: Place) {
        let layout = self.shapes.registers[register];
        if layout.size == 0 {
            return;
        }
        let inside = self.plan.bounds.max_value(index) < u64::from(layout.size);
        let index = self.saturated(index);
        if inside {
            let value = self.read_cell(register, index);
            self.store(to, &value);
            return;
        }
        // If the index is out of range, the first cell is read and its value ignored.
        let known = self.b.ins().icmp_imm(IntCC::UnsignedLessThan, index, i64::from(layout.size));
        let zero = self.constant(0);
        let index = self.b.ins().select(known, index, zero);
        let value = self.read_cell(register, index);
        for (word, value) in (to.word..).zip(value) {
            let old = self.get(word);
            let value = self.b.ins().select(known, value, old);
            self.set(word, value);
        }
    }

    fn read_cell(&mut self, register: usize, index: Value) -> Vec<Value> {
        let layout = &self.shapes.registers[register];
        let at = self.cell(layout, index);
        let (flags, offset) = (objects_memory(), layout.offset as i32);
        let value = match layout.cell {
            1 => self.b.ins().uload8(types::I64, flags, at, offset),
            2 => self.b.ins().uload16(types::I64, flags, at, offset),
            4 => self.b.ins().uload32(flags, at, offset),
            bytes => {
                let words: Vec<Value> = (0..bytes as i32 / 8)
                    .map(|i| self.b.ins().load(types::I64, flags, at, offset + 8 * i))
                    .collect();
                self.cells.note_read(register, at, offset, &words);
                return words;
            }
        };
        vec![value]
    }

    fn register_write(&mut self, register: usize, index: &Expr, value: &[Value]) {
        let layout = self.shapes.registers[register];
        let inside = self.plan.bounds.max_value(index) < u64::from(layout.size);
        let index = self.saturated(index);
        if inside {
            self.write_cell(register, index, value);
            return;
        }
        let known = self.b.ins().icmp_imm(IntCC::UnsignedLessThan, index, i64::from(layout.size));
        self.emit_if(known, |b| b.write_cell(register, index, value));
    }

    fn write_cell(&mut self, register: usize, index: Value, value: &[Value]) {
        self.cells.note_write(register);
        let layout = &self.shapes.registers[register];
        let at = self.cell(layout, index);
        let (flags, offset) = (objects_memory(), layout.offset as i32);
        match layout.cell {
            1 => drop(self.b.ins().istore8(flags, value[0], at, offset)),
            2 => drop(self.b.ins().istore16(flags, value[0], at, offset)),
            4 => drop(self.b.ins().istore32(flags, value[0], at, offset)),
            _ => self.write_cell_words(value, at, offset),
        }
    }

    fn count_packet(&mut self, counter: usize, index: &Expr) {
        let size = self.program.counters[counter].size;
        let inside = self.plan.bounds.max_value(index) < u64::from(size);
        let index = self.saturated(index);
        let known = match inside {
            true => self.constant(1),
            false => self.b.ins().icmp_imm(IntCC::UnsignedLessThan, index, i64::from(size)),
        };
        self.emit_if(known, |b| {
            let cells = b.context_constant(field!(counters));
            let cells = b.b.ins().load(types::I64, context_memory(), cells, counter as i32 * 8);
            let distance = b.b.ins().imul_imm(index, size_of::<CounterData>() as i64);
            let at = b.b.ins().iadd(cells, distance);
            let bytes = b.context_constant(field!(ingress_length));
            for (offset, more) in [
                (std::mem::offset_of!(CounterData, packets), None),
                (std::mem::offset_of!(CounterData, bytes), Some(bytes)),
            ] {
                let (flags, offset) = (objects_memory(), offset as i32);
                let value = b.b.ins().load(types::I64, flags, at, offset);
                let value = match more {
                    None => b.b.ins().iadd_imm(value, 1),
                    Some(more) => b.b.ins().iadd(value, more),
                };
                b.b.ins().store(flags, value, at, offset);
            }
        });
    }

    /// The hash of a list of values, without fields of invalid headers.
    fn hash(&mut self, algorithm: HashAlgorithm, data: &[HashInput], payload: bool) -> Value {
        if adds_words(algorithm, data) {
            return self.checksum_of_list(data, payload);
        }
        let header = data.first().and_then(|input| input.header);
        let uniform = data.iter().all(|input| input.header == header);
        let fixed = data.iter().all(|input| input.varbit_length.is_none());
        if !uniform || !fixed || payload {
            return self.hash_variable_length(algorithm, data, payload);
        }
        let Some(header) = header else { return self.hash_constant_length(algorithm, data) };
        // The input is the complete list or empty.
        let valid = self.get(self.program.headers[header as usize].valid);
        let result = self.b.declare_var(types::I64);
        self.emit_if_else(
            valid,
            |b| {
                let value = b.hash_constant_length(algorithm, data);
                b.b.def_var(result, value);
            },
            |b| {
                let value = b.hash_constant_length(algorithm, &[]);
                b.b.def_var(result, value);
            },
        );
        self.b.use_var(result)
    }

    /// A hash over values that are all present.
    fn hash_constant_length(&mut self, algorithm: HashAlgorithm, data: &[HashInput]) -> Value {
        let values: Vec<(Vec<Value>, u32)> =
            data.iter().map(|input| (self.expr(&input.value), input.value.width())).collect();
        let bits: u32 = values.iter().map(|(_, width)| width).sum();
        if algorithm == HashAlgorithm::Csum16 {
            return self.checksum(&values);
        }
        if let Some(crc) = self.short_crc(algorithm, &values) {
            return crc;
        }
        let chunks = self.pack(&values);
        if algorithm == HashAlgorithm::Identity {
            // Up to eight bytes, as a number.
            let Some(first) = chunks.first() else { return self.constant(0) };
            let bytes = first.bits.div_ceil(8);
            return self.b.ins().ushr_imm(first.value, i64::from(64 - 8 * bytes));
        }
        let buffer = self.context_constant(field!(hash));
        self.write(&chunks, buffer, context_memory());
        let (algorithm, length) =
            (self.algorithm(algorithm), self.constant(u64::from(bits.div_ceil(8))));
        self.call_for_result(helpers::hash as *const (), &[algorithm, length])
    }

    /// The CRC of a string of 4 to [`crc::LONGEST`] bytes, if there is code for it.
    fn short_crc(
        &mut self,
        algorithm: HashAlgorithm,
        values: &[(Vec<Value>, u32)],
    ) -> Option<Value> {
        let bits: u32 = values.iter().map(|(_, width)| width).sum();
        if !bits.is_multiple_of(8) || !(4..=crc::LONGEST).contains(&(bits / 8)) {
            return None;
        }
        let crc = Crc::new(algorithm)?;
        let (size, function) =
            if bits <= 128 { (16, crc.of[0]) } else { (crc::LONGEST, crc.of[1]) };
        let start = size - bits / 8;
        let mut aligned = Vec::new();
        if start > 0 {
            let zero = self.constant(0);
            aligned.push((vec![zero; (start as usize).div_ceil(8)], 8 * start));
        }
        aligned.extend_from_slice(values);
        let mut words = Vec::new();
        for (chunk, added) in self.pack(&aligned).iter().zip(crc::at_start(crc.added, start)) {
            let word = self.b.ins().bswap(chunk.value);
            words.push(self.b.ins().bxor_imm(word, added as i64));
        }
        let result = self.call_without_context(function, &words, true)?;
        Some(self.b.ins().bxor_imm(result, i64::from(crc.added)))
    }

    /// A hash whose input depends on the packet.
    fn hash_variable_length(
        &mut self,
        algorithm: HashAlgorithm,
        data: &[HashInput],
        payload: bool,
    ) -> Value {
        self.call(helpers::bits_start as *const (), &[], false);
        for input in data {
            let width = input.value.width();
            let value = self.expr(&input.value);
            let value = self.resized(value, width);
            let there = match input.header {
                None => self.constant(1),
                Some(header) => self.get(self.program.headers[header as usize].valid),
            };
            self.emit_if(there, |b| {
                let at = b.spill(&value);
                let max_value = b.constant(u64::from(width));
                let bits = match input.varbit_length {
                    None => max_value,
                    Some(word) => {
                        let bits = b.get(word);
                        b.b.ins().umin(bits, max_value)
                    }
                };
                b.call(helpers::bits_push as *const (), &[at, bits], false);
            });
        }
        if payload {
            let [cursor, limit] =
                [self.vars.cursor, self.vars.truncate].map(|var| self.b.use_var(var));
            self.call(helpers::bits_payload as *const (), &[cursor, limit], false);
        }
        let algorithm = self.algorithm(algorithm);
        self.call_for_result(helpers::bits_hash as *const (), &[algorithm])
    }

    fn algorithm(&mut self, algorithm: HashAlgorithm) -> Value {
        let at = ALGORITHMS.iter().position(|other| *other == algorithm);
        self.constant(at.expect("all algorithms are in the list") as u64)
    }
}
