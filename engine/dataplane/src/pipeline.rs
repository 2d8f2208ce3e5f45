//! What happens between the blocks of v1model: the order of a pass, and the ends of ingress and
//! egress (clone, digest, resubmit, multicast, drop, recirculate, transmit), as bmv2 does it.

use netkv_ir::Value;

use crate::digest::DigestMessage;
use crate::executor::{Batch, Frame, Graph, Stop, Tally};
use crate::objects::Counts;
use crate::operations::DROP_PORT;
use crate::output::Output;
use crate::packet::Packet;
use crate::pipe::{Pipe, pipeline_of};
use crate::recorder::Recorder;
use crate::switch::Switch;
use crate::trace::EventKind;

/// Times that one packet may go back to ingress or egress (resubmit, recirculate, E2E clone).
pub const PASS_LIMIT: u32 = 1_000;

/// Passes that one frame and all its copies may take together.
pub const WORK_LIMIT: u32 = 65_536;

/// Values of `standard_metadata.instance_type`.
pub(crate) mod instance {
    pub(crate) const NORMAL: u64 = 0;
    pub(crate) const INGRESS_CLONE: u64 = 1;
    pub(crate) const EGRESS_CLONE: u64 = 2;
    pub(crate) const RECIRCULATED: u64 = 4;
    pub(crate) const REPLICATED: u64 = 5;
    pub(crate) const RESUBMITTED: u64 = 6;
}

/// Someone who watches, or nobody.
pub(crate) type Watch<'a> = Option<&'a mut Recorder>;

pub(crate) fn note(watch: &mut Watch<'_>, event: impl FnOnce() -> EventKind) {
    if let Some(recorder) = watch {
        recorder.note(event());
    }
}

impl Switch {
    /// Takes frames through the switch with all their copies and passes.
    pub(crate) fn forward(&mut self, batch: Batch<'_>, out: &mut Output) {
        let pipeline = self.pipeline_of(batch.port);
        let mut at = 0;
        while let Pipe { objects, executor: Some(executor) } = &mut self.pipes[pipeline] {
            let mut packet = self.pool.pop().unwrap_or_default();
            let mut tally = Tally::default();
            let stop = executor.forward(batch, at, &mut packet, objects, out, &mut tally);
            self.count(tally);
            match stop {
                None => {
                    self.pool.push(packet);
                    at = batch.frames.len();
                    break;
                }
                Some((place, Stop::Nowhere)) => {
                    self.pool.push(packet);
                    at = place;
                    break;
                }
                Some((place, Stop::EndOfIngress)) => {
                    packet.pipeline = pipeline;
                    self.end_of_ingress(packet, &mut None);
                    at = place + 1;
                }
                Some((place, Stop::OtherPipeline)) => {
                    packet.pipeline = pipeline;
                    self.egress(packet, out, &mut None);
                    at = place + 1;
                }
                Some((place, Stop::EndOfEgress)) => {
                    packet.pipeline = pipeline;
                    self.end_of_egress(packet, out, &mut None);
                    at = place + 1;
                }
            }
            self.work_off(out, &mut None);
        }
        for place in 0..at {
            self.count_in(batch.frames[place]);
        }
        self.now_ns = batch.now_ns;
        self.end_of_frames();
        for place in at..batch.frames.len() {
            self.drive(batch.frame(place), out, &mut None);
        }
    }

    fn count_in(&mut self, frame: &[u8]) {
        self.statistics.packets_in += 1;
        self.statistics.bytes_in += frame.len() as u64;
    }

    fn count(&mut self, tally: Tally) {
        self.statistics.packets_out += tally.sent;
        self.statistics.bytes_out += tally.sent_bytes;
        self.statistics.dropped_ingress += tally.dropped_ingress;
        self.statistics.dropped_egress += tally.dropped_egress;
    }

    fn end_of_frames(&mut self) {
        let counts: Counts = self.pipes.iter().map(|pipe| pipe.objects.counts).sum();
        self.statistics.endless_graphs = counts.endless_graphs;
        self.statistics.failed_assertions = counts.failed_assertions;
        self.statistics.parser_errors = counts.parser_errors;
    }

    fn pipeline_of(&self, port: u16) -> usize {
        pipeline_of(port, self.pipes.len())
    }

    /// The number of a pipeline for a trace: none where there is but one.
    fn number(&self, pipeline: usize) -> Option<usize> {
        (self.pipes.len() > 1).then_some(pipeline)
    }

    /// Takes one frame through the switch graph by graph.
    pub(crate) fn drive(&mut self, frame: Frame<'_>, out: &mut Output, watch: &mut Watch<'_>) {
        let Frame { bytes, port, now_ns } = frame;
        self.now_ns = now_ns;
        self.count_in(bytes);
        note(watch, || EventKind::received(port, bytes));
        let mut packet = self.fresh(bytes, now_ns);
        packet.port = port;
        packet.pipeline = self.pipeline_of(port);
        packet.set(self.standard.ingress_port, u64::from(port));
        packet.set(self.standard.packet_length, bytes.len() as u64);
        packet.set(self.standard.ingress_global_timestamp, now_ns / 1_000);
        self.to_ingress.push_back(packet);
        self.work_off(out, watch);
        self.end_of_frames();
    }

    /// Moves packets between ingress and egress until none is left.
    fn work_off(&mut self, out: &mut Output, watch: &mut Watch<'_>) {
        let mut work = 0;
        loop {
            if let Some(packet) = self.to_egress.pop_front() {
                self.egress(packet, out, watch);
            } else if let Some(packet) = self.to_ingress.pop_front() {
                self.ingress(packet, watch);
            } else {
                break;
            }
            work += 1;
            if work >= WORK_LIMIT {
                self.cut_all(watch);
            }
        }
    }

    fn cut_all(&mut self, watch: &mut Watch<'_>) {
        while let Some(packet) = self.to_egress.pop_front().or_else(|| self.to_ingress.pop_front())
        {
            self.cut(packet, watch);
        }
    }

    /// Drops a packet that goes round in circles.
    pub(crate) fn cut(&mut self, packet: Box<Packet>, watch: &mut Watch<'_>) {
        self.statistics.loops_cut += 1;
        note(watch, || EventKind::LoopCut { passes: packet.passes });
        self.pool.push(packet);
    }

    /// A packet with these bytes and all state 0.
    pub(crate) fn fresh(&mut self, bytes: &[u8], now_ns: u64) -> Box<Packet> {
        let mut packet = self.pool.pop().unwrap_or_default();
        packet.reset(self.program.state_words as usize, bytes, now_ns);
        packet
    }

    /// Runs a graph over the objects of a pipeline.
    pub(crate) fn run(
        &mut self,
        graph: Graph,
        pipeline: usize,
        packet: &mut Packet,
        watch: &mut Watch<'_>,
    ) {
        let Pipe { objects, executor } = &mut self.pipes[pipeline];
        match (watch, executor) {
            (None, Some(executor)) => executor.run(graph, packet, objects),
            (watch, _) => {
                let recorder = watch.as_deref_mut();
                self.interpreter.run_watched(graph, packet, objects, recorder);
            }
        }
    }

    fn ingress(&mut self, mut packet: Box<Packet>, watch: &mut Watch<'_>) {
        let (port, pipeline) = (packet.port, packet.pipeline);
        let number = self.number(pipeline);
        note(watch, || EventKind::Pass { pipeline: "ingress", port, number });
        self.run(Graph::Parser, pipeline, &mut packet, watch);
        let error = packet.get(self.standard.parser_error);
        if error != 0 {
            self.pipes[pipeline].objects.counts.parser_errors += 1;
        }
        self.run(Graph::VerifyChecksum, pipeline, &mut packet, watch);
        self.run(Graph::Ingress, pipeline, &mut packet, watch);
        self.end_of_ingress(packet, watch);
    }

    fn end_of_ingress(&mut self, mut packet: Box<Packet>, watch: &mut Watch<'_>) {
        if let Some((session, list)) = packet.requests.take_clone() {
            self.clone_ingress(&packet, session, list, watch);
        }
        if let Some(digest) = packet.requests.take_digest() {
            self.send_digest(digest, &packet, watch);
        }
        if let Some(list) = packet.requests.take_resubmit() {
            note(watch, || EventKind::Resubmit);
            self.statistics.resubmitted += 1;
            self.again(packet, list, instance::RESUBMITTED, watch);
            return;
        }
        let group = packet.get(self.standard.mcast_grp);
        if group != 0 {
            self.multicast(packet, group, watch);
            return;
        }
        let port = packet.get(self.standard.egress_spec);
        if port == DROP_PORT {
            self.statistics.dropped_ingress += 1;
            note(watch, || EventKind::Drop { pipeline: "ingress" });
            self.pool.push(packet);
            return;
        }
        packet.set(self.standard.instance_type, instance::NORMAL);
        self.enqueue(packet, port);
    }

    /// Hands a packet to egress.
    pub(crate) fn enqueue(&mut self, mut packet: Box<Packet>, port: u64) {
        let (micros, length) = (packet.now_ns / 1_000, u64::from(packet.length));
        let standard = &self.standard;
        packet.egress_port = port as u16;
        packet.set(standard.egress_port, port);
        // bmv2 clears it, so that only egress itself can drop there.
        packet.set(standard.egress_spec, 0);
        packet.set(standard.packet_length, length);
        packet.set(standard.enq_timestamp, micros);
        packet.set(standard.enq_qdepth, 0);
        packet.set(standard.deq_timedelta, 0);
        packet.set(standard.deq_qdepth, 0);
        packet.set(standard.egress_global_timestamp, micros);
        self.to_egress.push_back(packet);
    }

    fn egress(&mut self, mut packet: Box<Packet>, out: &mut Output, watch: &mut Watch<'_>) {
        let port = packet.egress_port;
        let pipeline = self.pipeline_of(port);
        if watch.is_none()
            && let Pipe { objects, executor: Some(executor) } = &mut self.pipes[pipeline]
        {
            let mut tally = Tally::default();
            let stop = executor.transmit(&mut packet, objects, out, &mut tally);
            self.count(tally);
            match stop {
                None => {
                    if tally.sent > 0 {
                        out.note_passes(packet.passes);
                    }
                    return self.pool.push(packet);
                }
                Some(Stop::EndOfEgress) => return self.end_of_egress(packet, out, watch),
                Some(_) => {}
            }
        }
        let number = self.number(pipeline);
        note(watch, || EventKind::Pass { pipeline: "egress", port, number });
        self.run(Graph::Egress, pipeline, &mut packet, watch);
        self.end_of_egress(packet, out, watch);
    }

    fn end_of_egress(&mut self, mut packet: Box<Packet>, out: &mut Output, watch: &mut Watch<'_>) {
        let port = packet.egress_port;
        let pipeline = self.pipeline_of(port);
        if let Some((session, list)) = packet.requests.take_clone() {
            self.clone_egress(&packet, session, list, watch);
        }
        if packet.get(self.standard.egress_spec) == DROP_PORT {
            self.statistics.dropped_egress += 1;
            note(watch, || EventKind::Drop { pipeline: "egress" });
            self.pool.push(packet);
            return;
        }
        self.run(Graph::ComputeChecksum, pipeline, &mut packet, watch);
        packet.deparsed.clear();
        self.run(Graph::Deparser, pipeline, &mut packet, watch);
        let Packet { deparsed, bytes, cursor, requests, .. } = &mut *packet;
        deparsed.push_rest(bytes, *cursor);
        deparsed.truncate(usize::try_from(requests.truncate).unwrap_or(usize::MAX));
        if let Some(list) = packet.requests.take_recirculate() {
            note(watch, || EventKind::Recirculate);
            self.statistics.recirculated += 1;
            let Packet { deparsed, bytes, .. } = &mut *packet;
            bytes.clear();
            bytes.extend_from_slice(deparsed.bytes());
            // It goes round within the pipeline that it leaves by.
            packet.pipeline = pipeline;
            self.again(packet, list, instance::RECIRCULATED, watch);
            return;
        }
        let frame = packet.deparsed.bytes();
        out.push(port, frame);
        out.note_passes(packet.passes);
        self.statistics.packets_out += 1;
        self.statistics.bytes_out += frame.len() as u64;
        note(watch, || EventKind::transmitted(port, frame));
        self.pool.push(packet);
    }

    /// Sends a packet back to its pipeline's parser with its present bytes: metadata 0 but for the
    /// list.
    fn again(
        &mut self,
        packet: Box<Packet>,
        list: Option<u32>,
        instance_type: u64,
        watch: &mut Watch<'_>,
    ) {
        if packet.passes >= PASS_LIMIT {
            self.cut(packet, watch);
            return;
        }
        let mut next = self.fresh(&packet.bytes, packet.now_ns);
        next.port = packet.port;
        next.pipeline = packet.pipeline;
        next.passes = packet.passes + 1;
        self.keep(list, &packet, &mut next);
        next.set(self.standard.instance_type, instance_type);
        next.set(self.standard.packet_length, u64::from(next.ingress_length));
        self.pool.push(packet);
        self.to_ingress.push_back(next);
    }

    fn send_digest(&mut self, digest: u32, packet: &Packet, watch: &mut Watch<'_>) {
        let program = &self.program;
        let digest = &program.digests[digest as usize];
        note(watch, || EventKind::Digest { name: digest.identity.name.clone() });
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
