//! Final verification: every key that was written is read back.

use netkv_wire::Key;
use netkv_workload::{OpKind, Operation, key_id};

use super::requests::Request;
use super::{Client, Phase};
use crate::{Actions, Nanos, SECOND};

/// Reads under way at a time, and how long one may take.
const OUTSTANDING: usize = 64;
const DEADLINE: Nanos = 10 * SECOND;

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
pub(super) struct Verification {
    left: Vec<Key>,
    report: VerifyReport,
}

impl Client {
    /// Starts no more operations and reads back every key that was written, once those under
    /// way have ended. See [`Client::verified`].
    pub fn verify(&mut self, now: Nanos, out: &mut Actions) {
        self.pause();
        self.phase = Phase::Verifying;
        let mut left: Vec<Key> = self.checker.written().copied().collect();
        // The order of a hash map would do, but it is not the same everywhere.
        left.sort_unstable();
        self.verification = Some(Verification { left, report: VerifyReport::default() });
        self.verify_more(now, out);
    }

    /// What the verification found, once it is over.
    pub fn verified(&self) -> Option<VerifyReport> {
        let verification = self.verification.as_ref()?;
        let over = verification.left.is_empty() && self.outstanding == 0;
        over.then_some(verification.report)
    }

    pub(super) fn verify_more(&mut self, now: Nanos, out: &mut Actions) {
        let keys = self.workload.config().keys;
        while self.outstanding < OUTSTANDING && self.senders.has_room() {
            let Some(key) = self.verification.as_mut().and_then(|it| it.left.pop()) else { return };
            let id = key_id(&key).unwrap_or(u64::MAX);
            let operation = Operation { kind: OpKind::Read, id, key, size: 0 };
            let request = Request::new(operation, id < keys, now, now + DEADLINE);
            self.start_request(now, request.verifying(), out);
        }
    }

    pub(super) fn verify_lost(&mut self) {
        if let Some(verification) = &mut self.verification {
            verification.report.acked_writes_lost += 1;
        }
    }

    pub(super) fn verify_ended(&mut self, read: bool) {
        if let Some(verification) = &mut self.verification {
            let report = &mut verification.report;
            *(if read { &mut report.checked } else { &mut report.unread }) += 1;
        }
    }
}
