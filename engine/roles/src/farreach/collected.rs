//! The records that the controller collects after the switch has failed: a list that stays the same
//! while it is read page by page.

use netkv_wire::{Key, MAX_VALUE, Sequence, bits};

use super::preserved::{Kept, Records};

/// The records that were preserved when the first COLLECT came, in the format of its replies: key,
/// incarnation, number, bits, length and value of each.
#[derive(Debug, Default)]
pub(super) struct Collected {
    bytes: Vec<u8>,
    /// The records sorted by key, and the offset of each.
    records: Vec<(Key, Sequence, usize)>,
}

impl Collected {
    /// Collects the records for which `lost` is true.
    pub(super) fn new(records: &Records, lost: impl Fn(&Kept<'_>) -> bool) -> Self {
        let mut kept: Vec<Kept<'_>> = records.iter().filter(lost).collect();
        // Sorted, since the order of a hash map differs between runs.
        kept.sort_unstable_by_key(|record| record.key);
        let mut collected = Self::default();
        for record in kept {
            collected.records.push((record.key, record.sequence, collected.bytes.len()));
            collected.write(&record);
        }
        collected
    }

    fn write(&mut self, record: &Kept<'_>) {
        let value = record.value.unwrap_or_default();
        self.bytes.extend_from_slice(&record.key);
        self.bytes.extend_from_slice(&record.sequence.incarnation.to_be_bytes());
        self.bytes.extend_from_slice(&record.sequence.number.to_be_bytes());
        self.bytes.push(if record.value.is_none() { bits::DELETED } else { 0 });
        self.bytes.extend_from_slice(&(value.len() as u16).to_be_bytes());
        self.bytes.extend_from_slice(value);
    }

    /// Number of records.
    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    /// As many records from this one on as fit into a frame.
    pub(super) fn page(&self, from: usize) -> &[u8] {
        let Some(&(_, _, start)) = self.records.get(from) else { return &[] };
        if self.bytes.len() - start <= MAX_VALUE {
            return &self.bytes[start..];
        }
        let behind = self.records[from..].iter().map(|(_, _, at)| *at);
        let end = behind.take_while(|at| at - start <= MAX_VALUE).last().unwrap_or(start);
        &self.bytes[start..end]
    }

    /// Which records they are.
    pub(super) fn records(&self) -> impl Iterator<Item = (&Key, Sequence)> {
        self.records.iter().map(|(key, sequence, _)| (key, *sequence))
    }
}
