//! Final verification: every key that was written is read back.

use netkv_workload::{OpKind, Operation, key_id};

use super::Client;
use super::requests::Request;
use crate::load::{Phase, VERIFY_DEADLINE, VERIFYING, Verification, VerifyReport};
use crate::{Actions, Nanos};

impl Client {
    /// Starts no more operations and reads back every key that was written, once those under
    /// way have ended. See [`Client::verified`].
    pub fn verify(&mut self, now: Nanos, out: &mut Actions) {
        self.pause();
        self.load.phase = Phase::Verifying;
        self.verification = Some(Verification::default());
        self.verify_more(now, out);
    }

    /// What the verification found, once it is over.
    pub fn verified(&self) -> Option<VerifyReport> {
        self.verification.as_ref()?.report(self.outstanding)
    }

    pub(super) fn verify_more(&mut self, now: Nanos, out: &mut Actions) {
        let keys = self.workload.config().keys;
        while self.outstanding < VERIFYING && self.senders.has_room() {
            let Some(verification) = &mut self.verification else { return };
            let Some(key) = verification.take(&self.judge) else { return };
            let id = key_id(&key).unwrap_or(u64::MAX);
            let operation = Operation { kind: OpKind::Read, id, key, size: 0 };
            let request = Request::new(operation, id < keys, now, now + VERIFY_DEADLINE);
            self.start_request(now, request.verifying(), out);
        }
    }

    pub(super) fn verify_ended(&mut self, read: bool) {
        if let Some(verification) = &mut self.verification {
            verification.ended(read);
        }
    }
}
