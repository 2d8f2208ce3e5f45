//! Copies of packets: clones of ingress and egress, multicast, and what a copy keeps.

use netkv_ir::Place;

use crate::executor::Graph;
use crate::packet::Packet;
use crate::pipeline::{PASS_LIMIT, Watch, instance, note};
use crate::replication::Replica;
use crate::switch::Switch;
use crate::trace::EventKind;

impl Switch {
    /// I2E: the original bytes parsed again; metadata 0 but for the field list, and the ingress
    /// port, so that a parser that looks at it takes the same way. The pipeline that it came
    /// through parses it; egress is that of its own port.
    pub(crate) fn clone_ingress(
        &mut self,
        original: &Packet,
        session: u64,
        list: Option<u32>,
        watch: &mut Watch<'_>,
    ) {
        let Some(replicas) = self.clone_replicas(session, "ingress", watch) else { return };
        let mut copy = self.fresh(&original.bytes, original.now_ns);
        copy.port = original.port;
        copy.pipeline = original.pipeline;
        copy.passes = original.passes;
        copy.set(self.standard.ingress_port, u64::from(original.port));
        self.run(Graph::Parser, copy.pipeline, &mut copy, watch);
        self.keep(list, original, &mut copy);
        copy.set(self.standard.instance_type, instance::INGRESS_CLONE);
        self.limit_clone(session, &mut copy);
        self.replicate(copy, &replicas);
        self.spare_replicas = replicas;
    }

    /// E2E: headers as they are at the end of egress, metadata 0 but for the field list.
    pub(crate) fn clone_egress(
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

    pub(crate) fn multicast(&mut self, mut packet: Box<Packet>, group: u64, watch: &mut Watch<'_>) {
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

    /// Copies what a field list preserves.
    pub(crate) fn keep(&self, list: Option<u32>, from: &Packet, to: &mut Packet) {
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
