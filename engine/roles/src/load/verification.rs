//! Final verification: every key that was written is read back.

use netkv_wire::Key;

use super::Judge;

/// Keys that are looked up at a time: a list of all would take as much as the checker has of them.
const PORTION: usize = 1 << 16;

/// What the verification found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// Keys that were read back.
    pub checked: u64,
    /// Keys whose acknowledged write is gone: they have an older value, none, or nobody's.
    pub acked_writes_lost: u64,
    /// Keys that could not be read.
    pub unread: u64,
}

/// A verification under way: from the greatest key to the least, so that it is the same everywhere.
#[derive(Debug, Default)]
pub(crate) struct Verification {
    left: Vec<Key>,
    /// Above it all keys have been looked up.
    bound: Option<Key>,
    /// All keys have been looked up.
    whole: bool,
    report: VerifyReport,
}

impl Verification {
    /// The next key to read.
    pub(crate) fn take(&mut self, judge: &Judge) -> Option<Key> {
        while self.left.is_empty() && !self.whole {
            (self.left, self.bound) = judge.written_below(self.bound.as_ref(), PORTION);
            self.whole = self.bound.is_none();
        }
        self.left.pop()
    }

    /// An acknowledged write is gone.
    pub(crate) fn lost(&mut self) {
        self.report.acked_writes_lost += 1;
    }

    /// The read of a key has ended, with an answer or without.
    pub(crate) fn ended(&mut self, read: bool) {
        *(if read { &mut self.report.checked } else { &mut self.report.unread }) += 1;
    }

    /// What was found, once it is over.
    pub(crate) fn report(&self, outstanding: usize) -> Option<VerifyReport> {
        (self.whole && self.left.is_empty() && outstanding == 0).then_some(self.report)
    }
}
