//! What happens between the blocks of v1model: the order of a pass, and the ends of ingress and
//! egress (clone, digest, resubmit, multicast, drop, recirculate, transmit), as bmv2 does it.

use netkv_ir::{Place, Value};

use crate::digest::DigestMessage;
use crate::executor::{Batch, Frame, Graph, Stop, Tally};
use crate::operations::DROP_PORT;
use crate::output::Output;
use crate::packet::Packet;
use crate::recorder::Recorder;
use crate::replication::Replica;
use crate::switch::Switch;
use crate::trace::EventKind;

/// Times that one packet may go back to a pipeline (resubmit, recirculate, E2E clone).
pub const PASS_LIMIT: u32 = 1_000;

/// Passes that one frame and all its copies may take together.
pub const WORK_LIMIT: u32 = 65_536;

/// Values of `standard_metadata.instance_type`.
mod instance {
    pub(super) const NORMAL: u64 = 0;
    pub(super) const INGRESS_CLONE: u64 = 1;
    pub(super) const EGRESS_CLONE: u64 = 2;
    pub(super) const RECIRCULATED: u64 = 4;
    pub(super) const REPLICATED: u64 = 5;
    pub(super) const RESUBMITTED: u64 = 6;
}

/// Someone who watches, or nobody.
type Watch<'a> = Option<&'a mut Recorder>;

fn note(watch: &mut Watch<'_>, event: impl FnOnce() -> EventKind) {
    if let Some(recorder) = watch {
        recorder.note(event());
    }
}

impl Switch {
    /// Takes frames through the switch with all their copies and passes.
    pub(crate) fn forward(&mut self, batch: Batch<'_>, out: &mut Output) {
        let mut at = 0;
        while let Some(executor) = &mut self.compiled {
            let mut packet = self.pool.pop().unwrap_or_default();
            let mut tally = Tally::default();
            let objects = &mut self.objects;
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
                    self.end_of_ingress(packet, &mut None);
                    at = place + 1;
                }
                Some((place, Stop::EndOfEgress)) => {
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
        let counts = self.objects.counts;
        self.statistics.endless_graphs = counts.endless_graphs;
        self.statistics.failed_assertions = counts.failed_assertions;
        self.statistics.parser_errors = counts.parser_errors;
    }

    /// Takes one frame through the switch graph by graph.
    pub(crate) fn drive(&mut self, frame: Frame<'_>, out: &mut Output, watch: &mut Watch<'_>) {
        let Frame { bytes, port, now_ns } = frame;
        self.now_ns = now_ns;
        self.count_in(bytes);
        note(watch, || EventKind::received(port, bytes));
        let mut packet = self.fresh(bytes, now_ns);
        packet.port = port;
        packet.set(self.standard.ingress_port, u64::from(port));
        packet.set(self.standard.packet_length, bytes.len() as u64);
        packet.set(self.standard.ingress_global_timestamp, now_ns / 1_000);
        self.to_ingress.push_back(packet);
        self.work_off(out, watch);
        self.end_of_frames();
    }

    /// Moves packets between the pipelines until none is left.
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
    fn cut(&mut self, packet: Box<Packet>, watch: &mut Watch<'_>) {
        self.statistics.loops_cut += 1;
        note(watch, || EventKind::LoopCut { passes: packet.passes });
        self.pool.push(packet);
    }

    /// A packet with these bytes and all state 0.
    fn fresh(&mut self, bytes: &[u8], now_ns: u64) -> Box<Packet> {
        let mut packet = self.pool.pop().unwrap_or_default();
        packet.reset(self.program.state_words as usize, bytes, now_ns);
        packet
    }

    fn run(&mut self, graph: Graph, packet: &mut Packet, watch: &mut Watch<'_>) {
        match (watch, &mut self.compiled) {
            (None, Some(compiled)) => compiled.run(graph, packet, &mut self.objects),
            (watch, _) => {
                let recorder = watch.as_deref_mut();
                self.interpreter.run_watched(graph, packet, &mut self.objects, recorder);
            }
        }
    }

    fn ingress(&mut self, mut packet: Box<Packet>, watch: &mut Watch<'_>) {
        note(watch, || EventKind::Pass { pipeline: "ingress", port: packet.port });
        self.run(Graph::Parser, &mut packet, watch);
        let error = packet.get(self.standard.parser_error);
        if error != 0 {
            self.objects.counts.parser_errors += 1;
        }
        self.run(Graph::VerifyChecksum, &mut packet, watch);
        self.run(Graph::Ingress, &mut packet, watch);
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

    /// I2E: the original bytes parsed again; metadata 0 but for the field list, and the ingress
    /// port, so that a parser that looks at it takes the same way.
    fn clone_ingress(
        &mut self,
        original: &Packet,
        session: u64,
        list: Option<u32>,
        watch: &mut Watch<'_>,
    ) {
        let Some(replicas) = self.clone_replicas(session, "ingress", watch) else { return };
        let mut copy = self.fresh(&original.bytes, original.now_ns);
        copy.port = original.port;
        copy.passes = original.passes;
        copy.set(self.standard.ingress_port, u64::from(original.port));
        self.run(Graph::Parser, &mut copy, watch);
        self.keep(list, original, &mut copy);
        copy.set(self.standard.instance_type, instance::INGRESS_CLONE);
        self.limit_clone(session, &mut copy);
        self.replicate(copy, &replicas);
        self.spare_replicas = replicas;
    }

    /// E2E: headers as they are at the end of egress, metadata 0 but for the field list.
    fn clone_egress(
        &mut self,
        original: &Packet,
        session: u64,
        list: Option<u32>,
        watch: &mut Watch<'_>,
    ) {
        let Some(replicas) = self.clone_replicas(session, "egress", watch) else { return };
        let mut copy = self.fresh(&original.bytes, original.now_ns);
        copy.cursor = original.cursor;
        copy.port = original.port;
        copy.ingress_length = original.ingress_length;
        copy.length = original.length;
        copy.passes = original.passes + 1;
        for (word, words) in &self.header_words {
            let place = *word as usize..(*word + *words) as usize;
            copy.state.words[place.clone()].copy_from_slice(&original.state.words[place]);
        }
        self.keep(list, original, &mut copy);
        copy.set(self.standard.instance_type, instance::EGRESS_CLONE);
        self.limit_clone(session, &mut copy);
        if copy.passes > PASS_LIMIT {
            self.cut(copy, watch);
        } else {
            self.replicate(copy, &replicas);
        }
        self.spare_replicas = replicas;
    }

    /// Replicas of a clone session, in the spare list.
    fn clone_replicas(
        &mut self,
        session: u64,
        pipeline: &'static str,
        watch: &mut Watch<'_>,
    ) -> Option<Vec<Replica>> {
        let found = u32::try_from(session).ok().and_then(|id| self.replication.sessions.get(&id));
        let known = found.is_some();
        note(watch, || EventKind::Clone { pipeline, session, known });
        let Some(found) = found else {
            self.statistics.unknown_clone_sessions += 1;
            return None;
        };
        let mut replicas = std::mem::take(&mut self.spare_replicas);
        replicas.clone_from(&found.replicas);
        self.statistics.cloned += replicas.len() as u64;
        Some(replicas)
    }

    fn limit_clone(&self, session: u64, copy: &mut Packet) {
        let session = u32::try_from(session).ok().and_then(|id| self.replication.sessions.get(&id));
        if let Some(bytes) = session.map(|s| s.packet_length_bytes).filter(|bytes| *bytes > 0) {
            copy.requests.truncate = u64::from(bytes);
        }
    }

    fn multicast(&mut self, mut packet: Box<Packet>, group: u64, watch: &mut Watch<'_>) {
        let found = u32::try_from(group).ok().and_then(|id| self.replication.groups.get(&id));
        let copies = found.map(Vec::len);
        note(watch, || EventKind::Multicast { group, copies });
        let mut replicas = std::mem::take(&mut self.spare_replicas);
        replicas.clear();
        match found {
            Some(found) => replicas.extend_from_slice(found),
            None => self.statistics.unknown_multicast_groups += 1,
        }
        self.statistics.replicated += replicas.len() as u64;
        packet.set(self.standard.instance_type, instance::REPLICATED);
        packet.requests.take_recirculate();
        self.replicate(packet, &replicas);
        self.spare_replicas = replicas;
    }

    /// Sends a copy to each replica; the packet itself is the last one.
    fn replicate(&mut self, packet: Box<Packet>, replicas: &[Replica]) {
        let Some(((last_port, last_instance), others)) = replicas.split_last() else {
            self.pool.push(packet);
            return;
        };
        for (port, instance) in others {
            let mut copy = self.pool.pop().unwrap_or_default();
            copy.copy_from(&packet);
            copy.set(self.standard.egress_rid, u64::from(*instance));
            self.enqueue(copy, u64::from(*port));
        }
        let mut packet = packet;
        packet.set(self.standard.egress_rid, u64::from(*last_instance));
        self.enqueue(packet, u64::from(*last_port));
    }

    /// Hands a packet to egress.
    fn enqueue(&mut self, mut packet: Box<Packet>, port: u64) {
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
        if watch.is_none()
            && let Some(executor) = &mut self.compiled
        {
            let mut tally = Tally::default();
            let stop = executor.transmit(&mut packet, &mut self.objects, out, &mut tally);
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
        note(watch, || EventKind::Pass { pipeline: "egress", port });
        self.run(Graph::Egress, &mut packet, watch);
        self.end_of_egress(packet, out, watch);
    }

    fn end_of_egress(&mut self, mut packet: Box<Packet>, out: &mut Output, watch: &mut Watch<'_>) {
        let port = packet.egress_port;
        if let Some((session, list)) = packet.requests.take_clone() {
            self.clone_egress(&packet, session, list, watch);
        }
        if packet.get(self.standard.egress_spec) == DROP_PORT {
            self.statistics.dropped_egress += 1;
            note(watch, || EventKind::Drop { pipeline: "egress" });
            self.pool.push(packet);
            return;
        }
        self.run(Graph::ComputeChecksum, &mut packet, watch);
        packet.deparsed.clear();
        self.run(Graph::Deparser, &mut packet, watch);
        let Packet { deparsed, bytes, cursor, requests, .. } = &mut *packet;
        deparsed.push_rest(bytes, *cursor);
        deparsed.truncate(usize::try_from(requests.truncate).unwrap_or(usize::MAX));
        if let Some(list) = packet.requests.take_recirculate() {
            note(watch, || EventKind::Recirculate);
            self.statistics.recirculated += 1;
            let Packet { deparsed, bytes, .. } = &mut *packet;
            bytes.clear();
            bytes.extend_from_slice(deparsed.bytes());
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

    /// Sends a packet back to the parser with its present bytes: metadata 0 but for the list.
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
        next.passes = packet.passes + 1;
        self.keep(list, &packet, &mut next);
        next.set(self.standard.instance_type, instance_type);
        next.set(self.standard.packet_length, u64::from(next.ingress_length));
        self.pool.push(packet);
        self.to_ingress.push_back(next);
    }

    /// Copies what a field list preserves.
    fn keep(&self, list: Option<u32>, from: &Packet, to: &mut Packet) {
        let Some(id) = list else { return };
        for list in self.program.field_lists.iter().filter(|list| list.id == id) {
            let places = list.places.iter().map(|place: &Place| (place.word, place.words()));
            for (word, words) in places.chain(list.regions.iter().copied()) {
                let place = word as usize..(word + words) as usize;
                to.state.words[place.clone()].copy_from_slice(&from.state.words[place]);
            }
        }
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
