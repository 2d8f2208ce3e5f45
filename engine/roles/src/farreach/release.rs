//! Reassembly of the list of a RELEASE from its parts, which may arrive in any order, repeatedly or
//! late.

use netkv_wire::{Key, Sequence, is_newer};

/// Bytes of a key with its sequence.
const PAIR: usize = 16 + 8;

/// The result of taking a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// The list is complete.
    Complete,
    /// Other parts are missing, or the part was received before or is outdated.
    Noted,
    /// The part does not exist, or it ends within a pair.
    Malformed,
}

/// The list being assembled. Snapshots have unique, increasing serial numbers. Parts of a snapshot
/// older than the current list, or not newer than the last complete list, are ignored.
#[derive(Debug, Default)]
pub(super) struct ReleaseList {
    /// Snapshot of the current list, and its number of parts.
    current: Option<(u32, u16)>,
    /// Snapshot of the last complete list.
    last_complete: Option<u32>,
    /// A bit for each part that was received.
    seen: Vec<u64>,
    missing: u32,
    pairs: Vec<(Key, Sequence)>,
}

impl ReleaseList {
    /// Takes part `part` (from 0) of the `parts` of the list of snapshot `number`.
    pub(super) fn take(&mut self, number: u32, part: u16, parts: u16, pairs: &[u8]) -> Taken {
        if part >= parts || !pairs.len().is_multiple_of(PAIR) {
            return Taken::Malformed;
        }
        let old = self.last_complete.is_some_and(|last_complete| !is_newer(number, last_complete));
        if old {
            return Taken::Noted;
        }
        match self.current {
            Some((current, of)) if current == number => {
                if of != parts {
                    return Taken::Malformed;
                }
            }
            Some((current, _)) if !is_newer(number, current) => return Taken::Noted,
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
        if self.missing > 0 {
            return Taken::Noted;
        }
        self.current = None;
        self.last_complete = Some(number);
        Taken::Complete
    }

    fn begin(&mut self, number: u32, parts: u16) {
        self.current = Some((number, parts));
        self.missing = u32::from(parts);
        self.seen.clear();
        self.seen.resize(usize::from(parts).div_ceil(64), 0);
        self.pairs.clear();
    }

    /// Takes the complete list; its memory is reused.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = (Key, Sequence)> {
        self.pairs.drain(..)
    }
}
