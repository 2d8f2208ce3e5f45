//! The function that computes which table slots the frames that come next need first (see
//! [`crate::lookahead`]).

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{BlockArg, InstBuilder, types};
use netkv_dataplane::Graph;

use super::builder::{Builder, context_memory, field};
use crate::context::{Ahead, outcome};
use crate::prefetch::Lookup;

impl Builder<'_> {
    /// Stores the address of the first slot for each of the frames that come next, or null. The key
    /// is computed by the parser only, which makes no checks but those of the length. In a loop
    /// over frames the processor computes several addresses at a time.
    pub(super) fn slot_addresses(&mut self, lookup: &Lookup<'_>) {
        self.only_slot = true;
        let (each, next, done) = (self.new_block(), self.new_block(), self.new_block());
        let [first, count] =
            [field!(ahead), field!(ahead_count)].map(|at| self.context_constant(at));
        let size = self.b.ins().imul_imm(count, size_of::<Ahead>() as i64);
        let end = self.b.ins().iadd(first, size);
        let at = self.b.append_block_param(each, types::I64);
        let slot = self.b.append_block_param(next, types::I64);
        self.b.ins().brif(count, each, &[BlockArg::Value(first)], done, &[]);

        self.b.switch_to_block(each);
        let [frame, length, port] = [
            std::mem::offset_of!(Ahead, frame),
            std::mem::offset_of!(Ahead, length),
            std::mem::offset_of!(Ahead, port),
        ]
        .map(|offset| self.b.ins().load(types::I64, context_memory(), at, offset as i32));
        (self.frame, self.payload, self.frame_length) = (frame, frame, length);
        self.received_from(port);
        self.graph(Graph::Parser);
        let none = BlockArg::Value(self.constant(0));
        for (cond, holds) in &lookup.conditions {
            let cond = self.condition(cond);
            let other = self.b.ins().icmp_imm(IntCC::NotEqual, cond, i64::from(*holds));
            let reaches = self.new_block();
            self.b.ins().brif(other, next, &[none], reaches, &[]);
            self.enter(reaches);
        }
        let address = self.first_slot(lookup.apply);
        self.b.ins().jump(next, &[BlockArg::Value(address)]);

        self.enter(next);
        let offset = std::mem::offset_of!(Ahead, slot) as i32;
        self.b.ins().store(context_memory(), slot, at, offset);
        let following = self.b.ins().iadd_imm(at, size_of::<Ahead>() as i64);
        let left = self.b.ins().icmp(IntCC::NotEqual, following, end);
        self.b.ins().brif(left, each, &[BlockArg::Value(following)], done, &[]);
        self.b.seal_block(each);
        self.enter(done);
        self.return_outcome(outcome::SENT);
    }
}
