//! The executor: it sets the context, calls the code, and applies the results.
#![allow(unsafe_code)]

use std::sync::Arc;

use netkv_dataplane::{
    BATCH, Batch, BitWriter, Executor, Frame, Graph, HeaderPlan, IntervalMap, NO_LIST, Objects,
    Output, Packet, Requests, Stop, Tally,
};
use netkv_ir::Program;

use crate::code::Code;
use crate::context::{Context, SLACK, TableView, outcome};
use crate::helpers::Scratch;
use crate::prefetch::Prefetch;

/// Prefetch distance of slots, in packets. A miss in all caches takes the time of two to four
/// packets.
const SLOT_DISTANCE: usize = 10;
/// Prefetch distance of register cells, in packets.
const CELL_DISTANCE: usize = 5;

/// Minimum number of entries at which a table and its cells exceed the nearer caches.
const MIN_PREFETCH_ENTRIES: usize = 2_000;

/// Runs compiled code over the objects of one pipeline of a switch. It is aligned to two cache lines,
/// which processors load together, because each pipeline may have a thread of its own.
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
    counters: Vec<*mut u8>,
    keys: Vec<u64>,
    hash: Vec<u8>,
    digest: Vec<u64>,
    scratch: Box<Scratch>,
    /// Output of the deparser, if it runs as a separate graph.
    deparsed: Vec<u8>,
    /// State area for the computation of a prefetched slot; its content is not used.
    key_state: Vec<u64>,
    /// Prefetched slots, by the position of their frame in the batch.
    slots: [*const u64; BATCH],
    /// Number of frames of the current batch whose slot was prefetched.
    slots_prefetched: usize,
    /// Number of frames of the current batch whose cells were prefetched.
    cells_prefetched: usize,
    /// Prefetched slots of the frames that were announced last.
    announced: Vec<*const u64>,
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
            counters: Vec::new(),
            keys: vec![0; plan.key_words],
            hash: vec![0; plan.hash_bytes],
            digest: vec![0; plan.digest_words],
            scratch,
            deparsed: vec![0; plan.header_bytes + SLACK],
            key_state: vec![0; program.state_words as usize],
            slots: [std::ptr::null(); BATCH],
            slots_prefetched: 0,
            cells_prefetched: 0,
            announced: Vec::with_capacity(BATCH),
            prefetches: false,
            views_of: None,
            code,
            program,
        };
        executor.context.keys = executor.keys.as_mut_ptr();
        executor.context.hash = executor.hash.as_mut_ptr();
        executor.context.digest = executor.digest.as_mut_ptr();
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
        self.announced.clear();
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
        let targets = objects.clone_targets();
        self.context.clone_targets = targets.as_ptr();
        self.context.clone_sessions = targets.len() as u64;
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

    /// Reserves output for a frame of this length.
    #[inline]
    fn reserve_output(&mut self, length: usize, out: &mut Output) {
        let room = length + self.code.plan.header_bytes + SLACK;
        self.context.out = out.room(room).as_mut_ptr();
    }

    /// Counts an outcome. Returns the reason if the switch must continue with the packet, which may
    /// be the clone of the one that the code began with.
    #[inline]
    fn finish(
        &self,
        outcome: u64,
        packet: &mut Packet,
        out: &mut Output,
        tally: &mut Tally,
    ) -> Option<Stop> {
        if self.context.cloned != 0 {
            tally.cloned += 1;
            tally.dropped_egress += 1;
        }
        match outcome {
            outcome::SENT => {
                let length = self.context.out_length;
                out.commit(self.context.egress_port as u16, length as usize);
                tally.sent += 1;
                tally.sent_bytes += length;
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
            _ => {
                self.store_packet(packet);
                if self.context.cloned != 0 {
                    packet.count_pass();
                }
                Some(Stop::EndOfEgress)
            }
        }
    }

    /// Prefetches for the frames after a position of the batch.
    #[inline]
    fn prefetch_ahead(&mut self, batch: &Batch<'_>, position: usize) {
        let Some((prefetch, function)) = &self.code.prefetch else { return };
        while self.slots_prefetched < (position + SLOT_DISTANCE).min(batch.frames.len()) {
            set_frame(&mut self.context, batch.frame(self.slots_prefetched));
            self.context.state = self.key_state.as_mut_ptr();
            // SAFETY: `update_views` has set the views, and `set_frame` the frame. The function
            // reads nothing else.
            let slot = unsafe { self.code.machine.call(*function, &mut self.context) };
            let slot = slot as *const u64;
            Prefetch::prefetch_slot(slot);
            self.slots[self.slots_prefetched % BATCH] = slot;
            self.slots_prefetched += 1;
        }
        while self.cells_prefetched < (position + CELL_DISTANCE).min(batch.frames.len()) {
            let slot = self.slots[self.cells_prefetched % BATCH];
            // SAFETY: the slot was computed above, in this batch. Within a batch only packets change
            // tables and registers, and they do not move them.
            unsafe { prefetch.prefetch_cells(slot, &self.registers) };
            self.cells_prefetched += 1;
        }
    }
}

/// Sets the received frame in the context.
#[inline]
fn set_frame(context: &mut Context, frame: Frame<'_>) {
    context.frame = frame.bytes.as_ptr();
    context.frame_length = frame.bytes.len() as u64;
    context.ingress_length = frame.bytes.len() as u64;
    context.port = u64::from(frame.port);
    context.now_ns = frame.now_ns;
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
            (self.slots_prefetched, self.cells_prefetched) = (0, 0);
        }
        packet.state.words.resize(self.scratch.state_words, 0);
        let prefetches = self.prefetches && batch.frames.len() > 1;
        let forward = self.code.machine.entry(self.code.forward);
        let first = self.code.fast.map_or(forward, |fast| self.code.machine.entry(fast));
        let (mut sent, mut sent_bytes) = (0, 0);
        let mut stopped = None;
        for position in from..batch.frames.len() {
            if prefetches {
                self.prefetch_ahead(batch, position);
            }
            let frame = batch.frame(position);
            self.reserve_output(frame.bytes.len(), out);
            set_frame(&mut self.context, frame);
            self.context.state = packet.state.words.as_mut_ptr();
            (self.context.may_clone, self.context.cloned) = (1, 0);
            // SAFETY: `update_views` and the lines above have set all pointers that the code reads.
            let mut outcome = unsafe { first(&raw mut self.context) };
            if outcome == outcome::OTHER_PATH {
                // SAFETY: as above.
                outcome = unsafe { forward(&raw mut self.context) };
            }
            if outcome == outcome::SENT && self.context.cloned == 0 {
                // As `finish` does, for most packets.
                let length = self.context.out_length;
                out.commit(self.context.egress_port as u16, length as usize);
                sent += 1;
                sent_bytes += length;
                continue;
            }
            if outcome >= outcome::END_OF_INGRESS {
                packet.take_over(frame);
            }
            if let Some(stop) = self.finish(outcome, packet, out, tally) {
                stopped = Some((position, stop));
                break;
            }
            if self.context.cloned != 0 && outcome == outcome::SENT {
                out.note_passes(1);
            }
        }
        tally.sent += sent;
        tally.sent_bytes += sent_bytes;
        stopped
    }

    fn prefetch(&mut self, frames: &[Frame<'_>], objects: &mut Objects) {
        self.update_views(objects);
        let Some((prefetch, function)) = self.code.prefetch.as_ref().filter(|_| self.prefetches)
        else {
            return;
        };
        // The slots of the previous call are in the caches by now.
        for slot in self.announced.drain(..) {
            // SAFETY: the slot was computed below, and `update_views` forgets slots that may have
            // moved since.
            unsafe { prefetch.prefetch_cells(slot, &self.registers) };
        }
        for frame in frames.iter().take(BATCH) {
            set_frame(&mut self.context, *frame);
            self.context.state = self.key_state.as_mut_ptr();
            // SAFETY: as in `prefetch_ahead`.
            let slot = unsafe { self.code.machine.call(*function, &mut self.context) };
            let slot = slot as *const u64;
            Prefetch::prefetch_slot(slot);
            self.announced.push(slot);
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
        let stop = self.finish(outcome, packet, out, tally);
        if self.context.cloned != 0 && outcome == outcome::SENT {
            packet.count_pass();
        }
        stop
    }
}

fn empty_context() -> Context {
    use std::ptr::{null, null_mut};
    Context {
        frame: null(),
        frame_length: 0,
        out: null_mut(),
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
        clone_targets: null(),
        clone_sessions: 0,
        may_clone: 0,
        cloned: 0,
        objects: null_mut(),
        helpers: null_mut(),
    }
}
