//! The executor: it sets the context, calls the code, and applies the results.
#![allow(unsafe_code)]

use std::sync::Arc;

use netkv_dataplane::{
    Batch, BitWriter, Executor, Frame, Graph, HeaderPlan, IntervalMap, MAX_PASSES, NO_LIMIT,
    NO_LIST, Objects, Output, Packet, Requests, Stop, Tally,
};
use netkv_ir::Program;

use crate::code::Code;
use crate::context::{Context, GroupView, SLACK, Scratch, TableView, outcome};
use crate::lookahead::{Lookahead, STEP};

/// Minimum number of entries at which a table and its cells exceed the nearer caches.
const MIN_PREFETCH_ENTRIES: usize = 2_000;

/// Runs compiled code over the objects of one pipeline of a switch. It is aligned to two cache
/// lines, which processors load together, because each pipeline may have a thread of its own.
#[repr(align(128))]
pub(crate) struct Compiled {
    code: Arc<Code>,
    program: Arc<Program>,
    context: Context,
    tables: Vec<TableView>,
    /// The intervals of tables that are looked up by interval, and the table's changes when they
    /// were copied.
    intervals: Vec<Option<(u64, Option<IntervalMap>)>>,
    registers: Vec<*mut u8>,
    groups: Vec<GroupView>,
    counters: Vec<*mut u8>,
    keys: Vec<u64>,
    hash: Vec<u8>,
    digest: Vec<u64>,
    scratch: Box<Scratch>,
    /// Output of the deparser, if it runs as a separate graph.
    deparsed: Vec<u8>,
    /// The frame of the current recirculated packet, and memory for the next one.
    recirculated: [Vec<u8>; 2],
    /// State of a multicast packet, if one of its copies is returned to the switch before others.
    original_state: Vec<u64>,
    lookahead: Lookahead,
    /// Whether to prefetch: the table exceeds the nearer caches.
    prefetches: bool,
    /// The address and the generation of the objects when the views were made.
    views_of: Option<(*const Objects, u64)>,
}

// SAFETY: the pointers inside are either into this value's own heap memory, or into objects that
// the caller passes with each call; `update_views` renews them if those have moved.
unsafe impl Send for Compiled {}

impl Compiled {
    pub(crate) fn new(code: Arc<Code>, program: Arc<Program>) -> Self {
        let plan = &code.plan;
        let scratch = Box::new(Scratch {
            writer: BitWriter::default(),
            wide: Vec::new(),
            headers: program.headers.iter().map(HeaderPlan::new).collect(),
            state_words: program.state_words as usize,
        });
        let mut executor = Self {
            context: empty_context(),
            tables: Vec::new(),
            intervals: Vec::new(),
            registers: Vec::new(),
            groups: Vec::new(),
            counters: Vec::new(),
            keys: vec![0; plan.key_words],
            hash: vec![0; plan.hash_bytes],
            digest: vec![0; plan.digest_words],
            scratch,
            deparsed: vec![0; plan.header_bytes + SLACK],
            recirculated: [const { Vec::new() }; 2],
            original_state: vec![0; program.state_words as usize],
            lookahead: Lookahead::new(program.state_words as usize),
            prefetches: false,
            views_of: None,
            code,
            program,
        };
        executor.context.keys = executor.keys.as_mut_ptr();
        executor.context.hash = executor.hash.as_mut_ptr();
        executor.context.digest = executor.digest.as_mut_ptr();
        executor.context.header_room = (executor.code.plan.header_bytes + SLACK) as u64;
        executor.context.original = executor.original_state.as_mut_ptr();
        executor.context.helpers = &raw mut *executor.scratch;
        executor
    }

    /// Renews the views if tables, registers or counters have moved.
    #[inline]
    fn update_views(&mut self, objects: &mut Objects) {
        let current = (&raw const *objects, objects.generation());
        if self.views_of != Some(current) {
            self.rebuild_views(objects);
            self.views_of = Some(current);
        }
        self.context.objects = objects;
    }

    #[cold]
    fn rebuild_views(&mut self, objects: &mut Objects) {
        let moved = self.views_of.is_none_or(|(of, _)| !std::ptr::eq(of, objects));
        if moved {
            self.intervals.clear();
            self.intervals.resize_with(self.program.tables.len(), || None);
        }
        self.lookahead.forget();
        self.tables.clear();
        for table in 0..self.program.tables.len() {
            let (action, data) = objects.default_action(table);
            let mut view = TableView {
                slots: std::ptr::null(),
                mask: 0,
                starts: std::ptr::null(),
                default_action: u64::from(action),
                default_data: data.as_ptr(),
            };
            if let Some(map) = objects.exact_map(table) {
                (view.slots, view.mask) = (map.slots().as_ptr(), map.mask());
            } else if let Some(map) = self.current_intervals(objects, table) {
                let starts = map.starts();
                (view.slots, view.mask) = (map.slots().as_ptr(), starts.len() as u64 - 1);
                view.starts = starts.as_ptr();
            }
            self.tables.push(view);
        }
        let blocks = objects.registers.layouts().iter().map(|layout| layout.block + 1).max();
        self.registers = vec![std::ptr::null_mut(); blocks.unwrap_or(0)];
        for register in 0..self.program.registers.len() {
            let block = objects.registers.layouts()[register].block;
            self.registers[block] = objects.registers.memory(register).as_mut_ptr();
        }
        self.counters = (0..self.program.counters.len())
            .map(|counter| objects.counter_cells(counter).as_mut_ptr().cast())
            .collect();
        self.prefetches = self.code.prefetch.as_ref().is_some_and(|(prefetch, _)| {
            objects.exact_map(prefetch.table).is_some_and(|map| map.len() >= MIN_PREFETCH_ENTRIES)
        });
        self.context.tables = self.tables.as_ptr();
        self.context.registers = self.registers.as_ptr();
        self.context.counters = self.counters.as_ptr();
        self.context.counts = (&raw mut objects.counts).cast();
        self.context.failed_assertions = objects.failed_assertions.as_mut_ptr();
        let targets = objects.clone_targets();
        self.context.clone_targets = targets.as_ptr();
        self.context.clone_sessions = targets.len() as u64;
        self.groups.clear();
        self.groups.extend(objects.group_targets().iter().map(|targets| {
            let targets = targets.as_ptr_range();
            GroupView { first: targets.start, end: targets.end }
        }));
        self.context.groups = self.groups.as_ptr();
        self.context.group_count = self.groups.len() as u64;
    }

    /// The intervals of a table as it is now; none if it is looked up otherwise.
    fn current_intervals(&mut self, objects: &Objects, table: usize) -> Option<&IntervalMap> {
        objects.interval_slot_words(table)?;
        let changes = objects.table_changes(table);
        let kept = &mut self.intervals[table];
        if kept.as_ref().is_none_or(|(then, _)| *then != changes) {
            *kept = Some((changes, objects.interval_map(table)));
        }
        kept.as_ref()?.1.as_ref()
    }

    /// Copies a packet into the context.
    fn load_packet(&mut self, packet: &mut Packet) {
        let context = &mut self.context;
        context.frame = packet.bytes.as_ptr();
        context.frame_length = packet.bytes.len() as u64;
        context.state = packet.state.words.as_mut_ptr();
        context.cursor = (packet.cursor / 8) as u64;
        context.length = u64::from(packet.length);
        context.ingress_length = u64::from(packet.ingress_length);
        context.port = u64::from(packet.port);
        context.now_ns = packet.now_ns;
        context.egress_port = u64::from(packet.egress_port);
        context.requests = packet.requests;
    }

    /// Copies a packet back from the context.
    fn store_packet(&self, packet: &mut Packet) {
        let context = &self.context;
        packet.cursor = context.cursor as usize * 8;
        packet.length = context.length as u32;
        packet.egress_port = context.egress_port as u16;
        packet.requests = context.requests;
        if context.requests.flags & Requests::DIGEST != 0 {
            let digest = &self.program.digests[context.requests.digest as usize];
            let words = digest.members.iter().map(|member| member.width.div_ceil(64) as usize);
            packet.digest_values.clear();
            packet.digest_values.extend_from_slice(&self.digest[..words.sum()]);
        }
    }

    /// Copies to a packet what the switch needs of a recirculated one beside its frame. The
    /// metadata that it keeps is in its state.
    fn store_recirculated(&self, packet: &mut Packet) {
        packet.egress_port = self.context.egress_port as u16;
        packet.requests = self.context.requests;
    }

    /// Reserves output for a frame of this length.
    #[inline]
    fn reserve_output(&mut self, length: usize, out: &mut Output) {
        let room = length + self.code.plan.header_bytes + SLACK;
        self.context.out = out.room(room).as_mut_ptr();
        if self.recirculated[1].len() < room {
            self.reserve_recirculated(room);
        }
    }

    #[cold]
    fn reserve_recirculated(&mut self, room: usize) {
        self.recirculated[1].resize(room, 0);
        self.context.again = self.recirculated[1].as_mut_ptr();
    }

    /// Sets what is the same for all frames of a batch. Code changes it only if a frame has more
    /// than one pass.
    #[inline]
    fn start_packets(&mut self, batch: &Batch<'_>, packet: &mut Packet) {
        let context = &mut self.context;
        (context.port, context.now_ns) = (u64::from(batch.port), batch.now_ns);
        (context.may_clone, context.cloned) = (1, 0);
        context.state = packet.state.words.as_mut_ptr();
    }

    /// Continues with a received frame after its first pass.
    fn after_first_pass(
        &mut self,
        mut outcome: u64,
        frame: Frame<'_>,
        packet: &mut Packet,
        out: &mut Output,
        tally: &mut Tally,
    ) -> Option<Stop> {
        tally.passes = 1;
        let mut passes = self.count_further_passes(0, tally);
        let mut in_memory = false;
        loop {
            match outcome {
                outcome::RECIRCULATED_FIELDS => outcome = self.recirculation(),
                outcome::RECIRCULATED => {
                    tally.passes += self.egress_passes(outcome);
                    passes += self.count_clone(tally);
                    outcome = self.next_pass(passes, out);
                    in_memory = true;
                    if outcome == outcome::OTHER_PATH {
                        (self.context.passes, self.context.copies) = (0, 0);
                        self.take_over_recirculated(frame, passes, packet);
                        self.store_recirculated(packet);
                        return Some(Stop::Recirculated);
                    }
                    tally.passes += 1;
                }
                _ => break,
            }
            passes = self.count_further_passes(passes, tally);
        }
        if (outcome::END_OF_INGRESS..outcome::SENT_COPY).contains(&outcome) {
            if !in_memory {
                // Its bytes of headers may be those of an earlier pass; they are in its state now.
                packet.take_over(frame);
                packet.count_passes(passes);
            } else {
                self.take_over_recirculated(frame, passes, packet);
            }
        }
        tally.passes += self.egress_passes(outcome);
        let stop = self.finish(outcome, passes, packet, out, tally);
        (self.context.passes, self.context.copies) = (0, 0);
        stop
    }

    /// Continues with the packet that the code has recirculated, and whose fields are in the state.
    #[inline]
    fn recirculation(&mut self) -> u64 {
        let Some(function) = self.code.from_fields[self.context.recirculation as usize] else {
            unreachable!("each pass that code leads to has a function")
        };
        // SAFETY: the pointers are those of the function that led here.
        unsafe { self.code.machine.call(function, &mut self.context) }
    }

    /// Processes the frame that the code has recirculated. It had so many additional passes before.
    #[inline]
    fn next_pass(&mut self, passes: u32, out: &mut Output) -> u64 {
        let length = self.context.out_length;
        self.recirculated.swap(0, 1);
        self.reserve_output(length as usize, out);
        let context = &mut self.context;
        context.frame = self.recirculated[0].as_ptr();
        (context.frame_length, context.ingress_length) = (length, length);
        context.again = self.recirculated[1].as_mut_ptr();
        (context.payload, context.payload_start) =
            (context.next_payload, context.next_payload_start);
        let Some(again) = self.code.again.filter(|_| passes < MAX_PASSES) else {
            return outcome::OTHER_PATH;
        };
        context.passes = u64::from(passes) + 1;
        context.may_clone = u64::from(passes + 1 < MAX_PASSES);
        (context.cloned, context.copies) = (0, 0);
        // SAFETY: `update_views` and the lines above have set all pointers that the code reads.
        unsafe { self.code.machine.call(again, context) }
    }

    /// As [`Packet::take_over`], for the recirculated frame in the context.
    fn take_over_recirculated(&mut self, received: Frame<'_>, passes: u32, packet: &mut Packet) {
        let length = self.context.frame_length as usize;
        self.append_payload(0, length);
        packet.take_over(Frame { bytes: &self.recirculated[0][..length], ..received });
        packet.count_passes(passes);
    }

    /// Appends the payload of a recirculated frame of this length, if it is elsewhere, to the
    /// memory of its headers.
    fn append_payload(&mut self, memory: usize, length: usize) {
        let Context { next_payload, next_payload_start, .. } = self.context;
        let start = next_payload_start as usize;
        if start < length {
            // SAFETY: the code has set the payload, which is in the received frame. The memory is
            // as large as the output for the frame.
            unsafe {
                let to = self.recirculated[memory][start..length].as_mut_ptr();
                std::ptr::copy_nonoverlapping(next_payload.add(start), to, length - start);
            }
        }
    }

    /// Counts the passes of the packet since it had so many additional ones. Returns their number
    /// now.
    fn count_further_passes(&mut self, before: u32, tally: &mut Tally) -> u32 {
        let passes = self.context.passes as u32;
        tally.recirculated += u64::from(passes - before);
        tally.passes += std::mem::take(&mut self.context.tally.passes);
        passes
    }

    /// Passes through egress of the last call.
    fn egress_passes(&self, outcome: u64) -> u32 {
        match outcome {
            outcome::DROPPED_IN_INGRESS | outcome::END_OF_INGRESS | outcome::OTHER_PIPELINE => 0,
            _ => (self.context.copies.max(1) + self.context.cloned) as u32,
        }
    }

    /// Counts the clone that the code may have continued with. Returns the number of clones.
    #[inline]
    fn count_clone(&self, tally: &mut Tally) -> u32 {
        if self.context.cloned != 0 {
            tally.cloned += 1;
            tally.dropped_egress += 1;
        }
        self.context.cloned as u32
    }

    /// Counts an outcome. Returns the reason if the switch must continue with the packet, which may
    /// be the clone of the one that the code began with. That one had so many additional passes.
    fn finish(
        &mut self,
        outcome: u64,
        passes: u32,
        packet: &mut Packet,
        out: &mut Output,
        tally: &mut Tally,
    ) -> Option<Stop> {
        let cloned = self.count_clone(tally);
        match outcome {
            outcome::SENT | outcome::SENT_COPY => {
                out.commit(self.context.egress_port as u16, self.context.out_length as usize);
                out.note_passes(passes + cloned);
                None
            }
            outcome::DROPPED_IN_INGRESS => {
                tally.dropped_ingress += 1;
                None
            }
            outcome::DROPPED_IN_EGRESS => {
                tally.dropped_egress += 1;
                None
            }
            outcome::END_OF_INGRESS => {
                self.store_packet(packet);
                Some(Stop::EndOfIngress)
            }
            outcome::OTHER_PIPELINE => {
                self.store_packet(packet);
                Some(Stop::OtherPipeline)
            }
            outcome::RECIRCULATED => {
                let length = self.context.out_length as usize;
                self.append_payload(1, length);
                packet.bytes.clear();
                packet.bytes.extend_from_slice(&self.recirculated[1][..length]);
                packet.count_passes(cloned);
                self.store_recirculated(packet);
                Some(Stop::Recirculated)
            }
            outcome::END_OF_COPY => {
                self.store_packet(packet);
                Some(Stop::EndOfCopy { copies: self.context.copies as usize })
            }
            _ => {
                self.store_packet(packet);
                packet.count_passes(cloned);
                Some(Stop::EndOfEgress)
            }
        }
    }
}

/// Sets the bytes of the received frame in the context.
#[inline]
fn set_bytes(context: &mut Context, bytes: &[u8]) {
    context.frame = bytes.as_ptr();
    context.frame_length = bytes.len() as u64;
    context.ingress_length = bytes.len() as u64;
}

impl Executor for Compiled {
    fn run(&mut self, graph: Graph, packet: &mut Packet, objects: &mut Objects) {
        self.update_views(objects);
        self.load_packet(packet);
        self.context.out = self.deparsed.as_mut_ptr();
        // SAFETY: `update_views` and `load_packet` have set all pointers. The state has the
        // program's words.
        unsafe { self.code.machine.call(self.code.graphs[graph as usize], &mut self.context) };
        if graph == Graph::Deparser {
            packet.append_deparsed(&self.deparsed[..self.context.out_length as usize]);
        }
        self.store_packet(packet);
    }

    fn forward(
        &mut self,
        batch: &Batch<'_>,
        from: usize,
        packet: &mut Packet,
        objects: &mut Objects,
        out: &mut Output,
        tally: &mut Tally,
    ) -> Option<(usize, Stop)> {
        self.update_views(objects);
        if from == 0 {
            self.lookahead.start_batch();
        }
        packet.state.words.resize(self.scratch.state_words, 0);
        let prefetches = self.prefetches && batch.frames.len() > 1;
        let forward = self.code.machine.entry(self.code.forward);
        let first = self.code.fast.map_or(forward, |fast| self.code.machine.entry(fast));
        let (frames, bytes) = (out.len(), out.bytes().len());
        let mut stopped = None;
        self.context.output = out;
        self.start_packets(batch, packet);
        for (position, bytes) in batch.frames.iter().enumerate().skip(from) {
            if prefetches && position.is_multiple_of(STEP) {
                let Self { lookahead, code, context, registers, .. } = self;
                // SAFETY: `update_views` has set the views.
                unsafe { lookahead.prefetch(code, context, registers, batch, position) };
            }
            self.reserve_output(bytes.len(), out);
            set_bytes(&mut self.context, bytes);
            // SAFETY: `update_views` and the lines above have set all pointers that the code reads.
            let mut outcome = unsafe { first(&raw mut self.context) };
            if outcome == outcome::OTHER_PATH {
                // SAFETY: as above.
                outcome = unsafe { forward(&raw mut self.context) };
            }
            if outcome == outcome::RECIRCULATED_FIELDS {
                outcome = self.recirculation();
            }
            if matches!(outcome, outcome::SENT | outcome::SENT_COPY) && self.context.cloned == 0 {
                // As `finish` does, for most packets.
                let context = &mut self.context;
                out.commit(context.egress_port as u16, context.out_length as usize);
                if outcome == outcome::SENT_COPY {
                    out.note_passes(context.passes as u32);
                    tally.recirculated += context.passes;
                    (context.passes, context.copies, context.tally.passes) = (0, 0, 0);
                }
                continue;
            }
            let frame = batch.frame(position);
            if let Some(stop) = self.after_first_pass(outcome, frame, packet, out, tally) {
                stopped = Some((position, stop));
                break;
            }
            self.start_packets(batch, packet);
        }
        tally.sent = (out.len() - frames) as u64;
        tally.sent_bytes = (out.bytes().len() - bytes) as u64;
        *tally += std::mem::take(&mut self.context.tally);
        stopped
    }

    fn original(&mut self, packet: &mut Packet) {
        packet.state.words.copy_from_slice(&self.original_state);
        packet.length = self.context.original_length as u32;
        packet.requests.truncate = NO_LIMIT;
    }

    fn prefetch(&mut self, frames: &[Frame<'_>], objects: &mut Objects) {
        self.update_views(objects);
        if self.prefetches {
            let Self { lookahead, code, context, registers, .. } = self;
            // SAFETY: `update_views` has set the views.
            unsafe { lookahead.announce(code, context, registers, frames) };
        }
    }

    fn transmit(
        &mut self,
        packet: &mut Packet,
        objects: &mut Objects,
        out: &mut Output,
        tally: &mut Tally,
        may_clone: bool,
    ) -> Option<Stop> {
        self.update_views(objects);
        self.reserve_output(packet.bytes.len(), out);
        self.load_packet(packet);
        (self.context.may_clone, self.context.cloned) = (u64::from(may_clone), 0);
        // SAFETY: as above.
        let outcome = unsafe { self.code.machine.call(self.code.transmit, &mut self.context) };
        let (frames, bytes) = (out.len(), out.bytes().len());
        let stop = self.finish(outcome, packet.passes(), packet, out, tally);
        tally.sent = (out.len() - frames) as u64;
        tally.sent_bytes = (out.bytes().len() - bytes) as u64;
        stop
    }
}

fn empty_context() -> Context {
    use std::ptr::{null, null_mut};
    Context {
        frame: null(),
        frame_length: 0,
        out: null_mut(),
        again: null_mut(),
        payload: null(),
        payload_start: 0,
        next_payload: null(),
        next_payload_start: 0,
        out_length: 0,
        state: null_mut(),
        cursor: 0,
        length: 0,
        ingress_length: 0,
        port: 0,
        now_ns: 0,
        egress_port: 0,
        requests: Requests { clone_list: NO_LIST, ..Requests::default() },
        digest: null_mut(),
        keys: null_mut(),
        hash: null_mut(),
        action_data: null(),
        tables: null(),
        registers: null(),
        counters: null(),
        counts: null_mut(),
        failed_assertions: null_mut(),
        clone_targets: null(),
        clone_sessions: 0,
        groups: null(),
        group_count: 0,
        copies: 0,
        original: null_mut(),
        original_length: 0,
        output: null_mut(),
        header_room: 0,
        passes: 0,
        recirculation: 0,
        tally: Tally::default(),
        may_clone: 0,
        cloned: 0,
        ahead: null_mut(),
        ahead_count: 0,
        objects: null_mut(),
        helpers: null_mut(),
    }
}
