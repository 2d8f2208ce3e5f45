//! The copies of a multicast packet.
//!
//! They pass egress one after the other, each from the values at the end of ingress: constants,
//! bits of the received frame, and others, which are on the stack meanwhile. Those that egress does
//! not access are read only if the packet is stored. The last copy continues as a
//! packet of its own: it may be recirculated or cloned. Another copy that asks for this is returned
//! to the switch, with the packet of the copies after it.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, StackSlotData, StackSlotKind, Value, types};
use cranelift_frontend::Variable;
use netkv_dataplane::{CopyTarget, NO_LIST, Tally, instance};
use netkv_ir::Word;

use super::builder::{Builder, field, objects_memory};
use super::copy_loop::{Copies, Kept, Original};
use crate::context::{GroupView, outcome};
use crate::helpers;
use crate::words::Words;

/// Bytes of a target in memory.
const TARGET: i64 = size_of::<CopyTarget>() as i64;

/// How the egress of a copy is compiled, to the sent frame.
pub(super) struct EgressOfCopy<'a> {
    /// The words that it accesses.
    pub(super) accessed: Words,
    pub(super) compile: &'a dyn Fn(&mut Builder<'_>),
}

impl Builder<'_> {
    /// Runs `egress` for each copy of the packet, if nothing else is requested and code can make
    /// the copies of its group. Continues in the current block otherwise.
    pub(super) fn multicast(&mut self, egress: &EgressOfCopy<'_>) {
        let copies = self.new_block();
        let [first, end] = self.leave_for_copies(copies);
        let other = self.b.current_block().expect("a block follows the branch");
        self.enter(copies);
        self.each_copy(first, end, egress);
        self.b.switch_to_block(other);
    }

    /// Jumps to `copies` if there are some that code can make. Returns the addresses of the first
    /// target and of the end of the targets.
    fn leave_for_copies(&mut self, copies: Block) -> [Value; 2] {
        let (in_table, other) = (self.new_block(), self.new_block());
        self.b.set_cold_block(other);
        let group = self.get(self.program.standard_metadata.mcast_grp.word);
        let flags = self.b.use_var(self.vars.flags);
        let groups = self.context_constant(field!(group_count));
        let known = self.b.ins().icmp(IntCC::UnsignedLessThan, group, groups);
        let no_more = self.b.ins().icmp_imm(IntCC::Equal, flags, 0);
        let mut known = self.b.ins().band(known, no_more);
        if let Some(unlimited) = self.is_unlimited() {
            // The copies of a packet with a limit have another payload.
            known = self.b.ins().band(known, unlimited);
        }
        self.b.ins().brif(known, in_table, &[], other, &[]);
        self.enter(in_table);
        let groups = self.context_constant(field!(groups));
        let offset = self.b.ins().imul_imm(group, size_of::<GroupView>() as i64);
        let view = self.b.ins().iadd(groups, offset);
        let [first, end] =
            [std::mem::offset_of!(GroupView, first), std::mem::offset_of!(GroupView, end)]
                .map(|at| self.b.ins().load(types::I64, objects_memory(), view, at as i32));
        let some = self.b.ins().icmp(IntCC::NotEqual, first, end);
        self.b.ins().brif(some, copies, &[], other, &[]);
        self.enter(other);
        [first, end]
    }

    /// The loop. The function ends with the last copy.
    fn each_copy(&mut self, first: Value, end: Value, egress: &EgressOfCopy<'_>) {
        let bytes = self.b.ins().isub(end, first);
        let count = self.b.ins().udiv_imm(bytes, TARGET);
        self.context_store(field!(copies), count);
        self.add_to_tally(field!(tally) + std::mem::offset_of!(Tally, replicated) as i32, count);
        let standard = &self.program.standard_metadata;
        self.store_constant(standard.instance_type, instance::REPLICATED);
        let needed = self.needed_after_ingress();
        let zero = self.constant(0);
        let words = 0..self.program.state_words;
        let keep = |word| if needed.contains(word) { self.keep(word) } else { Kept::Value(zero) };
        let original = Original {
            words: words.map(keep).collect(),
            cursor: self.b.use_var(self.vars.cursor),
            length: self.b.use_var(self.vars.length),
        };
        let target: Variable = self.b.declare_var(types::I64);
        self.b.def_var(target, first);
        let (copy, following) = (self.new_block(), self.new_block());
        self.b.ins().jump(copy, &[]);
        self.b.switch_to_block(copy);
        self.cells.forget();
        let frame = self.frame;
        self.reload_frame();
        let at = self.b.use_var(target);
        let next = self.b.ins().iadd_imm(at, TARGET);
        let is_last = self.b.ins().icmp(IntCC::Equal, next, end);
        self.become_copy(&original, &egress.accessed);
        let [port, instance] =
            [std::mem::offset_of!(CopyTarget, port), std::mem::offset_of!(CopyTarget, instance)]
                .map(|field| self.b.ins().load(types::I64, objects_memory(), at, field as i32));
        self.store_number(standard.egress_rid, instance);
        self.enter_egress(port);
        self.copies = Some(Copies { following, is_last, next, first, original });
        (egress.compile)(self);
        self.copies = None;
        self.in_slots.clear();
        self.set_frame(frame);
        self.enter(following);
        self.b.def_var(target, next);
        self.b.ins().jump(copy, &[]);
        self.b.seal_block(copy);
    }

    /// The words that code or the switch may read after ingress, without those that are set for
    /// each copy.
    fn needed_after_ingress(&self) -> Words {
        let mut needed = self.plan.live_after_ingress();
        let standard = &self.program.standard_metadata;
        for place in [
            standard.egress_port,
            standard.egress_spec,
            standard.egress_rid,
            standard.packet_length,
            standard.enq_timestamp,
            standard.enq_qdepth,
            standard.deq_timedelta,
            standard.deq_qdepth,
            standard.egress_global_timestamp,
        ] {
            (place.word..place.word + place.words()).for_each(|word| needed.remove(word));
        }
        needed
    }

    fn keep(&mut self, word: Word) -> Kept {
        let value = self.get(word);
        let value = self.b.func.dfg.resolve_aliases(value);
        if self.in_recirculation
            || self.number(value).is_some()
            || self.origins.contains_key(&value)
        {
            return Kept::Value(value);
        }
        let data = StackSlotData::new(StackSlotKind::ExplicitSlot, 8, 3);
        let slot = self.b.create_sized_stack_slot(data);
        self.b.ins().stack_store(value, slot, 0);
        Kept::Slot(slot)
    }

    fn kept(&mut self, kept: Kept) -> Value {
        match kept {
            Kept::Value(value) => value,
            Kept::Slot(slot) => self.b.ins().stack_load(types::I64, slot, 0),
        }
    }

    /// Sets the values of the packet to those of the original. Only those that egress accesses are
    /// loaded at once.
    fn become_copy(&mut self, original: &Original, accessed: &Words) {
        for (word, kept) in (0..).zip(&original.words) {
            match kept {
                Kept::Slot(slot) if !accessed.contains(word) => {
                    self.in_slots.insert(word, *slot);
                }
                _ => {
                    let value = self.kept(*kept);
                    self.set(word, value);
                }
            }
        }
        let (zero, none) = (self.constant(0), self.constant(NO_LIST));
        let vars = self.vars;
        for var in [vars.flags, vars.clone_session, vars.digest, vars.written] {
            self.b.def_var(var, zero);
        }
        for var in [vars.clone_list, vars.resubmit_list, vars.recirculate_list, vars.truncate] {
            self.b.def_var(var, none);
        }
        self.b.def_var(vars.cursor, original.cursor);
        self.b.def_var(vars.length, original.length);
    }

    /// Continues with the next copy after one that was dropped. Continues in the current block
    /// after the last one, or if there are no copies.
    pub(super) fn follow_dropped(&mut self) {
        let dropped = field!(tally) + std::mem::offset_of!(Tally, dropped_egress) as i32;
        self.follow(|b| {
            let one = b.constant(1);
            b.add_to_tally(dropped, one);
        });
    }

    /// Returns with the frame in `out`, or continues with the next copy.
    pub(super) fn return_sent(&mut self) {
        self.follow(|b| {
            b.call(helpers::commit as *const (), &[], false);
        });
        let is_first = self.copies.is_none() && !self.in_recirculation;
        self.return_outcome(if !is_first { outcome::SENT_COPY } else { outcome::SENT });
    }

    fn follow(&mut self, before: impl FnOnce(&mut Self)) {
        let Some(Copies { following, is_last, .. }) = self.copies else { return };
        let (another, last) = (self.new_block(), self.new_block());
        self.b.ins().brif(is_last, last, &[], another, &[]);
        self.enter(another);
        before(self);
        self.b.ins().jump(following, &[]);
        self.enter(last);
    }

    /// Returns to the switch with a copy whose packet is stored, unless it is the last one.
    pub(super) fn return_copy(&mut self, live_after_ingress: &Words) {
        let Some(copies) = self.copies.take() else { return };
        let (another, last) = (self.new_block(), self.new_block());
        self.b.ins().brif(copies.is_last, last, &[], another, &[]);
        self.enter(another);
        let made = self.b.ins().isub(copies.next, copies.first);
        let made = self.b.ins().udiv_imm(made, TARGET);
        self.context_store(field!(copies), made);
        self.context_store(field!(original_length), copies.original.length);
        let memory = self.context_load(field!(original));
        for word in live_after_ingress.iter() {
            let value = self.kept(copies.original.words[word as usize]);
            self.store_word(memory, word, value);
        }
        self.return_outcome(outcome::END_OF_COPY);
        self.enter(last);
        self.copies = Some(copies);
    }

    fn add_to_tally(&mut self, offset: i32, more: Value) {
        let value = self.context_load(offset);
        let value = self.b.ins().iadd(value, more);
        self.context_store(offset, value);
    }
}
