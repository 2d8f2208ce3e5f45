//! The executor: fills in the context, calls the code, and takes over what it left.
#![allow(unsafe_code)]

use std::sync::Arc;

use netkv_dataplane::{
    BATCH, Batch, BitWriter, Executor, Frame, Graph, HeaderPlan, NO_LIST, Objects, Output, Packet,
    Requests, Stop, Tally,
};
use netkv_ir::Program;

use crate::code::Code;
use crate::context::{Context, SLACK, TableView, outcome};
use crate::foresight::Foresight;
use crate::helpers::Scratch;

/// Places ahead of its turn that a frame is seen first, and again: a miss in all caches takes about
/// as long as two to four packets.
const FAR: usize = 10;
const NEAR: usize = 5;

/// Entries from which on a table and what it leads to are not in the nearer caches.
const FAR_ENTRIES: usize = 2_000;

/// Runs compiled code over the objects of one pipeline of a switch.
pub(crate) struct Compiled {
    code: Arc<Code>,
    program: Arc<Program>,
    context: Context,
    tables: Vec<TableView>,
    registers: Vec<*mut u8>,
    counters: Vec<*mut u8>,
    keys: Vec<u64>,
    hash: Vec<u8>,
    digest: Vec<u64>,
    scratch: Box<Scratch>,
    /// Headers of a packet that the deparser runs for alone.
    deparsed: Vec<u8>,
    /// State area for a look at a frame; what is there means nothing.
    look_state: Vec<u64>,
    /// Slots of frames whose turn comes, by their place in the batch.
    slots: [*const u64; BATCH],
    /// Places of the batch at hand that were seen first, and again.
    looked: usize,
    looked_again: usize,
    /// Fetching early pays: the table has outgrown the nearer caches.
    looks_ahead: bool,
    /// Where the objects were, and their generation, when the views were made.
    viewed: Option<(*const Objects, u64)>,
}

// SAFETY: the pointers inside are either into this value's own heap memory, or into objects that
// the caller lends anew with each call; `view` makes them again when those lie elsewhere.
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
            registers: Vec::new(),
            counters: Vec::new(),
            keys: vec![0; plan.key_words],
            hash: vec![0; plan.hash_bytes],
            digest: vec![0; plan.digest_words],
            scratch,
            deparsed: vec![0; plan.header_bytes + SLACK],
            look_state: vec![0; program.state_words as usize],
            slots: [std::ptr::null(); BATCH],
            looked: 0,
            looked_again: 0,
            looks_ahead: false,
            viewed: None,
            code,
            program,
        };
        executor.context.keys = executor.keys.as_mut_ptr();
        executor.context.hash = executor.hash.as_mut_ptr();
        executor.context.digest = executor.digest.as_mut_ptr();
        executor.context.helpers = &raw mut *executor.scratch;
        executor
    }

    /// Makes sure that the views show where tables, registers and counters lie now.
    #[inline]
    fn view(&mut self, objects: &mut Objects) {
        let here = (&raw const *objects, objects.generation());
        if self.viewed != Some(here) {
            self.view_again(objects);
            self.viewed = Some(here);
        }
        self.context.objects = objects;
    }

    #[cold]
    fn view_again(&mut self, objects: &mut Objects) {
        self.tables.clear();
        for table in 0..self.program.tables.len() {
            let (action, data) = objects.default_action(table);
            let map = objects.exact_map(table);
            self.tables.push(TableView {
                slots: map.map_or(std::ptr::null(), |map| map.slots().as_ptr()),
                mask: map.map_or(0, netkv_dataplane::ExactMap::mask),
                default_action: u64::from(action),
                default_data: data.as_ptr(),
            });
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
        self.looks_ahead = self.code.foresight.as_ref().is_some_and(|(foresight, _)| {
            objects.exact_map(foresight.table).is_some_and(|map| map.len() >= FAR_ENTRIES)
        });
        self.context.tables = self.tables.as_ptr();
        self.context.registers = self.registers.as_ptr();
        self.context.counters = self.counters.as_ptr();
        self.context.counts = (&raw mut objects.counts).cast();
    }

    /// Shows the code a packet that lies in memory.
    fn enter(&mut self, packet: &mut Packet) {
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

    /// Takes over what the code has left of a packet.
    fn leave(&self, packet: &mut Packet) {
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

    /// Room for what leaves of a frame of this length.
    #[inline]
    fn room(&mut self, length: usize, out: &mut Output) {
        let room = length + self.code.plan.header_bytes + SLACK;
        self.context.out = out.room(room).as_mut_ptr();
    }

    /// Counts what an outcome brought to an end; none then, else why the switch is needed.
    #[inline]
    fn stop(
        &self,
        outcome: u64,
        packet: &mut Packet,
        out: &mut Output,
        tally: &mut Tally,
    ) -> Option<Stop> {
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
                self.leave(packet);
                Some(Stop::EndOfIngress)
            }
            outcome::OTHER_PIPELINE => {
                self.leave(packet);
                Some(Stop::OtherPipeline)
            }
            _ => {
                self.leave(packet);
                Some(Stop::EndOfEgress)
            }
        }
    }

    /// Looks at the frames that come next as far as it should by now.
    #[inline]
    fn look_ahead(&mut self, batch: &Batch<'_>, place: usize) {
        let Some((foresight, function)) = &self.code.foresight else { return };
        while self.looked < (place + FAR).min(batch.frames.len()) {
            show(&mut self.context, batch.frame(self.looked));
            self.context.state = self.look_state.as_mut_ptr();
            // SAFETY: `view` has set the views, `show` the frame; the function reads no more.
            let slot = unsafe { self.code.machine.call(*function, &mut self.context) };
            let slot = slot as *const u64;
            Foresight::fetch_slot(slot);
            self.slots[self.looked % BATCH] = slot;
            self.looked += 1;
        }
        while self.looked_again < (place + NEAR).min(batch.frames.len()) {
            let slot = self.slots[self.looked_again % BATCH];
            // SAFETY: it was put there above, in this batch; nothing but packets changes tables and
            // registers within a batch, and those move nothing.
            unsafe { foresight.fetch_cells(slot, &self.registers) };
            self.looked_again += 1;
        }
    }
}

/// Shows the code a frame that comes in.
#[inline]
fn show(context: &mut Context, frame: Frame<'_>) {
    context.frame = frame.bytes.as_ptr();
    context.frame_length = frame.bytes.len() as u64;
    context.ingress_length = frame.bytes.len() as u64;
    context.port = u64::from(frame.port);
    context.now_ns = frame.now_ns;
}

impl Executor for Compiled {
    fn run(&mut self, graph: Graph, packet: &mut Packet, objects: &mut Objects) {
        self.view(objects);
        self.enter(packet);
        self.context.out = self.deparsed.as_mut_ptr();
        // SAFETY: `view` and `enter` have set all pointers; the state has the program's words.
        unsafe { self.code.machine.call(self.code.graphs[graph as usize], &mut self.context) };
        if graph == Graph::Deparser {
            packet.append_deparsed(&self.deparsed[..self.context.out_length as usize]);
        }
        self.leave(packet);
    }

    fn forward(
        &mut self,
        batch: Batch<'_>,
        from: usize,
        packet: &mut Packet,
        objects: &mut Objects,
        out: &mut Output,
        tally: &mut Tally,
    ) -> Option<(usize, Stop)> {
        self.view(objects);
        if from == 0 {
            (self.looked, self.looked_again) = (0, 0);
        }
        packet.state.words.resize(self.scratch.state_words, 0);
        let looks_ahead = self.looks_ahead && batch.frames.len() > 1;
        for place in from..batch.frames.len() {
            if looks_ahead {
                self.look_ahead(&batch, place);
            }
            let frame = batch.frame(place);
            self.room(frame.bytes.len(), out);
            show(&mut self.context, frame);
            self.context.state = packet.state.words.as_mut_ptr();
            // SAFETY: `view` and the lines above have set all pointers that this entry reads.
            let outcome = unsafe { self.code.machine.call(self.code.forward, &mut self.context) };
            if outcome >= outcome::END_OF_INGRESS {
                packet.take_over(frame);
            }
            if let Some(stop) = self.stop(outcome, packet, out, tally) {
                return Some((place, stop));
            }
        }
        None
    }

    fn transmit(
        &mut self,
        packet: &mut Packet,
        objects: &mut Objects,
        out: &mut Output,
        tally: &mut Tally,
    ) -> Option<Stop> {
        self.view(objects);
        self.room(packet.bytes.len(), out);
        self.enter(packet);
        // SAFETY: as above.
        let outcome = unsafe { self.code.machine.call(self.code.transmit, &mut self.context) };
        self.stop(outcome, packet, out, tally)
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
        objects: null_mut(),
        helpers: null_mut(),
    }
}
