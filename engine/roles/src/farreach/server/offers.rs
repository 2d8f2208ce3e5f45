//! Hot records, offered to the controller (docs/farreach.md, "Server", rule 4).

use netkv_wire::{FrameView, Key, MAX_CACHED_VALUE, Op, Sequence};
use rustc_hash::FxHashMap;

use super::{Server, Timer, mutation};
use crate::{Actions, Nanos, SECOND};

/// Keys of which offers are open or were answered a moment ago; others are not offered.
const MAX_OFFERS: usize = 4096;
/// How long after the answer a key is not offered again.
const REST: Nanos = SECOND;

/// What was offered of a key.
#[derive(Debug)]
enum Offer {
    /// This record, and the controller has not answered.
    Open { sequence: Sequence, value: Vec<u8> },
    /// Something, and the controller has answered.
    Answered,
}

/// The offers that keep their keys from being offered again.
#[derive(Debug, Default)]
pub(super) struct Offers {
    by_key: FxHashMap<Key, Offer>,
}

impl Offers {
    /// The record that is being offered of a key.
    pub(super) fn record(&self, key: &Key) -> Option<(Sequence, &[u8])> {
        match self.by_key.get(key)? {
            Offer::Open { sequence, value } => Some((*sequence, value)),
            Offer::Answered => None,
        }
    }

    /// The time after an answer is over.
    pub(super) fn rest_is_over(&mut self, key: &Key) {
        if matches!(self.by_key.get(key), Some(Offer::Answered)) {
            self.by_key.remove(key);
        }
    }
}

impl Server {
    /// The switch has marked `key` as hot, and this is its record now; `None` if it is deleted.
    pub(super) fn offer(
        &mut self,
        now: Nanos,
        key: &Key,
        sequence: Sequence,
        value: Option<&[u8]>,
        out: &mut Actions,
    ) {
        let any = self.mutated.by(mutation::OfferAnything);
        let value = if any { value.or(Some(&[])) } else { value };
        let Some(value) = value.filter(|it| it.len() <= MAX_CACHED_VALUE || any) else { return };
        let again = self.mutated.by(mutation::OfferAgain);
        if self.protocol.offers.by_key.len() >= MAX_OFFERS
            || (self.protocol.offers.by_key.contains_key(key) && !again)
        {
            return;
        }
        self.protocol.offers.by_key.insert(*key, Offer::Open { sequence, value: value.to_vec() });
        self.protocol.stats.offers += 1;
        self.open_offer(now, key, out);
    }

    /// The controller has answered.
    pub(super) fn on_offer_reply(&mut self, now: Nanos, frame: &FrameView<'_>) {
        if !self.protocol.pending.is_answer(frame, Op::Offer, self.mutated) {
            self.stats.unexpected += 1;
            return;
        }
        let key = frame.key();
        self.protocol.pending.close(frame.request());
        if self.mutated.by(mutation::NoRestAfterOffers) {
            self.protocol.offers.by_key.remove(&key);
            return;
        }
        self.protocol.offers.by_key.insert(key, Offer::Answered);
        self.timers.set(now + REST, Timer::OfferAgain(key));
    }
}
