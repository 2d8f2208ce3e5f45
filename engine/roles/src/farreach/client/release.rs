//! The list of a RELEASE, put together from parts that come in any order, any number of times, or
//! late.

use netkv_wire::{Key, Sequence, is_newer};

use super::mutation;
use crate::common::mutation::Mutated;

/// Bytes of a key with its sequence.
const PAIR: usize = 16 + 8;

/// The result of taking a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// The list is whole now.
    Whole,
    /// Other parts are missing, or the part was known.
    Noted,
    /// There is no such part, or it ends within a pair.
    Malformed,
}

/// The list at hand. Snapshots have numbers that grow (as serial numbers) and are never given
/// twice; of one that is older than the list at hand, or than the last that was whole, nothing is
/// needed.
#[derive(Debug, Default)]
pub(super) struct ReleaseList {
    /// Snapshot of the list at hand, and how many parts it has.
    at_hand: Option<(u32, u16)>,
    /// Snapshot of the last list that was whole.
    whole: Option<u32>,
    /// A bit for each part that is there.
    seen: Vec<u64>,
    missing: u32,
    pairs: Vec<(Key, Sequence)>,
}

impl ReleaseList {
    /// Part `part` (from 0) of the `parts` of the list of snapshot `number`.
    pub(super) fn take(
        &mut self,
        number: u32,
        part: u16,
        parts: u16,
        pairs: &[u8],
        mutated: Mutated,
    ) -> Taken {
        if part >= parts || !pairs.len().is_multiple_of(PAIR) {
            return Taken::Malformed;
        }
        let old = self.whole.is_some_and(|whole| !is_newer(number, whole));
        if old && !mutated.by(mutation::ClientTakesOldLists) {
            return Taken::Noted;
        }
        match self.at_hand {
            Some((at_hand, of)) if at_hand == number => {
                if of != parts {
                    return Taken::Malformed;
                }
            }
            Some(_) if mutated.by(mutation::ClientMixesLists) => {}
            Some((at_hand, _)) if !is_newer(number, at_hand) => return Taken::Noted,
            _ => self.begin(number, parts),
        }
        let (word, bit) = (usize::from(part / 64), 1u64 << (part % 64));
        let Some(seen) = self.seen.get_mut(word).filter(|seen| **seen & bit == 0) else {
            return Taken::Noted;
        };
        *seen |= bit;
        self.missing -= 1;
        self.pairs.extend(pairs.chunks_exact(PAIR).map(|pair| {
            let mut key = [0; 16];
            key.copy_from_slice(&pair[..16]);
            let word = |at: usize| {
                u32::from_be_bytes([pair[at], pair[at + 1], pair[at + 2], pair[at + 3]])
            };
            (key, Sequence { incarnation: word(16), number: word(20) })
        }));
        if self.missing > u32::from(mutated.by(mutation::ClientReleasesWithoutAPart)) {
            return Taken::Noted;
        }
        self.at_hand = None;
        self.whole = Some(number);
        Taken::Whole
    }

    fn begin(&mut self, number: u32, parts: u16) {
        self.at_hand = Some((number, parts));
        self.missing = u32::from(parts);
        self.seen.clear();
        self.seen.resize(usize::from(parts).div_ceil(64), 0);
        self.pairs.clear();
    }

    /// The list that has become whole, once. Its memory is used again.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = (Key, Sequence)> {
        self.pairs.drain(..)
    }
}
