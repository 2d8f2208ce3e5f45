//! Reads, writes and replies of servers, and their effect on the entry of the key.

use netkv_dataplane::Output;
use netkv_wire::{Sequence, Stamp, bits};

use super::dedup::Copy;
use super::entries::{Cached, Stored, Validity, is_later};
use super::message::{Message, Record};
use super::{Arrival, COUNTERS, FarReach};
use crate::handwritten::Drop;

/// An entry that serves requests: valid or to be evicted.
#[derive(Clone, Copy)]
struct Serving {
    cached: Cached,
    is_valid: bool,
}

impl FarReach {
    /// Whether a sequence is of this incarnation. The one before it counts as the same: it
    /// continues the same numbers.
    #[inline]
    pub(super) fn is_current(&self, sequence: Sequence) -> bool {
        let age = self.settings.incarnation.wrapping_sub(sequence.incarnation);
        sequence.incarnation != 0 && age <= 1
    }

    /// The sequence number of a stamp in this incarnation; 0 is older than all.
    #[inline]
    pub(super) fn number_of(&self, sequence: Sequence) -> u32 {
        if self.is_current(sequence) { sequence.number } else { 0 }
    }

    #[inline]
    fn serving(&self, cached: Cached) -> Option<Serving> {
        let validity = self.entries.entry(cached.entry).validity_of(cached.generation)?;
        let serving = Serving { cached, is_valid: validity == Validity::Valid };
        (validity != Validity::Invalid).then_some(serving)
    }

    /// Counts a request, if it is sampled. Returns whether its key is hot and not cached.
    #[inline]
    fn sample(&mut self, message: &Message<'_>, serving: Option<Serving>, hash: u32) -> bool {
        if !self.sampler.takes(message.frame) {
            return false;
        }
        match serving {
            Some(Serving { cached, .. }) => {
                self.entries.entry_mut(cached.entry).count(self.settings.epoch);
                false
            }
            None => self.is_hot(&message.key(), hash),
        }
    }

    #[inline]
    pub(super) fn read(
        &mut self,
        from: u16,
        message: &Message<'_>,
        cached: Option<Cached>,
        out: &mut Output,
    ) -> Result<(), Drop> {
        if !self.settings.is_open {
            return Err(Drop::Closed);
        }
        let destination = self.destination(message)?;
        let serving = cached.and_then(|cached| self.serving(cached));
        let is_hot = self.sample(message, serving, destination.hash);
        let mut stamp = Stamp { bits: if is_hot { bits::HOT } else { 0 }, ..message.stamp };
        stamp.generation = 0;
        let Some(Serving { cached, is_valid }) = serving else {
            self.forward(from, message, &destination, stamp, out);
            return Ok(());
        };
        let stored = self.entries.entry(cached.entry).stored;
        if stored.is_latest {
            self.answer_read(from, message, cached.entry, &stored, out);
            return Ok(());
        }
        if is_valid {
            stamp.generation = cached.generation; // the reply may refresh the entry
        }
        if stored.is_dirty {
            // The record may have been lost on its way from the switch to the server.
            stamp.bits |= bits::EMBEDDED;
            self.forward_with_record(
                from,
                message,
                &destination,
                stamp,
                (cached.entry, stored),
                out,
            );
        } else {
            self.forward(from, message, &destination, stamp, out);
        }
        Ok(())
    }

    #[inline]
    pub(super) fn write(
        &mut self,
        arrival: Arrival,
        message: &Message<'_>,
        cached: Option<Cached>,
        out: &mut Output,
    ) -> Result<(), Drop> {
        if !self.settings.is_open {
            return Err(Drop::Closed);
        }
        let destination = self.destination(message)?;
        let incarnation = self.settings.incarnation;
        let number = self.next_number(destination.hash);
        let sequence = Sequence { incarnation, number };
        let serving = cached.and_then(|cached| self.serving(cached));
        let is_hot = self.sample(message, serving, destination.hash);
        let is_current = self.is_current(message.stamp.sequence);
        let request = message.request();
        let mut is_first = false;
        match self.dedup.find(message.sender(), request, incarnation) {
            Copy::Late => {
                self.drops.egress[Drop::Late as usize] += 1;
                return Ok(());
            }
            Copy::Applied { incarnation, sequence } => {
                let sequence = Sequence { incarnation, number: sequence };
                self.answer_write(arrival.port, message, sequence, out);
                return Ok(());
            }
            Copy::First(place) => {
                let serving = serving.filter(|serving| serving.is_valid && is_current);
                if let (Some(Serving { cached, .. }), Some(record)) = (serving, message.record) {
                    self.dedup.remember(place, request, incarnation, Some(number));
                    self.apply(arrival, message, cached.entry, record, sequence, out);
                    return Ok(());
                }
                self.dedup.remember(place, request, incarnation, None);
                is_first = true;
            }
            Copy::Forwarded => {}
        }
        if let Some(Serving { cached, is_valid }) = serving {
            // A forwarded write outdates the entry at once if it is certain to take effect and the
            // entry cannot store it.
            if !is_valid || is_first && message.record.is_none() {
                let entry = self.entries.entry_mut(cached.entry);
                entry.max_sequence = sequence;
                entry.outdate(true);
            }
        }
        let is_past = message.stamp.sequence.incarnation != 0 && !is_current;
        let bits = if is_hot { bits::HOT } else { 0 } | if is_past { bits::PAST } else { 0 };
        let stamp = Stamp { sequence, generation: 0, bits };
        self.forward(arrival.ingress_port, message, &destination, stamp, out);
        Ok(())
    }

    /// The sequence number of the next write of a key with this hash.
    #[inline]
    fn next_number(&mut self, hash: u32) -> u32 {
        let last = &mut self.sequences[hash as usize % COUNTERS];
        *last = last.wrapping_add(1).max(1); // 0 means "older than all"
        *last
    }

    /// Stores a write in its entry, and answers it.
    #[inline]
    fn apply(
        &mut self,
        arrival: Arrival,
        message: &Message<'_>,
        number: u16,
        record: Record,
        sequence: Sequence,
        out: &mut Output,
    ) {
        let entry = self.entries.entry_mut(number);
        entry.max_sequence = sequence;
        if arrival.snapshot != 0 && entry.reported_snapshot != arrival.snapshot {
            entry.reported_snapshot = arrival.snapshot;
            // The first write after the snapshot point.
            if !self.report_original(arrival, message, number, out) {
                self.entries.store(number, record, sequence, (true, true), message.value);
                return;
            }
        }
        self.entries.store(number, record, sequence, (true, true), message.value);
        self.answer_write(arrival.port, message, sequence, out);
    }

    /// A server's reply passes the entry of its key, and continues to its client.
    #[inline]
    pub(super) fn server_reply(
        &mut self,
        arrival: Arrival,
        message: &Message<'_>,
        cached: Option<Cached>,
        out: &mut Output,
    ) -> Result<(), Drop> {
        let (owner, port) = self.route(message.frame)?;
        let Some(cached) = cached else {
            self.forward_unchanged(arrival.ingress_port, port, message.frame, owner, out);
            return Ok(());
        };
        if let Some(serving) = self.serving(cached) {
            self.observe_reply(arrival, message, serving);
        }
        if let Some(port) = self.ports.reply_port(port) {
            self.forward_unchanged(arrival.port, port, message.frame, owner, out);
        }
        Ok(())
    }

    /// A reply outdates the record of an entry if its record is later. A reply to a read refreshes
    /// the entry, if the read has passed the valid entry on its way to the server.
    #[inline]
    fn observe_reply(&mut self, arrival: Arrival, message: &Message<'_>, serving: Serving) {
        let Serving { cached, is_valid } = serving;
        let stamp = message.stamp;
        let number = self.number_of(stamp.sequence);
        let entry = self.entries.entry_mut(cached.entry);
        let is_later = is_later(stamp.sequence, entry.max_sequence);
        let may_refresh = message.is_read_reply()
            && is_valid
            && stamp.generation == cached.generation
            && !stamp.has(bits::EMBEDDED)
            && (is_later || stamp.sequence == entry.max_sequence);
        let record = message.record.filter(|_| may_refresh);
        if is_later {
            entry.max_sequence = stamp.sequence;
        }
        // Only a write may change a record that belongs to the snapshot.
        let is_frozen = arrival.snapshot != 0 && entry.reported_snapshot != arrival.snapshot;
        if let Some(record) = record.filter(|_| !is_frozen) {
            let sequence = Sequence { incarnation: stamp.sequence.incarnation, number };
            self.entries.store(cached.entry, record, sequence, (true, false), message.value);
        } else if is_later {
            entry.outdate(false);
        }
    }
}

/// The bits of a report about a stored record.
pub(super) fn report_bits(stored: &Stored, is_serving: bool) -> u8 {
    let bit = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
    bit(stored.is_deleted, bits::DELETED)
        | bit(stored.is_latest, bits::LATEST)
        | bit(stored.is_dirty, bits::DIRTY)
        | bit(is_serving, bits::VALID)
}
