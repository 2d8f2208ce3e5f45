//! The violations of a run: a report of the first ones, and a count of all.

use netkv_wire::Key;

use crate::event_clock::EventClock;
use crate::operation::{Record, WriteId};
use crate::violation::{Violation, ViolationKind};

/// Maximum number of violations that are kept with their operations.
pub const MAX_VIOLATIONS: usize = 10;
/// Maximum number of them for one key.
const MAX_OF_KEY: usize = 2;
/// The part of [`MAX_VIOLATIONS`] for violations that the final read-back finds.
const RESERVED_FOR_READ_BACK: usize = 3;

/// A violation with the operations for its report.
#[derive(Debug)]
struct KeptViolation {
    key: Key,
    kind: ViolationKind,
    read: WriteId,
    records: Vec<Record>,
    /// A later read of the key was legal.
    recovered: bool,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct ViolationLog {
    total: u64,
    kept: Vec<KeptViolation>,
}

impl ViolationLog {
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Counts a violation. Returns whether its operations will be kept. If the final read-back
    /// finds a lost write, earlier stale reads of the key become lost writes, too.
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
        let limits = if lost { MAX_VIOLATIONS } else { MAX_VIOLATIONS - RESERVED_FOR_READ_BACK };
        self.kept.len() < limits && of_key < MAX_OF_KEY + usize::from(lost)
    }

    pub(crate) fn keep(
        &mut self,
        key: &Key,
        kind: ViolationKind,
        read: WriteId,
        records: Vec<Record>,
    ) {
        self.kept.push(KeptViolation { key: *key, kind, read, records, recovered: false });
    }

    /// A read of this key was legal.
    pub(crate) fn mark_recovered(&mut self, key: &Key) {
        for kept in self.kept.iter_mut().filter(|kept| kept.key == *key) {
            kept.recovered = true;
        }
    }

    pub(crate) fn report(&self, clock: &EventClock) -> Vec<Violation> {
        let report =
            |it: &KeptViolation| Violation::new(&it.key, it.kind, it.read, &it.records, clock);
        self.kept.iter().map(report).collect()
    }
}
