//! Processing of packets between the blocks of v1model, as in bmv2.
//!
//! A pass runs the blocks of ingress or egress in order. At the end of ingress, a packet is cloned,
//! resubmitted, replicated, dropped or sent to egress, and its digest is sent. At the end of
//! egress, it is cloned, dropped, recirculated or transmitted. Two queues hold the packets between
//! passes.

use netkv_ir::Value;

use crate::digest::DigestMessage;
use crate::executor::{Stop, Tally};
use crate::frame::{Batch, Frame};
use crate::graph::Graph;
use crate::objects::Counts;
use crate::output::Output;
use crate::packet::{MAX_PASSES, MAX_PASSES_PER_FRAME, Packet};
use crate::pipeline_instance::PipelineInstance;
use crate::requests::Requests;
use crate::standard_metadata::{DROP_PORT, instance};
use crate::switch::Switch;
use crate::trace::EventKind;
use crate::trace_recorder::{Tracing, record_event};

impl Switch {
    /// Processes a batch of frames with all their copies and passes.
    pub(crate) fn forward(&mut self, batch: &Batch<'_>, out: &mut Output) {
        if self.stops_at_assertions {
            self.forward_until_assertion(batch, out);
        } else {
            self.forward_batch(batch, out);
        }
    }

    /// Frames after one for which an assertion was false are dropped, and what that one sends.
    fn forward_until_assertion(&mut self, batch: &Batch<'_>, out: &mut Output) {
        let mut own = Output::new();
        for &frame in batch.frames {
            if self.statistics.failed_assertions > 0 {
                return;
            }
            own.clear();
            self.forward_batch(&Batch { frames: &[frame], ..*batch }, &mut own);
            if self.statistics.failed_assertions == 0 {
                own.frames().for_each(|(port, frame)| out.push(port, frame));
            }
        }
    }

    fn forward_batch(&mut self, batch: &Batch<'_>, out: &mut Output) {
        let pipeline = self.pipeline_of(batch.port);
        let mut at = 0;
        while let PipelineInstance { objects, executor: Some(executor) } =
            &mut self.pipelines[pipeline]
        {
            let mut packet = self.pool.pop().unwrap_or_default();
            let mut tally = Tally::default();
            let stop = executor.forward(batch, at, &mut packet, objects, out, &mut tally);
            self.count_tally(tally);
            let mut work = tally.passes;
            match stop {
                None => {
                    self.pool.push(packet);
                    at = batch.frames.len();
                    break;
                }
                Some((index, Stop::Nowhere)) => {
                    self.pool.push(packet);
                    at = index;
                    break;
                }
                Some((index, Stop::EndOfIngress)) => {
                    packet.pipeline = pipeline;
                    self.end_of_ingress(packet, &mut None);
                    at = index + 1;
                }
                Some((index, Stop::OtherPipeline)) => {
                    packet.pipeline = pipeline;
                    work += 1 + self.egress(packet, out, &mut None);
                    at = index + 1;
                }
                Some((index, Stop::EndOfEgress)) => {
                    packet.pipeline = pipeline;
                    self.end_of_egress(packet, out, &mut None);
                    at = index + 1;
                }
                Some((index, Stop::EndOfCopy { copies })) => {
                    packet.pipeline = pipeline;
                    self.make_other_copies(&packet, copies);
                    self.end_of_egress(packet, out, &mut None);
                    at = index + 1;
                }
                Some((index, Stop::Recirculated)) => {
                    self.recirculate(packet, &mut None);
                    at = index + 1;
                }
            }
            self.process_queues(out, &mut None, work);
        }
        for index in 0..at {
            self.count_received(batch.frames[index]);
        }
        self.now_ns = batch.now_ns;
        self.update_executor_statistics();
        for index in at..batch.frames.len() {
            self.process_graph_by_graph(batch.frame(index), out, &mut None);
        }
    }

    fn count_received(&mut self, frame: &[u8]) {
        self.statistics.packets_in += 1;
        self.statistics.bytes_in += frame.len() as u64;
    }

    fn count_tally(&mut self, tally: Tally) {
        self.statistics.packets_out += tally.sent;
        self.statistics.bytes_out += tally.sent_bytes;
        self.statistics.dropped_ingress += tally.dropped_ingress;
        self.statistics.dropped_egress += tally.dropped_egress;
        self.statistics.cloned += tally.cloned;
        self.statistics.replicated += tally.replicated;
        self.statistics.recirculated += tally.recirculated;
    }

    pub(crate) fn update_executor_statistics(&mut self) {
        let counts: Counts = self.pipelines.iter().map(|pipe| pipe.objects.counts).sum();
        self.statistics.endless_graphs = counts.endless_graphs;
        let pipelines = self.pipelines.iter();
        let failed = pipelines.flat_map(|pipe| &pipe.objects.failed_assertions);
        self.statistics.failed_assertions = failed.sum();
        self.statistics.parser_errors = counts.parser_errors;
    }

    fn pipeline_of(&self, port: u16) -> usize {
        self.pipelines.of(port)
    }

    /// Number of a pipeline for the trace; `None` if the switch has only one.
    fn traced_pipeline(&self, pipeline: usize) -> Option<usize> {
        (self.pipelines.count() > 1).then_some(pipeline)
    }

    /// Processes one frame graph by graph, without the fast path of an executor.
    pub(crate) fn process_graph_by_graph(
        &mut self,
        frame: Frame<'_>,
        out: &mut Output,
        tracing: &mut Tracing<'_>,
    ) {
        let Frame { bytes, port, now_ns } = frame;
        self.now_ns = now_ns;
        self.count_received(bytes);
        record_event(tracing, || EventKind::received(port, bytes));
        let mut packet = self.new_packet(bytes, now_ns);
        packet.port = port;
        packet.pipeline = self.pipeline_of(port);
        packet.set(self.standard.ingress_port, u64::from(port));
        packet.set(self.standard.packet_length, bytes.len() as u64);
        packet.set(self.standard.ingress_global_timestamp, now_ns / 1_000);
        self.to_ingress.push_back(packet);
        self.process_queues(out, tracing, 0);
        self.update_executor_statistics();
    }

    /// Processes the packets in both queues until the queues are empty. `work` is the number of
    /// passes of the received frame, and of its copies, that are done already.
    pub(crate) fn process_queues(
        &mut self,
        out: &mut Output,
        tracing: &mut Tracing<'_>,
        mut work: u32,
    ) {
        loop {
            if let Some(packet) = self.to_egress.pop_front() {
                work += self.egress(packet, out, tracing);
            } else if let Some(packet) = self.to_ingress.pop_front() {
                self.ingress(packet, tracing);
            } else {
                break;
            }
            work += 1;
            if work >= MAX_PASSES_PER_FRAME {
                self.drop_all_looping(tracing);
            }
        }
    }

    fn drop_all_looping(&mut self, tracing: &mut Tracing<'_>) {
        while let Some(packet) = self.to_egress.pop_front().or_else(|| self.to_ingress.pop_front())
        {
            self.drop_looping(packet, tracing);
        }
    }

    /// Drops a packet that exceeds the number of passes.
    pub(crate) fn drop_looping(&mut self, packet: Box<Packet>, tracing: &mut Tracing<'_>) {
        self.statistics.loops_cut += 1;
        record_event(tracing, || EventKind::LoopCut { passes: packet.passes });
        self.pool.push(packet);
    }

    /// A new packet with these bytes, and all state 0.
    pub(crate) fn new_packet(&mut self, bytes: &[u8], now_ns: u64) -> Box<Packet> {
        let mut packet = self.pool.pop().unwrap_or_default();
        packet.reset(self.program.state_words as usize, bytes, now_ns);
        packet
    }

    /// Runs a graph with the objects of a pipeline.
    pub(crate) fn run(
        &mut self,
        graph: Graph,
        pipeline: usize,
        packet: &mut Packet,
        tracing: &mut Tracing<'_>,
    ) {
        let PipelineInstance { objects, executor } = &mut self.pipelines[pipeline];
        match (tracing, executor) {
            (None, Some(executor)) => executor.run(graph, packet, objects),
            (tracing, _) => {
                let recorder = tracing.as_deref_mut();
                self.interpreter.run_traced(graph, packet, objects, recorder);
            }
        }
    }

    fn ingress(&mut self, mut packet: Box<Packet>, tracing: &mut Tracing<'_>) {
        let (port, pipeline) = (packet.port, packet.pipeline);
        let number = self.traced_pipeline(pipeline);
        record_event(tracing, || EventKind::Pass { pipeline: "ingress", port, number });
        self.run(Graph::Parser, pipeline, &mut packet, tracing);
        let error = packet.get(self.standard.parser_error);
        if error != 0 {
            self.pipelines[pipeline].objects.counts.parser_errors += 1;
        }
        self.run(Graph::VerifyChecksum, pipeline, &mut packet, tracing);
        self.run(Graph::Ingress, pipeline, &mut packet, tracing);
        self.end_of_ingress(packet, tracing);
    }

    fn end_of_ingress(&mut self, mut packet: Box<Packet>, tracing: &mut Tracing<'_>) {
        if let Some((session, list)) = packet.requests.take_clone() {
            self.clone_ingress(&packet, session, list, tracing);
        }
        if let Some(digest) = packet.requests.take_digest() {
            self.send_digest(digest, &packet, tracing);
        }
        if let Some(list) = packet.requests.take_resubmit() {
            record_event(tracing, || EventKind::Resubmit);
            self.statistics.resubmitted += 1;
            packet.cursor = 0;
            packet.cut_payload();
            self.send_back_to_parser(packet, list, instance::RESUBMITTED, tracing);
            return;
        }
        let group = packet.get(self.standard.mcast_grp);
        if group != 0 {
            self.multicast(packet, group, tracing);
            return;
        }
        let port = packet.get(self.standard.egress_spec);
        if port == DROP_PORT {
            self.statistics.dropped_ingress += 1;
            record_event(tracing, || EventKind::Drop { pipeline: "ingress" });
            self.pool.push(packet);
            return;
        }
        packet.set(self.standard.instance_type, instance::NORMAL);
        self.enqueue(packet, port);
    }

    /// Adds a packet to the queue of egress.
    pub(crate) fn enqueue(&mut self, mut packet: Box<Packet>, port: u64) {
        let (micros, length) = (packet.now_ns / 1_000, u64::from(packet.length));
        let standard = &self.standard;
        packet.egress_port = port as u16;
        packet.set(standard.egress_port, port);
        // As in bmv2, so that only egress itself can drop the packet in egress.
        packet.set(standard.egress_spec, 0);
        packet.set(standard.packet_length, length);
        packet.set(standard.enq_timestamp, micros);
        packet.set(standard.enq_qdepth, 0);
        packet.set(standard.deq_timedelta, 0);
        packet.set(standard.deq_qdepth, 0);
        packet.set(standard.egress_global_timestamp, micros);
        self.to_egress.push_back(packet);
    }

    /// Returns the number of clones that it has processed as well.
    pub(crate) fn egress(
        &mut self,
        mut packet: Box<Packet>,
        out: &mut Output,
        tracing: &mut Tracing<'_>,
    ) -> u32 {
        let port = packet.egress_port;
        let pipeline = self.pipeline_of(port);
        if !self.pipelines.has(pipeline) {
            self.hand_over(packet);
            return 0;
        }
        if tracing.is_none()
            && let PipelineInstance { objects, executor: Some(executor) } =
                &mut self.pipelines[pipeline]
        {
            let mut tally = Tally::default();
            // With other packets in the queue, the clone would overtake them.
            let may_clone = self.to_egress.is_empty() && packet.passes < MAX_PASSES;
            let stop = executor.transmit(&mut packet, objects, out, &mut tally, may_clone);
            self.count_tally(tally);
            match stop {
                None => {
                    self.pool.push(packet);
                    return tally.cloned as u32;
                }
                Some(Stop::EndOfEgress) => {
                    self.end_of_egress(packet, out, tracing);
                    return tally.cloned as u32;
                }
                Some(Stop::Recirculated) => {
                    self.recirculate(packet, tracing);
                    return tally.cloned as u32;
                }
                Some(_) => {}
            }
        }
        let number = self.traced_pipeline(pipeline);
        record_event(tracing, || EventKind::Pass { pipeline: "egress", port, number });
        self.run(Graph::Egress, pipeline, &mut packet, tracing);
        self.end_of_egress(packet, out, tracing);
        0
    }

    fn end_of_egress(
        &mut self,
        mut packet: Box<Packet>,
        out: &mut Output,
        tracing: &mut Tracing<'_>,
    ) {
        let port = packet.egress_port;
        let pipeline = self.pipeline_of(port);
        if let Some((session, list)) = packet.requests.take_clone() {
            self.clone_egress(&packet, session, list, tracing);
        }
        if packet.get(self.standard.egress_spec) == DROP_PORT {
            self.statistics.dropped_egress += 1;
            record_event(tracing, || EventKind::Drop { pipeline: "egress" });
            self.pool.push(packet);
            return;
        }
        self.run(Graph::ComputeChecksum, pipeline, &mut packet, tracing);
        packet.deparsed.clear();
        self.run(Graph::Deparser, pipeline, &mut packet, tracing);
        let Packet { deparsed, bytes, cursor, requests, .. } = &mut *packet;
        deparsed.push_rest(bytes, *cursor);
        if requests.flags & Requests::RECIRCULATE != 0 {
            bytes.clear();
            bytes.extend_from_slice(deparsed.bytes());
            packet.cursor = 0;
            packet.cut_payload();
            self.recirculate(packet, tracing);
            return;
        }
        deparsed.truncate(usize::try_from(requests.truncate).unwrap_or(usize::MAX));
        let frame = packet.deparsed.bytes();
        out.push(port, frame);
        out.note_passes(packet.passes);
        self.statistics.packets_out += 1;
        self.statistics.bytes_out += frame.len() as u64;
        record_event(tracing, || EventKind::transmitted(port, frame));
        self.pool.push(packet);
    }

    /// Recirculates a packet whose bytes are those that the deparser made.
    fn recirculate(&mut self, mut packet: Box<Packet>, tracing: &mut Tracing<'_>) {
        record_event(tracing, || EventKind::Recirculate);
        self.statistics.recirculated += 1;
        // It enters the ingress of the pipeline of its egress port.
        packet.pipeline = self.pipeline_of(packet.egress_port);
        packet.ingress_length = u32::try_from(packet.bytes.len()).unwrap_or(u32::MAX);
        let list = packet.requests.take_recirculate().flatten();
        self.send_back_to_parser(packet, list, instance::RECIRCULATED, tracing);
    }

    /// Sends a packet with its current bytes back to the parser of its pipeline. Metadata becomes
    /// 0, except the field list and the length, which `truncate` does not change if it is
    /// resubmitted.
    fn send_back_to_parser(
        &mut self,
        packet: Box<Packet>,
        list: Option<u32>,
        instance_type: u64,
        tracing: &mut Tracing<'_>,
    ) {
        if packet.passes >= MAX_PASSES {
            self.drop_looping(packet, tracing);
            return;
        }
        let mut next = self.new_packet(&packet.bytes, packet.now_ns);
        next.port = packet.port;
        next.pipeline = packet.pipeline;
        next.passes = packet.passes + 1;
        self.preserve_field_list(list, &packet, &mut next);
        next.set(self.standard.instance_type, instance_type);
        next.ingress_length = packet.ingress_length;
        next.length = packet.ingress_length;
        next.set(self.standard.packet_length, u64::from(next.ingress_length));
        self.pool.push(packet);
        self.to_ingress.push_back(next);
    }

    fn send_digest(&mut self, digest: u32, packet: &Packet, tracing: &mut Tracing<'_>) {
        let program = &self.program;
        let digest = &program.digests[digest as usize];
        record_event(tracing, || EventKind::Digest { name: digest.identity.name.clone() });
        if self.digests.is_full() {
            self.statistics.digests_dropped += 1;
            return;
        }
        let mut words = packet.digest_values.iter().copied();
        let values = digest
            .members
            .iter()
            .map(|member| Value {
                width: member.width,
                words: words.by_ref().take(member.width.div_ceil(64) as usize).collect(),
            })
            .collect();
        self.digests.push(DigestMessage { digest_id: digest.identity.id, values });
        self.statistics.digests += 1;
    }
}
