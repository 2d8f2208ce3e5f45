//! Version stamp and slot: the headers that describe a record of a write-back cache.

use std::cmp::Ordering;

use crate::is_newer;

/// Bytes of the version stamp.
pub const STAMP_LEN: usize = 13;
/// Bytes of the slot.
pub const SLOT_LEN: usize = 6;

/// Bits of a stamp.
pub mod bits {
    /// The key is hot and not cached.
    pub const HOT: u8 = 0x01;
    /// A GET that carries the record of the entry.
    pub const EMBEDDED: u8 = 0x02;
    /// The record is a tombstone: the key is deleted.
    pub const DELETED: u8 = 0x04;
    /// The entry has the latest record of its key.
    pub const LATEST: u8 = 0x08;
    /// A client wrote the record, and the server may not have it.
    pub const DIRTY: u8 = 0x10;
    /// The entry was written after the snapshot point of the message.
    pub const OVERWRITTEN: u8 = 0x20;
    /// The entry is valid, or its eviction has begun.
    pub const VALID: u8 = 0x40;
    /// The request was sent first in an earlier incarnation of the switch.
    pub const PAST: u8 = 0x80;
}

/// The sequence of a write: the incarnation of the switch, and the number that the switch gave it.
///
/// Incarnations are compared first, then numbers, both as serial numbers. (0, 0), the sequence of
/// an initial record, is older than all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Sequence {
    /// The incarnation of the switch: given by the controller, never reused, 0 before the first.
    pub incarnation: u32,
    /// The number, from 1.
    pub number: u32,
}

impl Sequence {
    /// Whether this write came after `other`.
    pub fn is_newer(self, other: Self) -> bool {
        if other == Self::default() || self == Self::default() {
            return self != other && other == Self::default();
        }
        is_newer(self.incarnation, other.incarnation)
            || self.incarnation == other.incarnation && is_newer(self.number, other.number)
    }

    /// The later of the two.
    pub fn later(self, other: Self) -> Self {
        if other.is_newer(self) { other } else { self }
    }

    /// The order of two writes of one key.
    pub fn compare(self, other: Self) -> Ordering {
        match (self.is_newer(other), other.is_newer(self)) {
            (true, _) => Ordering::Greater,
            (_, true) => Ordering::Less,
            _ => Ordering::Equal,
        }
    }
}

/// Version stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Stamp {
    /// In requests of clients, the incarnation that the client knew when it first sent the request,
    /// with number 0. Otherwise the sequence of the record.
    pub sequence: Sequence,
    /// Number of the filling of an entry, given by the controller; 0 for none.
    pub generation: u32,
    /// See [`bits`].
    pub bits: u8,
}

impl Stamp {
    /// Whether all of these bits are set.
    pub const fn has(self, bits: u8) -> bool {
        self.bits & bits == bits
    }

    pub(crate) fn write(self, to: &mut [u8]) {
        to[0..4].copy_from_slice(&self.sequence.incarnation.to_be_bytes());
        to[4..8].copy_from_slice(&self.sequence.number.to_be_bytes());
        to[8..12].copy_from_slice(&self.generation.to_be_bytes());
        to[12] = self.bits;
    }

    pub(crate) fn read(from: &[u8]) -> Self {
        let word =
            |at: usize| u32::from_be_bytes([from[at], from[at + 1], from[at + 2], from[at + 3]]);
        let sequence = Sequence { incarnation: word(0), number: word(4) };
        Self { sequence, generation: word(8), bits: from[12] }
    }
}

/// Slot: the entry of a switch that a message is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Slot {
    /// The entry.
    pub entry: u16,
    /// Number of the snapshot (EVICT, LOAD, ORIGINAL), or the count (COUNT reply), else 0.
    pub number: u32,
}

impl Slot {
    pub(crate) fn write(self, to: &mut [u8]) {
        to[0..2].copy_from_slice(&self.entry.to_be_bytes());
        to[2..6].copy_from_slice(&self.number.to_be_bytes());
    }

    pub(crate) fn read(from: &[u8]) -> Self {
        let number = u32::from_be_bytes([from[2], from[3], from[4], from[5]]);
        Self { entry: u16::from_be_bytes([from[0], from[1]]), number }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sequence(incarnation: u32, number: u32) -> Sequence {
        Sequence { incarnation, number }
    }

    #[test]
    fn a_later_incarnation_is_newer_and_both_numbers_wrap() {
        assert!(sequence(3, 1).is_newer(sequence(2, u32::MAX)));
        assert!(sequence(2, 0).is_newer(sequence(2, u32::MAX)), "numbers wrap");
        assert!(!sequence(2, u32::MAX).is_newer(sequence(2, 0)));
        assert!(sequence(0, 5).is_newer(sequence(u32::MAX, 9)), "incarnations wrap");
        assert!(!sequence(2, 7).is_newer(sequence(2, 7)));
        assert_eq!(sequence(2, 7).later(sequence(2, 9)), sequence(2, 9));
    }

    #[test]
    fn initial_records_are_older_than_every_write() {
        let none = Sequence::default();
        for (incarnation, number) in [(1, 1), (2, 0), (u32::MAX, u32::MAX), (1 << 31, 5)] {
            assert!(sequence(incarnation, number).is_newer(none));
            assert!(!none.is_newer(sequence(incarnation, number)));
        }
        assert_eq!(none.compare(none), Ordering::Equal);
    }
}
