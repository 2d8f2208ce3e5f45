//! The function for frames on the common paths of a program (see [`crate::paths`]).
//!
//! It is `forward`, compiled once for each of these paths, from the parser to the sent frame. On a
//! path it is known which headers are valid, often also what kind of request the packet is, and the
//! position of each field in the frame. So the code has few tests, and a field that nothing reads
//! is never loaded. For a frame on another path the function returns before the packet had any
//! effect, and `forward` processes the frame.

use cranelift_codegen::ir::{Block, InstBuilder, types};
use netkv_dataplane::Graph;
use netkv_ir::Word;

use super::builder::Builder;
use super::copies::EgressOfCopy;
use crate::context::outcome;
use crate::known::Known;
use crate::paths::{Arrival, Next, Stage};

impl Builder<'_> {
    /// From a frame that arrives so to the sent frame, in a switch with this number of pipelines.
    pub(super) fn fast(&mut self, parser: &Stage, arrival: Arrival, pipelines: usize) {
        match arrival {
            Arrival::Received => self.received_packet(),
            Arrival::Recirculated => self.recirculated_packet(),
        }
        let other = self.new_block();
        self.b.set_cold_block(other);
        for (end, next) in self.stage_blocks(parser, other).into_iter().zip(&parser.next) {
            self.enter_knowing(end, &next.known);
            match &next.stage {
                _ if self.is_unreachable() => self.never(),
                Some(stage) => self.stage(stage, pipelines),
                None => {
                    self.b.ins().jump(other, &[]);
                }
            }
        }
        self.enter(other);
        self.return_outcome(outcome::OTHER_PATH);
    }

    /// A graph after the parser, and all that follow it.
    pub(super) fn stage(&mut self, stage: &Stage, pipelines: usize) {
        let error = self.new_block();
        if stage.graph == Graph::Deparser {
            self.start_frame();
        }
        let ends = self.stage_blocks(stage, error);
        for (end, next) in ends.into_iter().zip(&stage.next) {
            self.enter_knowing(end, &next.known);
            if self.is_unreachable() {
                self.never();
                continue;
            }
            match stage.graph {
                Graph::Ingress => {
                    match &next.copy {
                        Some(copy) => {
                            let accessed = copy.accessed(self.program);
                            let compile = |b: &mut Builder<'_>| b.stage(copy, pipelines);
                            self.end_of_ingress(Some(&EgressOfCopy {
                                accessed,
                                compile: &compile,
                            }));
                        }
                        None => self.end_of_ingress(None),
                    }
                    if pipelines > 1 {
                        self.return_for_other_pipeline(pipelines);
                    }
                }
                Graph::Egress => {
                    self.clone_of(next, pipelines);
                    self.leave_egress();
                }
                _ => {}
            }
            let rest = |b: &mut Self| match &next.stage {
                Some(stage) => b.stage(stage, pipelines),
                None => b.end_frame(),
            };
            if stage.graph == Graph::Egress {
                self.sent_or_recirculated(next.recirculation, &rest);
            } else {
                rest(self);
            }
        }
        // Only a parser ends with an error.
        self.enter(error);
        self.never();
    }

    /// Continues with the clone of a packet that egress drops, if it made one.
    fn clone_of(&mut self, next: &Next, pipelines: usize) {
        let flags = self.b.use_var(self.vars.flags);
        let Some(stage) = next.clone.as_ref().filter(|_| !self.is_zero(flags)) else { return };
        let clone = self.new_block();
        let [port, instance] = self.leave_for_clone(clone);
        let original = self.b.current_block().expect("a block follows the branch");
        self.enter(clone);
        self.become_clone(port, instance);
        // Only a packet without copies after it becomes its clone.
        let copies = self.copies.take();
        self.stage(stage, pipelines);
        self.copies = copies;
        self.b.switch_to_block(original);
    }

    /// Compiles the blocks of a stage. Returns the blocks that follow its exits. `error` follows a
    /// parser that ends otherwise.
    pub(super) fn stage_blocks(&mut self, stage: &Stage, error: Block) -> Vec<Block> {
        let cfg = &stage.variants.cfg;
        let ends: Vec<Block> = stage.next.iter().map(|_| self.new_block()).collect();
        if cfg.blocks.is_empty() {
            self.b.ins().jump(ends[0], &[]);
            return ends;
        }
        let mut exits = vec![error; cfg.blocks.len()];
        for ((id, _), end) in stage.variants.exits.iter().zip(&ends) {
            exits[*id as usize] = *end;
        }
        self.blocks(stage.graph, cfg, error, &exits);
        ends
    }

    /// Makes a block the current one. Words become the constants that they are known to be. Those
    /// of headers are still copied from the frame if nothing changes them.
    pub(super) fn enter_knowing(&mut self, block: Block, known: &Known) {
        self.enter(block);
        for word in 0..self.program.state_words {
            let Some(number) = known.get(word) else { continue };
            let value = self.get(word);
            let value = self.b.func.dfg.resolve_aliases(value);
            match self.origins.get(&value).copied() {
                Some(origin) => self.set_from_frame(word, number, origin),
                None => {
                    let value = self.constant(number);
                    self.set(word, value);
                }
            }
        }
    }

    /// Sets a word to a number that is these bits of the received frame.
    pub(super) fn set_from_frame(&mut self, word: Word, number: u64, origin: (u32, u32)) {
        // The value is none of the shared constants, since it stands for these bits only.
        let value = self.b.ins().iconst(types::I64, number as i64);
        self.origins.insert(value, origin);
        self.set(word, value);
    }
}
