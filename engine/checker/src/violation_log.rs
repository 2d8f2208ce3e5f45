//! Violations that were found: the first ones whole, the rest counted.

use netkv_wire::Key;

use crate::moments::Moments;
use crate::operation::{Record, WriteId};
use crate::violation::{Violation, ViolationKind};

/// Violations kept with their history.
pub const MAX_VIOLATIONS: usize = 10;
/// How many of them may be of one key, and how many places are for what the read-back finds.
const MAX_OF_KEY: usize = 2;
const FOR_READ_BACK: usize = 3;

#[derive(Debug)]
struct Kept {
    key: Key,
    kind: ViolationKind,
    read: WriteId,
    records: Vec<Record>,
    /// The key has been read since, and was all right.
    recovered: bool,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Found {
    total: u64,
    kept: Vec<Kept>,
}

impl Found {
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Counts a violation; whether its history will be kept. What it makes of earlier ones is
    /// noted: what the read-back finds was lost for good.
    pub(crate) fn count(&mut self, key: &Key, kind: ViolationKind) -> bool {
        self.total += 1;
        let lost = kind == ViolationKind::LostWrite;
        let mut of_key = 0;
        for kept in self.kept.iter_mut().filter(|kept| kept.key == *key) {
            of_key += 1;
            if lost && kept.kind == ViolationKind::StaleRead && !kept.recovered {
                kept.kind = ViolationKind::LostWrite;
            }
        }
        let room = if lost { MAX_VIOLATIONS } else { MAX_VIOLATIONS - FOR_READ_BACK };
        self.kept.len() < room && of_key < MAX_OF_KEY + usize::from(lost)
    }

    pub(crate) fn keep(
        &mut self,
        key: &Key,
        kind: ViolationKind,
        read: WriteId,
        records: Vec<Record>,
    ) {
        self.kept.push(Kept { key: *key, kind, read, records, recovered: false });
    }

    /// A read of this key was all right.
    pub(crate) fn fine(&mut self, key: &Key) {
        for kept in self.kept.iter_mut().filter(|kept| kept.key == *key) {
            kept.recovered = true;
        }
    }

    pub(crate) fn tell(&self, moments: &Moments) -> Vec<Violation> {
        let tell = |it: &Kept| Violation::new(&it.key, it.kind, it.read, &it.records, moments);
        self.kept.iter().map(tell).collect()
    }
}
