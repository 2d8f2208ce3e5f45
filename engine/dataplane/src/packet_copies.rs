//! Copies of packets: ingress and egress clones, multicast, and the metadata that they preserve.

use netkv_ir::Place;

use crate::graph::Graph;
use crate::packet::{MAX_PASSES, Packet};
use crate::replication::Replica;
use crate::standard_metadata::instance;
use crate::switch::Switch;
use crate::trace::EventKind;
use crate::trace_recorder::{Tracing, record_event};

impl Switch {
    /// Makes an ingress-to-egress clone. The pipeline of the original parses the original bytes
    /// again. Metadata is 0, except the field list and the ingress port. The clone needs the port,
    /// so that a parser that reads it takes the same path. Egress is that of the clone's own port.
    pub(crate) fn clone_ingress(
        &mut self,
        original: &Packet,
        session: u64,
        list: Option<u32>,
        tracing: &mut Tracing<'_>,
    ) {
        let Some(replicas) = self.clone_replicas(session, "ingress", tracing) else { return };
        let mut copy = self.new_packet(original.last_bytes(0), original.now_ns);
        copy.ingress_length = original.ingress_length;
        copy.length = original.ingress_length;
        copy.port = original.port;
        copy.pipeline = original.pipeline;
        copy.passes = original.passes;
        copy.set(self.standard.ingress_port, u64::from(original.port));
        self.run(Graph::Parser, copy.pipeline, &mut copy, tracing);
        self.preserve_field_list(list, original, &mut copy);
        copy.set(self.standard.instance_type, instance::INGRESS_CLONE);
        self.limit_clone(session, &mut copy);
        self.replicate(copy, &replicas);
        self.spare_replicas = replicas;
    }

    /// Makes an egress-to-egress clone, with the headers at the end of egress. Metadata is 0,
    /// except the field list.
    pub(crate) fn clone_egress(
        &mut self,
        original: &Packet,
        session: u64,
        list: Option<u32>,
        tracing: &mut Tracing<'_>,
    ) {
        let Some(replicas) = self.clone_replicas(session, "egress", tracing) else { return };
        let mut copy = self.new_packet(&original.bytes, original.now_ns);
        copy.cursor = original.cursor;
        copy.port = original.port;
        copy.ingress_length = original.ingress_length;
        copy.length = original.length;
        copy.requests.truncate = original.requests.truncate;
        copy.cut_payload();
        copy.passes = original.passes + 1;
        for (word, words) in &self.header_words {
            let place = *word as usize..(*word + *words) as usize;
            copy.state.words[place.clone()].copy_from_slice(&original.state.words[place]);
        }
        self.preserve_field_list(list, original, &mut copy);
        copy.set(self.standard.instance_type, instance::EGRESS_CLONE);
        self.limit_clone(session, &mut copy);
        if copy.passes > MAX_PASSES {
            self.drop_looping(copy, tracing);
        } else {
            self.replicate(copy, &replicas);
        }
        self.spare_replicas = replicas;
    }

    /// Copies the replicas of a clone session to the reusable list. `None`: unknown session.
    fn clone_replicas(
        &mut self,
        session: u64,
        pipeline: &'static str,
        tracing: &mut Tracing<'_>,
    ) -> Option<Vec<Replica>> {
        let found = u32::try_from(session).ok().and_then(|id| self.replication.sessions.get(&id));
        let known = found.is_some();
        record_event(tracing, || EventKind::Clone { pipeline, session, known });
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
            copy.requests.set_truncate(u64::from(bytes));
        }
    }

    pub(crate) fn multicast(
        &mut self,
        mut packet: Box<Packet>,
        group: u64,
        tracing: &mut Tracing<'_>,
    ) {
        let found = u32::try_from(group).ok().and_then(|id| self.replication.groups.get(&id));
        let copies = found.map(Vec::len);
        record_event(tracing, || EventKind::Multicast { group, copies });
        let mut replicas = std::mem::take(&mut self.spare_replicas);
        replicas.clear();
        match found {
            Some(found) => replicas.extend_from_slice(found),
            None => self.statistics.unknown_multicast_groups += 1,
        }
        self.statistics.replicated += replicas.len() as u64;
        packet.set(self.standard.instance_type, instance::REPLICATED);
        packet.requests.take_recirculate();
        packet.cut_payload();
        self.replicate(packet, &replicas);
        self.spare_replicas = replicas;
    }

    /// Enqueues the copies of a multicast packet after those that its executor has made. `copy` is
    /// the last of them.
    pub(crate) fn make_other_copies(&mut self, copy: &Packet, made: usize) {
        let mut original = self.pool.pop().unwrap_or_default();
        original.copy_from(copy);
        if let Some(executor) = &mut self.pipelines[copy.pipeline].executor {
            executor.original(&mut original);
        }
        let group = original.get(self.standard.mcast_grp) as u32;
        let replicas = self.replication.groups.get(&group).cloned().unwrap_or_default();
        self.replicate(original, replicas.get(made..).unwrap_or_default());
    }

    /// Enqueues one copy per replica. The packet itself becomes the last copy.
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

    /// Copies the metadata of a field list to another packet.
    pub(crate) fn preserve_field_list(&self, list: Option<u32>, from: &Packet, to: &mut Packet) {
        let Some(id) = list else { return };
        for list in self.program.field_lists.iter().filter(|list| list.id == id) {
            let places = list.places.iter().map(|place: &Place| (place.word, place.words()));
            for (word, words) in places.chain(list.regions.iter().copied()) {
                let place = word as usize..(word + words) as usize;
                to.state.words[place.clone()].copy_from_slice(&from.state.words[place]);
            }
        }
    }
}
