//! Final verification: every key that was written is read back.

use netkv_wire::Key;

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

/// A verification under way.
#[derive(Debug)]
pub(crate) struct Verification {
    left: Vec<Key>,
    report: VerifyReport,
}

impl Verification {
    /// A verification of these keys.
    pub(crate) fn new(left: Vec<Key>) -> Self {
        Self { left, report: VerifyReport::default() }
    }

    /// The next key to read.
    pub(crate) fn take(&mut self) -> Option<Key> {
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
        (self.left.is_empty() && outstanding == 0).then_some(self.report)
    }
}
