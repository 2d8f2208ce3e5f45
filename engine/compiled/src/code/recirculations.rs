//! Recirculations of a packet that go on with its fields (see [`crate::recirculations`]).

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};
use netkv_dataplane::{MAX_PASSES, NO_LIST, Requests, Tally, instance};
use netkv_ir::Word;

use super::builder::{Builder, context_memory, field, frame_memory};
use super::recirculation_start::{Origins, Start};
use crate::context::outcome;
use crate::known::Known;
use crate::paths::Arrival;
use crate::position::fixed_bytes;
use crate::recirculations::Recirculation;
use crate::words::{Words, written_in};

impl<'a> Builder<'a> {
    /// Makes recirculations known, of which the first function has this number.
    pub(super) fn set_recirculations(&mut self, recirculations: &'a [Recirculation], first: usize) {
        let start =
            |(number, recirculation)| Start { recirculation, number, origins: None, blocks: None };
        self.recirculations = (first as u64..).zip(recirculations).map(start).collect();
    }

    /// Continues a packet that egress recirculates, with its fields. Returns false, and has made no
    /// code, if the next pass must begin with the bytes.
    pub(super) fn begin_recirculation(&mut self, index: usize) -> bool {
        let Start { recirculation, number, blocks, .. } = self.recirculations[index];
        let [truncate, cursor] =
            [self.vars.truncate, self.vars.cursor].map(|var| self.b.use_var(var));
        let bytes = self.header_bytes(recirculation);
        if self.number(truncate) != Some(NO_LIST) || self.number(cursor) != Some(bytes) {
            return false;
        }
        let mut origins = Vec::new();
        for word in recirculation.unchanged.iter() {
            let value = self.get(word);
            let value = self.b.func.dfg.resolve_aliases(value);
            origins.extend(self.origins.get(&value).map(|origin| (word, *origin)));
        }
        let of_start = self.recirculations[index].origins.get_or_insert_with(|| origins.clone());
        if !of_start.iter().all(|it| origins.contains(it)) {
            return false;
        }
        let stored = stored_words(recirculation, of_start);
        if let Some([again, bytes]) = blocks {
            if recirculation.repeats_parser {
                self.next_fields(recirculation);
                self.count_pass(bytes);
            }
            self.b.ins().jump(again, &[]);
            return true;
        }
        self.store_words(stored.into_iter());
        let list = self.b.use_var(self.vars.recirculate_list);
        self.context_store(field!(requests.recirculate_list), list);
        let number = self.constant(number);
        self.context_store(field!(recirculation), number);
        self.return_outcome(outcome::RECIRCULATED_FIELDS);
        true
    }

    fn header_bytes(&self, recirculation: &Recirculation) -> u64 {
        recirculation
            .headers
            .iter()
            .map(|header| u64::from(fixed_bytes(self.program, *header)))
            .sum()
    }

    /// The function of a recirculation, which may lead to itself: from its fields to the sent
    /// frame.
    pub(super) fn recirculation(
        &mut self,
        index: usize,
        origins: &Origins,
        arrival: Arrival,
        pipelines: usize,
    ) {
        let recirculation = self.recirculations[index].recirculation;
        self.in_recirculation = true;
        if arrival == Arrival::Recirculated {
            self.find_payload();
        }
        self.enter_recirculation(recirculation, origins);
        let [start, bytes] = [self.new_block(), self.new_block()];
        self.b.set_cold_block(bytes);
        self.b.ins().jump(start, &[]);
        // Jumps from its own end may follow, so the block is sealed with the function.
        self.b.switch_to_block(start);
        self.cells.forget();
        self.recirculations[index].blocks = Some([start, bytes]);
        self.recirculations[index].origins = Some(origins.clone());
        let frame = self.frame;
        self.reload_frame();
        self.restore(&recirculation.known, origins);
        self.next_fields(recirculation);
        let parser = recirculation.parser();
        let error = self.new_block();
        for (end, next) in self.stage_blocks(parser, error).into_iter().zip(&parser.next) {
            self.enter_knowing(end, &next.known);
            match &next.stage {
                _ if self.is_unreachable() => self.never(),
                Some(stage) => {
                    self.count_pass(bytes);
                    if recirculation.repeats_parser {
                        self.repeat_after_parser(index, &next.known);
                    }
                    self.stage(stage, pipelines);
                }
                None => {
                    self.b.ins().jump(bytes, &[]);
                }
            }
        }
        self.enter(error);
        self.b.set_cold_block(error);
        self.b.ins().jump(bytes, &[]);
        self.enter(bytes);
        self.set_frame(frame);
        self.restore_origins(&recirculation.known, origins);
        if recirculation.replaces_checksums {
            self.checksums_of_bytes(recirculation, origins);
        }
        self.return_bytes(recirculation);
    }

    /// Computes the checksums after the pass before, for a packet that leaves with its bytes. By
    /// now it has no metadata, and maybe not all headers, so what they depend on is restored.
    fn checksums_of_bytes(&mut self, recirculation: &Recirculation, origins: &Origins) {
        let kept = self.kept_by_recirculation();
        self.restore(&recirculation.known, origins);
        self.checksums(recirculation);
        kept.into_iter().for_each(|(word, value)| self.set(word, value));
    }

    /// The words of metadata that a recirculated packet keeps.
    fn kept_by_recirculation(&mut self) -> Vec<(Word, Value)> {
        let plan = self.plan;
        let kept = plan.kept_by_recirculation.iter().flat_map(Words::iter);
        kept.map(|word| (word, self.get(word))).collect()
    }

    /// Ends the pass before: the packet becomes a recirculated one whose headers are not extracted
    /// yet.
    fn next_fields(&mut self, recirculation: &Recirculation) {
        if !recirculation.replaces_checksums {
            self.checksums(recirculation);
        }
        let list = self.b.use_var(self.vars.recirculate_list);
        let kept = self.kept_words(list);
        self.b.def_var(self.vars.list_before, list);
        let fields = Words::of_fields(self.program, recirculation.headers.iter().copied());
        self.start_fields(recirculation, &fields);
        kept.into_iter().for_each(|(word, value)| self.set(word, value));
    }

    /// Computes the checksums after the pass before.
    fn checksums(&mut self, recirculation: &Recirculation) {
        let never = self.new_block();
        let ends = self.stage_blocks(&recirculation.checksums, never);
        self.enter(never);
        self.never();
        self.enter(ends[0]);
    }

    /// Initializes all values but these words, for a recirculated packet.
    fn start_fields(&mut self, recirculation: &Recirculation, without: &Words) {
        self.new_packet(without);
        self.skip_headers(recirculation);
        let standard = &self.program.standard_metadata;
        self.store_constant(standard.instance_type, instance::RECIRCULATED);
    }

    /// Sets the cursor to the start of the payload: behind the headers.
    fn skip_headers(&mut self, recirculation: &Recirculation) {
        let cursor = self.constant(self.header_bytes(recirculation));
        self.b.def_var(self.vars.cursor, cursor);
    }

    /// Packets that have passed continue in a new block, which becomes the current one, since the
    /// parser would decide the same.
    fn repeat_after_parser(&mut self, index: usize, known: &Known) {
        let recirculation = self.recirculations[index].recirculation;
        let origins = self.recirculations[index].origins.clone().unwrap_or_default();
        let in_frame: Vec<Word> = origins.iter().map(|(word, _)| *word).collect();
        let mut without = Words::of_fields(self.program, recirculation.headers.iter().copied());
        if let Some(kept) = &self.plan.kept_by_recirculation {
            without.union(kept);
        }
        let mut parsed = written_in(self.program, &recirculation.parser().variants.cfg);
        in_frame.iter().for_each(|word| parsed.remove(*word));
        let parsed: Vec<(Word, Value)> = parsed.iter().map(|word| (word, self.get(word))).collect();
        let again = self.new_block();
        self.b.ins().jump(again, &[]);
        self.b.switch_to_block(again);
        self.cells.forget();
        self.reload_frame();
        self.start_fields(recirculation, &without);
        parsed.into_iter().for_each(|(word, value)| self.set(word, value));
        self.restore_origins(&recirculation.known, &origins);
        for word in (0..self.program.state_words).filter(|word| !in_frame.contains(word)) {
            if let Some(value) = known.get(word) {
                let value = self.constant(value);
                self.set(word, value);
            }
        }
        if let Some([start, _]) = &mut self.recirculations[index].blocks {
            *start = again;
        }
    }

    /// Initializes the values of a packet that comes from another function.
    fn enter_recirculation(&mut self, recirculation: &Recirculation, origins: &Origins) {
        self.new_packet(&Words::empty(self.program));
        self.skip_headers(recirculation);
        self.load_words(stored_words(recirculation, origins).into_iter());
        let list = self.context_load(field!(requests.recirculate_list));
        self.b.def_var(self.vars.recirculate_list, list);
    }

    /// Sets what is known of a packet at the start of the pass.
    fn restore(&mut self, known: &Known, origins: &Origins) {
        for word in 0..self.program.state_words {
            if let Some(value) = known.get(word) {
                let value = self.constant(value);
                self.set(word, value);
            }
        }
        self.restore_origins(known, origins);
    }

    /// Sets the words that are bits of the received frame.
    fn restore_origins(&mut self, known: &Known, origins: &Origins) {
        self.frame_flags = frame_memory(true);
        for (word, (bit, width)) in origins {
            if let Some(number) = known.get(*word) {
                self.set_from_frame(*word, number, (*bit, *width));
                continue;
            }
            let end = (bit + width).div_ceil(8);
            let value = self.read_bits((self.frame, 0), *bit, *width, end);
            self.origins.insert(value, (*bit, *width));
            self.set(*word, value);
        }
    }

    /// Counts the pass, as the switch does. Jumps to `bytes` if too few are left.
    fn count_pass(&mut self, bytes: Block) {
        let passes = self.context_load(field!(passes));
        let passes = self.b.ins().iadd_imm(passes, 1);
        let last =
            self.b.ins().icmp_imm(IntCC::UnsignedGreaterThanOrEqual, passes, i64::from(MAX_PASSES));
        let (end, next) = (self.new_block(), self.new_block());
        self.b.set_cold_block(end);
        self.b.ins().brif(last, end, &[], next, &[]);
        self.enter(end);
        self.b.ins().jump(bytes, &[]);
        self.enter(next);
        self.context_store(field!(passes), passes);
        let (zero, one) = (self.constant(0), self.constant(1));
        let copies = self.context_load(field!(copies));
        let egress = self.b.ins().umax(copies, one);
        self.context_store(field!(copies), zero);
        let offset = field!(tally) + std::mem::offset_of!(Tally, passes) as i32;
        let more = self.b.ins().ireduce(types::I32, egress);
        let more = self.b.ins().iadd_imm(more, 1);
        let all = self.b.ins().load(types::I32, context_memory(), self.context, offset);
        let all = self.b.ins().iadd(all, more);
        self.b.ins().store(context_memory(), all, self.context, offset);
    }

    /// Returns the packet with its bytes, as if the pass before had just ended.
    fn return_bytes(&mut self, recirculation: &Recirculation) {
        self.recirculated = true;
        self.start_frame();
        for header in &recirculation.headers {
            for field in &self.program.headers[*header as usize].fields {
                let value = self.load(field.place);
                self.emitted.push((value, field.place.width));
            }
        }
        self.write_headers();
        self.finish_recirculated_frame();
        self.recirculated = false;
        let flags = self.constant(Requests::RECIRCULATE);
        let list = self.b.use_var(self.vars.list_before);
        let kept = self.kept_by_recirculation();
        self.return_recirculated(flags, list, &kept);
    }

    /// Returns a recirculated frame, with what the switch and the next pass need beside it.
    pub(super) fn return_recirculated(
        &mut self,
        flags: Value,
        list: Value,
        kept: &[(Word, Value)],
    ) {
        self.context_store(field!(requests.flags), flags);
        self.context_store(field!(requests.recirculate_list), list);
        for (word, value) in kept {
            self.store_word(self.state, *word, *value);
        }
        self.return_outcome(outcome::RECIRCULATED);
    }

    /// The metadata that a recirculated packet keeps with this field list.
    pub(super) fn kept_words(&mut self, list: Value) -> Vec<(Word, Value)> {
        let plan = self.plan;
        let Some(kept) = &plan.kept_by_recirculation else { return Vec::new() };
        let lists: Vec<(Value, Words)> = self
            .program
            .field_lists
            .iter()
            .map(|of| {
                let mut words = Words::empty(self.program);
                words.field_list(of);
                (self.b.ins().icmp_imm(IntCC::Equal, list, i64::from(of.id)), words)
            })
            .collect();
        kept.iter()
            .map(|word| {
                // Words that other lists keep are 0 in the next pass.
                let (mut value, now) = (self.constant(0), self.get(word));
                for (chosen, words) in &lists {
                    if words.contains(word) {
                        value = self.b.ins().select(*chosen, now, value);
                    }
                }
                (word, value)
            })
            .collect()
    }
}

/// The words of a packet that another function stores for a recirculation.
fn stored_words(recirculation: &Recirculation, origins: &Origins) -> Vec<Word> {
    let is_in_frame = |word: &Word| origins.iter().any(|(other, _)| other == word);
    let is_known = |word: &Word| recirculation.known.get(*word).is_some();
    recirculation.needed.iter().filter(|word| !is_in_frame(word) && !is_known(word)).collect()
}
