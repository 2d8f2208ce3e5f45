//! Hot records, offered to the controller (docs/schemes/farreach.md, "Server", rule 4).

use netkv_wire::{FrameView, Key, MAX_CACHED_VALUE, Op, Sequence};
use rustc_hash::FxHashMap;

use super::{Server, Timer};
use crate::{Actions, Nanos, SECOND};

/// Most keys with an open or just answered offer; beyond, no other key is offered.
const MAX_OFFERS: usize = 4096;
/// How long after the answer a key is not offered again.
const COOL_DOWN: Nanos = SECOND;

/// The offer of a key.
#[derive(Debug)]
enum Offer {
    /// This record was offered, and the controller has not answered.
    Open { sequence: Sequence, value: Vec<u8> },
    /// The controller has answered.
    Answered,
}

/// The offers that keep their keys from being offered again.
#[derive(Debug, Default)]
pub(super) struct Offers {
    by_key: FxHashMap<Key, Offer>,
}

impl Offers {
    /// The record of an open offer.
    pub(super) fn record(&self, key: &Key) -> Option<(Sequence, &[u8])> {
        match self.by_key.get(key)? {
            Offer::Open { sequence, value } => Some((*sequence, value)),
            Offer::Answered => None,
        }
    }

    /// [`COOL_DOWN`] after an answer has passed.
    pub(super) fn cool_down_is_over(&mut self, key: &Key) {
        if matches!(self.by_key.get(key), Some(Offer::Answered)) {
            self.by_key.remove(key);
        }
    }
}

impl Server {
    /// The switch has reported `key` as hot. This is its record now; `None` if it is deleted.
    pub(super) fn offer(
        &mut self,
        now: Nanos,
        key: &Key,
        sequence: Sequence,
        value: Option<&[u8]>,
        out: &mut Actions,
    ) {
        let Some(value) = value.filter(|it| it.len() <= MAX_CACHED_VALUE) else { return };
        if self.protocol.offers.by_key.len() >= MAX_OFFERS
            || self.protocol.offers.by_key.contains_key(key)
        {
            return;
        }
        self.protocol.offers.by_key.insert(*key, Offer::Open { sequence, value: value.to_vec() });
        self.protocol.stats.offers += 1;
        self.open_offer(now, key, out);
    }

    /// The controller has answered.
    pub(super) fn on_offer_reply(&mut self, now: Nanos, frame: &FrameView<'_>) {
        if !self.protocol.pending.is_answer(now, frame, Op::Offer) {
            self.stats.unexpected += 1;
            return;
        }
        let key = frame.key();
        self.protocol.pending.close(frame.request());
        self.protocol.offers.by_key.insert(key, Offer::Answered);
        self.timers.set(now + COOL_DOWN, Timer::OfferAgain(key));
    }
}
