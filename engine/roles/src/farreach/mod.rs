//! FarReach: single keys behind a write-back cache in the switch (`docs/schemes/farreach.md`). The
//! server is that of [`crate::kits::write_back`]. The client stamps its requests, preserves records
//! that only the switch has, and accepts no answer of the switch that it could not preserve.
//!
//! `registration` has the messages between process and controller, `preserved` the records,
//! `release` the lists that allow records to be released, `collected` the records that a recovery
//! reads.

mod collected;
mod preserved;
mod registration;
mod release;

use netkv_wire::{FrameView, Key, MAX_CACHED_VALUE, Op, Sequence, Stamp, Status, bits};

use crate::common::source::Source;
use crate::entries::Roles;
use crate::kits::single_key;
use crate::kits::single_key::client::{self, Protocol, Request, Verdict};
use crate::kits::write_back::clients::{WINDOW, check_clients};
use crate::{Actions, ClientConfig, Counts, Load, Nanos};
pub use preserved::Preserved;
use preserved::Records;
use registration::Registration;

/// The clients of a process.
pub type Client<S = Load> = single_key::Client<FarReach, S>;

pub(crate) const ROLES: Roles =
    Roles { clients: &[client::role::<FarReach>("farreach")], ..Roles::NONE };

/// The state of a client process of a write-back cache.
#[derive(Debug)]
pub struct FarReach {
    registration: Registration,
    records: Records,
    /// Maximum number of records preserved at a time since counts were last taken.
    most: usize,
}

impl FarReach {
    /// Preserves a record that only the switch has.
    fn preserve(
        &mut self,
        key: &Key,
        sequence: Sequence,
        length: Option<u16>,
        fill: impl FnOnce(&mut [u8]),
    ) {
        self.records.keep(key, sequence, length, fill);
        self.most = self.most.max(self.records.gauge().records);
    }

    /// Whether the answer to a read is a record that only the switch has.
    fn is_dirty(&self, frame: &FrameView<'_>, stamp: Stamp) -> bool {
        stamp.bits & bits::EMBEDDED != 0 || frame.cache_hit() && stamp.bits & bits::DIRTY != 0
    }
}

/// The stamp of an answer from the switch's state: a write that it has applied, a record that it
/// answers with, or one that it has embedded in a request for the server's answer.
fn of_switch(frame: &FrameView<'_>) -> Option<Stamp> {
    let stamp = frame.stamp()?;
    (frame.cache_hit() || stamp.bits & bits::EMBEDDED != 0).then_some(stamp)
}

impl<S: Source<Request>> Client<S> {
    /// The preserved records: those that, as far as the clients know, only the switch has.
    pub fn preserved(&self) -> Preserved {
        self.protocol.records.gauge()
    }

    /// Which records are preserved, in no order.
    pub fn kept(&self) -> Vec<(Key, Sequence)> {
        self.protocol.records.iter().map(|kept| (kept.key, kept.sequence)).collect()
    }
}

impl Protocol for FarReach {
    const WINDOW: u32 = WINDOW;

    fn new(config: &ClientConfig) -> Result<Self, String> {
        check_clients(config, "FarReach")?;
        let ClientConfig { first_client, first_request, retry, .. } = *config;
        Ok(Self {
            registration: Registration::new(first_client, first_request, retry),
            records: Records::default(),
            most: 0,
        })
    }

    /// The newest known incarnation of the switch.
    fn stamp(&self) -> Option<Stamp> {
        let sequence = Sequence { incarnation: self.registration.incarnation(), number: 0 };
        Some(Stamp { sequence, generation: 0, bits: 0 })
    }

    /// Ignores an answer from the state of a switch that has failed, since its record was not
    /// collected, and a dirty record that the controller would not collect from this process.
    fn judge(&self, frame: &FrameView<'_>, written: usize) -> Verdict {
        let Some(stamp) = of_switch(frame) else {
            return if frame.cache_hit() { Verdict::Malformed } else { Verdict::Accept };
        };
        if frame.value().len().max(written) > MAX_CACHED_VALUE {
            return Verdict::Malformed;
        }
        let dirty = self.is_dirty(frame, stamp);
        let past = (dirty || frame.op() != Op::GetReply)
            && self.registration.is_past(stamp.sequence.incarnation);
        let alone = dirty && !self.registration.is_registered();
        if past || alone { Verdict::Ignore } else { Verdict::Accept }
    }

    fn on_written(
        &mut self,
        key: &Key,
        length: Option<u16>,
        fill: impl FnOnce(&mut [u8]),
        frame: &FrameView<'_>,
    ) {
        let Some(stamp) = of_switch(frame) else { return };
        self.preserve(key, stamp.sequence, length, fill);
    }

    fn on_read(&mut self, key: &Key, frame: &FrameView<'_>) {
        let Some(stamp) = of_switch(frame) else { return };
        let (value, found) = (frame.value(), frame.status() == Status::Ok);
        if !self.is_dirty(frame, stamp) {
            return;
        }
        let length = found.then_some(value.len() as u16);
        self.preserve(key, stamp.sequence, length, |slot| slot.copy_from_slice(value));
    }

    fn on_message(&mut self, now: Nanos, frame: &FrameView<'_>, out: &mut Actions) -> bool {
        self.registration.on_frame(now, frame, &mut self.records, out)
    }

    fn start(&mut self, now: Nanos) {
        self.registration.register_again(now);
    }

    fn poll(&mut self, now: Nanos, out: &mut Actions) {
        self.registration.poll(now, out);
    }

    fn due(&self) -> Nanos {
        self.registration.due()
    }

    fn crash(&mut self) {
        self.registration.restart();
        self.records.clear();
    }

    fn leave(&mut self, now: Nanos) {
        self.registration.leave(now);
    }

    fn has_left(&self) -> bool {
        self.registration.has_left()
    }

    fn take_counts(&mut self, into: &mut Counts) {
        into.push(("preserved_most", self.most as u64));
        self.add_gauges(into);
        self.most = self.records.gauge().records;
    }

    fn add_gauges(&self, into: &mut Counts) {
        let Preserved { records, bytes, most_records, most_bytes } = self.records.gauge();
        into.extend([
            ("preserved", records as u64),
            ("preserved_bytes", bytes as u64),
            ("preserved_peak", most_records as u64),
            ("preserved_peak_bytes", most_bytes as u64),
        ]);
    }
}
