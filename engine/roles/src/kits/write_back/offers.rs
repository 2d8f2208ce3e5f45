//! The offers of hot records that keep their keys from being offered again.

use netkv_wire::{Key, Sequence};
use rustc_hash::FxHashMap;

/// The offer of a key.
#[derive(Debug)]
pub(super) enum Offer {
    /// This record was offered, and the controller has not answered.
    Open { sequence: Sequence, value: Vec<u8> },
    /// The controller has answered.
    Answered,
}

/// The offers that keep their keys from being offered again.
#[derive(Debug, Default)]
pub(super) struct Offers {
    pub(super) by_key: FxHashMap<Key, Offer>,
}

impl Offers {
    /// The record of an open offer.
    pub(super) fn record(&self, key: &Key) -> Option<(Sequence, &[u8])> {
        match self.by_key.get(key)? {
            Offer::Open { sequence, value } => Some((*sequence, value)),
            Offer::Answered => None,
        }
    }

    /// The time after an answer in which the key is not offered is over.
    pub(super) fn cool_down_is_over(&mut self, key: &Key) {
        if matches!(self.by_key.get(key), Some(Offer::Answered)) {
            self.by_key.remove(key);
        }
    }
}
