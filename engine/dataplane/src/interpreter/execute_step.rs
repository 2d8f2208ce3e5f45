//! Executes the prepared steps.

use crate::bits;
use crate::hash;
use crate::interpreter::prepared_expr::NarrowExpr;
use crate::interpreter::prepared_graph::{HashPart, HashValue, Step};
use crate::interpreter::prepared_program::PreparedProgram;
use crate::objects::Objects;
use crate::packet::Packet;
use crate::standard_metadata::DROP_PORT;
use crate::wide;

/// How execution continues after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    Next,
    /// The graph ends with this parser error.
    Error(u64),
    /// The graph ends.
    End,
}

impl PreparedProgram {
    /// Executes one step.
    #[inline]
    pub(crate) fn execute_step(
        &self,
        step: &Step,
        packet: &mut Packet,
        objects: &mut Objects,
    ) -> Flow {
        match step {
            Step::Set { to, value } => packet.state.words[*to as usize] = *value,
            Step::Copy { to, from } => {
                packet.state.words[*to as usize] = packet.state.words[*from as usize];
            }
            Step::Assign { to, value } => {
                packet.state.words[*to as usize] = value.eval(&mut packet.state);
            }
            Step::AssignWide { to, words, value } => {
                let (at, to) = (value.push(&mut packet.state), *to as usize);
                let state = &mut packet.state;
                state.words[to..to + *words as usize].copy_from_slice(&state.scratch[at..]);
                state.scratch.truncate(at);
            }
            Step::AssignSlice { to, low, mask, value } => {
                let value = value.eval(&mut packet.state);
                let word = &mut packet.state.words[*to as usize];
                *word = (*word & !(mask << low)) | (value << low);
            }
            Step::AssignSliceWide { to, low, width, value } => {
                let at = value.push(&mut packet.state);
                let place = to.word as usize..(to.word + to.words()) as usize;
                let state = &mut packet.state;
                wide::deposit(&mut state.words[place], *low, *width, &state.scratch[at..]);
                state.scratch.truncate(at);
            }
            Step::StoreElement { to, index, value } => {
                let index = index.eval(&mut packet.state);
                let at = value.push(&mut packet.state);
                let state = &mut packet.state;
                if index < to.elements.size {
                    let first = to.word as usize + index as usize * to.elements.stride as usize;
                    state.words[first..first + to.words as usize]
                        .copy_from_slice(&state.scratch[at..]);
                }
                state.scratch.truncate(at);
            }
            Step::CopyHeader { to, from } => self.headers[*to as usize]
                .copy_from(&self.headers[*from as usize], &mut packet.state.words),
            Step::CopyWords { to, from, words } => {
                let from = *from as usize;
                packet.state.words.copy_within(from..from + *words as usize, *to as usize);
            }
            Step::ZeroWords { to, words } => {
                let to = *to as usize;
                packet.state.words[to..to + *words as usize].fill(0);
            }
            Step::RegisterRead { register, index, to, words } => {
                let index = index.eval(&mut packet.state);
                let place = &mut packet.state.words[*to as usize..(*to + *words) as usize];
                objects.registers.read(*register as usize, index, place);
            }
            Step::RegisterWriteNarrow { register, index, value } => {
                let index = index.eval(&mut packet.state);
                let value = value.eval(&mut packet.state);
                objects.registers.write(*register as usize, index, &[value]);
            }
            Step::RegisterWrite { register, index, value } => {
                let index = index.eval(&mut packet.state);
                let at = value.push(&mut packet.state);
                objects.registers.write(*register as usize, index, &packet.state.scratch[at..]);
                packet.state.scratch.truncate(at);
            }
            Step::SetValid(header) => self.set_valid(*header, packet),
            Step::SetInvalid(header) => self.set_invalid(*header, packet),
            Step::SetValidElement { stack, index, valid } => {
                let stack = &self.stacks[*stack as usize];
                let index = index.eval(&mut packet.state);
                if index < u64::from(stack.size) {
                    let header = stack.first + index as u32;
                    if *valid {
                        self.set_valid(header, packet);
                    } else {
                        self.set_invalid(header, packet);
                    }
                }
            }
            Step::PushFront { stack, count } => self.push_front(*stack, *count, packet),
            Step::PopFront { stack, count } => self.pop_front(*stack, *count, packet),
            Step::Emit(header) => {
                self.headers[*header as usize].emit(&packet.state.words, &mut packet.deparsed);
            }
            Step::EmitStack(stack) => {
                let stack = &self.stacks[*stack as usize];
                for header in &self.headers[stack.first as usize..][..stack.size as usize] {
                    header.emit(&packet.state.words, &mut packet.deparsed);
                }
            }
            Step::Extract(_)
            | Step::ExtractNext(_)
            | Step::ExtractVarbit { .. }
            | Step::Lookahead { .. }
            | Step::Advance(_)
            | Step::Verify { .. }
            | Step::CheckStackLast(_)
            | Step::Reject => return self.execute_parser_step(step, packet),
            _ => self.execute_extern(step, packet, objects),
        }
        Flow::Next
    }

    /// Executes a call of a v1model extern.
    fn execute_extern(&self, step: &Step, packet: &mut Packet, objects: &mut Objects) {
        match step {
            Step::Count { counter, index } => {
                let index = index.eval(&mut packet.state);
                let cells = &mut objects.counters[*counter as usize];
                if let Some(cell) = usize::try_from(index).ok().and_then(|i| cells.get_mut(i)) {
                    cell.count(packet.ingress_length);
                }
            }
            Step::ExecuteMeter { meter, index, to } => {
                let index = index.eval(&mut packet.state);
                let (bytes, now_ns) = (packet.ingress_length, packet.now_ns);
                if let Some(colour) = objects.execute_meter(*meter as usize, index, bytes, now_ns) {
                    packet.set(*to, colour);
                }
            }
            Step::ReadDirectMeter { meter, to } => {
                packet.set(*to, objects.direct_colours[*meter as usize]);
            }
            Step::Hash { to, algorithm, base, data, max } => {
                self.collect_hash_input(data, packet);
                let hash = hash::hash(*algorithm, packet.hash_input.bytes(), &mut objects.random);
                let base = base.eval(&mut packet.state);
                let max = max.eval(&mut packet.state);
                let value = base.wrapping_add(hash.checked_rem(max).unwrap_or(0));
                packet.set(*to, value);
            }
            Step::Random { to, low, high } => {
                let low = low.eval(&mut packet.state);
                let high = high.eval(&mut packet.state);
                packet.set(*to, objects.random.between(low, high));
            }
            Step::VerifyChecksum { cond, data, checksum, algorithm, with_payload } => {
                if cond.eval(&mut packet.state) == 1 {
                    let found =
                        self.compute_checksum(data, *with_payload, *algorithm, packet, objects);
                    if found != checksum.eval(&mut packet.state) {
                        packet.set(self.standard.checksum_error, 1);
                    }
                }
            }
            Step::UpdateChecksum { cond, data, to, valid, algorithm, with_payload } => {
                let header = valid.is_none_or(|word| packet.state.words[word as usize] == 1);
                if cond.eval(&mut packet.state) == 1 && header {
                    let sum =
                        self.compute_checksum(data, *with_payload, *algorithm, packet, objects);
                    packet.set(*to, sum);
                }
            }
            Step::MarkToDrop => {
                packet.set(self.standard.egress_spec, DROP_PORT);
                packet.set(self.standard.mcast_grp, 0);
            }
            Step::Clone { session, field_list } => {
                let session = session.eval(&mut packet.state);
                packet.requests.set_clone(session, *field_list);
            }
            Step::Resubmit(list) => packet.requests.set_resubmit(*list),
            Step::Recirculate(list) => packet.requests.set_recirculate(*list),
            Step::Digest { digest, values } => {
                packet.requests.set_digest(*digest);
                packet.digest_values.clear();
                for value in values {
                    let at = value.push(&mut packet.state);
                    packet.digest_values.extend_from_slice(&packet.state.scratch[at..]);
                    packet.state.scratch.truncate(at);
                }
            }
            Step::Truncate(bytes) => {
                let bytes = bytes.eval(&mut packet.state);
                packet.requests.set_truncate(bytes);
            }
            Step::Assert { cond, assertion } => {
                objects.failed_assertions[*assertion as usize] +=
                    u64::from(cond.eval(&mut packet.state) == 0);
            }
            _ => debug_assert!(matches!(step, Step::Log), "{step:?} is run elsewhere"),
        }
    }

    /// Executes a step of the parser that may fail.
    fn execute_parser_step(&self, step: &Step, packet: &mut Packet) -> Flow {
        match step {
            Step::Extract(header) => self.extract(*header, packet),
            Step::ExtractNext(stack) => {
                let stack = &self.stacks[*stack as usize];
                let next = packet.state.words[stack.next_index as usize];
                if next >= u64::from(stack.size) {
                    return Flow::Error(self.errors.stack_out_of_bounds);
                }
                let flow = self.extract(stack.first + next as u32, packet);
                if flow == Flow::Next {
                    packet.state.words[stack.next_index as usize] = next + 1;
                }
                flow
            }
            Step::ExtractVarbit { header, bits } => self.extract_varbit(*header, bits, packet),
            Step::Lookahead { to, skip, need } => {
                if packet.bits_left() < *need as usize {
                    return Flow::Error(self.errors.packet_too_short);
                }
                let place = to.word as usize..(to.word + to.words()) as usize;
                let at = packet.cursor + *skip as usize;
                let words = &mut packet.state.words[place];
                bits::read_words(&packet.bytes, at, to.width, words);
                Flow::Next
            }
            Step::Advance(bits) => {
                let bits = bits.eval(&mut packet.state);
                if !bits.is_multiple_of(8) {
                    return Flow::Error(self.errors.invalid_argument);
                }
                if bits > packet.bits_left() as u64 {
                    return Flow::Error(self.errors.packet_too_short);
                }
                packet.cursor += bits as usize;
                Flow::Next
            }
            Step::Verify { cond, error } => {
                if cond.eval(&mut packet.state) == 1 {
                    Flow::Next
                } else {
                    Flow::Error(error.eval(&mut packet.state))
                }
            }
            Step::CheckStackLast(stack) => {
                let next = self.stacks[*stack as usize].next_index;
                if packet.state.words[next as usize] == 0 {
                    Flow::Error(self.errors.stack_out_of_bounds)
                } else {
                    Flow::Next
                }
            }
            _ => Flow::End,
        }
    }

    fn extract(&self, header: u32, packet: &mut Packet) -> Flow {
        let plan = &self.headers[header as usize];
        let bits = plan.fixed_bits();
        if packet.bits_left() < bits {
            return Flow::Error(self.errors.packet_too_short);
        }
        plan.read(&packet.bytes, packet.cursor, 0, &mut packet.state.words);
        packet.cursor += bits;
        Flow::Next
    }

    /// Extracts a header with a varbit. The checks have the order of bmv2.
    fn extract_varbit(&self, header: u32, bits: &NarrowExpr, packet: &mut Packet) -> Flow {
        let plan = &self.headers[header as usize];
        let varbit = bits.eval(&mut packet.state);
        if !varbit.is_multiple_of(8) {
            return Flow::Error(self.errors.invalid_argument);
        }
        if (packet.bits_left() as u64) < varbit.saturating_add(plan.fixed_bits() as u64) {
            return Flow::Error(self.errors.packet_too_short);
        }
        if varbit > u64::from(plan.varbit.unwrap_or(0)) {
            return Flow::Error(self.errors.header_too_short);
        }
        plan.read(&packet.bytes, packet.cursor, varbit as u32, &mut packet.state.words);
        packet.cursor += plan.fixed_bits() + varbit as usize;
        Flow::Next
    }

    fn set_valid(&self, header: u32, packet: &mut Packet) {
        let plan = &self.headers[header as usize];
        if plan.set_valid(&mut packet.state.words) {
            packet.length = packet.length.wrapping_add((plan.fixed_bits() / 8) as u32);
        }
    }

    fn set_invalid(&self, header: u32, packet: &mut Packet) {
        let plan = &self.headers[header as usize];
        if plan.is_valid(&packet.state.words) {
            let bytes = plan.wire_bits(&packet.state.words) / 8;
            packet.length = packet.length.wrapping_sub(bytes as u32);
        }
        plan.set_invalid(&mut packet.state.words);
    }

    fn push_front(&self, stack: u32, count: u32, packet: &mut Packet) {
        let stack = &self.stacks[stack as usize];
        let count = count.min(stack.size);
        let elements = &self.headers[stack.first as usize..][..stack.size as usize];
        for at in (0..elements.len()).rev() {
            match at.checked_sub(count as usize) {
                Some(from) => elements[at].copy_from(&elements[from], &mut packet.state.words),
                None => elements[at].set_invalid(&mut packet.state.words),
            }
        }
        let next = &mut packet.state.words[stack.next_index as usize];
        *next = (*next + u64::from(count)).min(u64::from(stack.size));
    }

    fn pop_front(&self, stack: u32, count: u32, packet: &mut Packet) {
        let stack = &self.stacks[stack as usize];
        let elements = &self.headers[stack.first as usize..][..stack.size as usize];
        for at in 0..elements.len() {
            match elements.get(at + count as usize) {
                Some(from) => elements[at].copy_from(from, &mut packet.state.words),
                None => elements[at].set_invalid(&mut packet.state.words),
            }
        }
        let next = &mut packet.state.words[stack.next_index as usize];
        *next = next.saturating_sub(u64::from(count));
    }

    /// Concatenates the input of a hash, without the fields of invalid headers.
    pub(crate) fn collect_hash_input(&self, data: &[HashPart], packet: &mut Packet) {
        packet.hash_input.clear();
        for part in data {
            if part.valid.is_some_and(|word| packet.state.words[word as usize] == 0) {
                continue;
            }
            let (value, width) = match &part.value {
                HashValue::Narrow(value) => {
                    let value = value.eval(&mut packet.state);
                    packet.hash_input.push(value, part.width);
                    continue;
                }
                HashValue::Wide(value) => (value, part.width),
                HashValue::Varbit(value, length) => {
                    let bits = packet.state.words[*length as usize] as u32;
                    (value, bits.min(part.width))
                }
            };
            let at = value.push(&mut packet.state);
            packet.hash_input.push_words(&packet.state.scratch[at..], width);
            packet.state.scratch.truncate(at);
        }
    }

    fn compute_checksum(
        &self,
        data: &[HashPart],
        with_payload: bool,
        algorithm: netkv_ir::HashAlgorithm,
        packet: &mut Packet,
        objects: &mut Objects,
    ) -> u64 {
        self.collect_hash_input(data, packet);
        if with_payload {
            let end = packet.payload_end();
            packet.hash_input.push_rest(&packet.bytes[..end], packet.cursor);
        }
        hash::hash(algorithm, packet.hash_input.bytes(), &mut objects.random)
    }
}
