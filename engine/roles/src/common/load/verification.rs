//! Final verification: every key that was written is read back.

use netkv_wire::Key;

use super::Judge;

/// Keys taken from the checker at a time: a list of all would take as much memory as the checker.
const PORTION: usize = 1 << 16;

/// What the verification found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// Keys that were read back.
    pub checked: u64,
    /// Keys whose acknowledged write is lost: they have an older value, none, or one never written.
    pub acked_writes_lost: u64,
    /// Keys that could not be read.
    pub unread: u64,
}

/// A verification under way: from the greatest key to the least, so that runs are reproducible.
#[derive(Debug, Default)]
pub(crate) struct Verification {
    left: Vec<Key>,
    /// All keys from this one on have been taken from the checker.
    bound: Option<Key>,
    /// All keys have been taken from the checker.
    all_taken: bool,
    report: VerifyReport,
}

impl Verification {
    /// The next key to read.
    pub(crate) fn take(&mut self, judge: &Judge) -> Option<Key> {
        while self.left.is_empty() && !self.all_taken {
            (self.left, self.bound) = judge.written_below(self.bound.as_ref(), PORTION);
            self.all_taken = self.bound.is_none();
        }
        self.left.pop()
    }

    /// An acknowledged write is lost.
    pub(crate) fn lost(&mut self) {
        self.report.acked_writes_lost += 1;
    }

    /// The read of a key has ended, with an answer or without.
    pub(crate) fn ended(&mut self, read: bool) {
        *(if read { &mut self.report.checked } else { &mut self.report.unread }) += 1;
    }

    /// The report, once the verification has ended.
    pub(crate) fn report(&self, outstanding: usize) -> Option<VerifyReport> {
        (self.all_taken && self.left.is_empty() && outstanding == 0).then_some(self.report)
    }
}

#[cfg(test)]
mod tests {
    use netkv_checker::{WriteId, WriteKind};
    use netkv_workload::{Arrivals, key_of};

    use super::*;
    use crate::ClientConfig;

    #[test]
    fn every_written_key_is_read_back_once() {
        for keys in [0, 1, 3 * PORTION as u64] {
            let config = ClientConfig::new(1, Arrivals::Closed { outstanding: 1 });
            let mut judge = Judge::new(&ClientConfig { check: true, ..config });
            let mut written: Vec<Key> = (0..keys).map(key_of).collect();
            for (number, key) in written.iter().enumerate() {
                let id = WriteId { client: 1, request: number as u32 };
                judge.begin_write(number as u64, key, id, WriteKind::Put, true);
                judge.end_write(number as u64, key, id);
            }
            written.sort_unstable_by(|a, b| b.cmp(a));
            let mut verification = Verification::default();
            assert_eq!(verification.report(0), None, "no key has been taken");
            for key in &written {
                assert_eq!(verification.take(&judge), Some(*key));
            }
            assert_eq!(verification.take(&judge), None);
            assert_eq!(verification.report(1), None, "one is under way");
            assert_eq!(verification.report(0), Some(VerifyReport::default()));
        }
    }
}
