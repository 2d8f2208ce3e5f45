//! The program `farreach.p4`, written in Rust.
//!
//! ```text
//!   message            parsing behind the kv header: role, version stamp, slot, record
//!   requests           reads, writes and replies of servers
//!   control            messages of the controller about an entry
//!   entries, dedup     state: entries with their records, deduplication window
//!   ports              clone sessions, ingress pipelines, snapshot point
//!   sending            what leaves
//! ```

mod control;
mod dedup;
mod entries;
mod message;
mod ports;
mod requests;
mod sending;

use netkv_dataplane::Output;
use netkv_wire::{CPU_PORT, Key, SERVICE_IP, crc32};

pub(super) use self::entries::Cached;
pub(super) use self::ports::Snapshot;

use self::dedup::Dedup;
use self::entries::{ENTRIES, Entries};
use self::message::{Message, Role};
use self::ports::{Arrival, Ports};
use super::path::Sampling;
use crate::handwritten::layout::{DESTINATION, IPV4, KEY, KV_END, MAC_DESTINATION, OP, UDP};
use crate::handwritten::{
    CountMin, Counts, DROP_REASONS, Drop, Forwarding, GROUP, Owner, Pipeline, Sampler, address,
    copy, enter, has_kv, key_hashes, keys_of, send, set_checksum,
};

/// Upper half of the ops about statistics.
const STATISTICS: u8 = 3;
/// Counters of sequence numbers: keys with equal lowest bits of their hash share one.
const COUNTERS: usize = 32_768;
/// Names of the rows of the sketch in the program.
const SKETCH_ROWS: [&str; 4] = [
    "NetkvEgress.sketch.row0.cells",
    "NetkvEgress.sketch.row1.cells",
    "NetkvEgress.sketch.row2.cells",
    "NetkvEgress.sketch.row3.cells",
];

/// The settings of the controller.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    pub sampling: Sampling,
    /// The statistics epoch.
    pub epoch: u16,
    /// Whether the cache is in use.
    pub is_open: bool,
    /// The incarnation of the switch.
    pub incarnation: u32,
}

/// Drops of ingress and of egress, by reason.
#[derive(Default)]
struct Drops {
    ingress: [u64; DROP_REASONS],
    egress: [u64; DROP_REASONS],
}

/// The owner of a message's key, and the hash of the key.
#[derive(Clone, Copy)]
struct Destination {
    owner: Owner,
    port: u16,
    hash: u32,
}

/// The program, with its tables and state.
pub(super) struct FarReach {
    forwarding: Forwarding,
    ports: Ports,
    settings: Settings,
    sampler: Sampler,
    entries: Entries,
    sketch: CountMin,
    /// The last sequence numbers.
    sequences: Box<[u32]>,
    dedup: Dedup,
    drops: Drops,
}

impl FarReach {
    /// A pipeline without entries.
    pub(super) fn new(forwarding: Forwarding, settings: Settings) -> Self {
        Self {
            forwarding,
            ports: Ports::new(),
            settings,
            sampler: Sampler { below: settings.sampling.below },
            entries: Entries::new(),
            sketch: CountMin::new(),
            sequences: vec![0; COUNTERS].into(),
            dedup: Dedup::new(),
            drops: Drops::default(),
        }
    }

    /// Writes the lookup entry of a key.
    pub(super) fn insert(&mut self, key: Key, cached: Cached) {
        self.entries.insert(key, cached);
    }

    /// Sets the last sequence number of a counter.
    pub(super) fn set_sequence(&mut self, counter: u16, last: u32) {
        self.sequences[usize::from(counter)] = last;
    }

    /// Lets replies leave by a port.
    pub(super) fn insert_session(&mut self, port: u16) {
        self.ports.insert_session(port);
    }

    /// Sets the ingress pipeline of a port, and the part of a snapshot that it takes.
    pub(super) fn set_pipeline(&mut self, port: u16, pipeline: u8, snapshot: Snapshot) {
        self.ports.set_pipeline(port, pipeline, snapshot);
    }

    /// Processes a frame whose key, if it has one, has this lookup entry. The error is a drop in
    /// ingress.
    #[inline]
    fn process(
        &mut self,
        from: u16,
        frame: &[u8],
        cached: Option<Cached>,
        out: &mut Output,
    ) -> Result<(), Drop> {
        let Some(frame) = enter(from, frame, out)? else { return Ok(()) };
        if !has_kv(frame)? {
            return self.forwarding.route(from, frame, out);
        }
        let Some(message) = Message::parse(frame)? else {
            let op = frame[OP];
            if op >> 4 == STATISTICS && op & 1 == 0 && from != CPU_PORT {
                return Err(Drop::Forbidden);
            }
            return self.forward_other(from, frame, out);
        };
        match message.role {
            Role::Read => self.read(from, &message, cached, out),
            Role::Write => self.write(self.ports.arrival(from), &message, cached, out),
            Role::Reply => self.server_reply(self.ports.arrival(from), &message, cached, out),
            Role::Control => {
                if from != CPU_PORT {
                    return Err(Drop::Forbidden);
                }
                if u32::from(message.slot.entry) >= ENTRIES {
                    return Err(Drop::Malformed);
                }
                self.control(from, &message, out)
            }
        }
    }

    /// The owner of the key of a message, to which no message bypasses the cache.
    #[inline]
    fn destination(&self, message: &Message<'_>) -> Result<Destination, Drop> {
        let hash = crc32(&message.frame[KEY..KV_END]);
        match self.forwarding.owner(SERVICE_IP, || hash) {
            Ok(owner) => {
                let owner = *owner.ok_or(Drop::NoOwner)?;
                Ok(Destination { owner, port: self.forwarding.port(&owner.ip)?, hash })
            }
            // The frame still has the address of the service, for which there is no route either.
            Err(reason) => Err(self.forwarding.port(&SERVICE_IP).err().unwrap_or(reason)),
        }
    }

    /// The owner to which a frame goes that does not concern the cache, and the port.
    #[inline]
    fn route(&self, frame: &[u8]) -> Result<(Option<Owner>, u16), Drop> {
        let destination = address(frame, DESTINATION);
        match self.forwarding.owner(destination, || crc32(&frame[KEY..KV_END])) {
            Ok(owner) => {
                let port = self.forwarding.port(&owner.map_or(destination, |owner| owner.ip))?;
                Ok((owner.copied(), port))
            }
            Err(reason) => Err(self.forwarding.port(&destination).err().unwrap_or(reason)),
        }
    }

    /// Forwards a frame that does not concern the cache.
    fn forward_other(&self, from: u16, frame: &[u8], out: &mut Output) -> Result<(), Drop> {
        let (owner, port) = self.route(frame)?;
        send(out, from, port, frame.len(), |sent| write_other(sent, frame, owner));
        Ok(())
    }

    /// Counts a sampled request for a key that no entry serves. Returns whether the key is hot.
    #[inline]
    fn is_hot(&mut self, key: &Key, hash: u32) -> bool {
        let estimate = self.sketch.count(key_hashes(key, hash), self.settings.epoch);
        estimate >= self.settings.sampling.hot_threshold
    }
}

/// Writes a frame that stays as it is, except for the address of a server.
#[inline]
fn write_other(sent: &mut [u8], frame: &[u8], owner: Option<Owner>) {
    sent.copy_from_slice(frame);
    if let Some(owner) = owner {
        copy(sent, MAC_DESTINATION, &owner.mac);
        copy(sent, DESTINATION, &owner.ip);
    }
    set_checksum(&mut sent[IPV4..UDP]);
}

impl Pipeline for FarReach {
    fn process_batch(&mut self, port: u16, frames: &[&[u8]], out: &mut Output) {
        for group in frames.chunks(GROUP) {
            let all = self.entries.lookup(&keys_of(port, group));
            for (frame, cached) in group.iter().zip(all) {
                if let Err(reason) = self.process(port, frame, cached, out) {
                    self.drops.ingress[reason as usize] += 1;
                }
            }
        }
    }

    fn counts(&self) -> Counts {
        let numbers = |cells: &[u32]| cells.iter().map(|cell| u64::from(*cell)).collect();
        let mut counts: Counts = vec![
            ("NetkvIngress.drop.reasons", self.drops.ingress.to_vec()),
            ("NetkvEgress.drop.reasons", self.drops.egress.to_vec()),
            ("NetkvEgress.sequence.counters", numbers(&self.sequences)),
        ];
        for (row, name) in SKETCH_ROWS.into_iter().enumerate() {
            counts.push((name, numbers(self.sketch.row(row))));
        }
        counts.extend(self.dedup.counts());
        counts.extend(self.entries.counts());
        counts
    }
}
