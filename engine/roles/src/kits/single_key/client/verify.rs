//! Final verification: every key that was written is read back.

use netkv_workload::{OpKind, Operation, key_id};

use super::protocol::Protocol;
use super::request::Request;
use super::state::Client;
use crate::common::load::{VERIFY_DEADLINE, VERIFYING};
use crate::{Actions, Nanos};

impl<P: Protocol> Client<P> {
    pub(super) fn verify_more(&mut self, now: Nanos, out: &mut Actions) {
        let keys = self.workload.config().keys;
        while self.outstanding < VERIFYING && self.senders.has_room() {
            let Some(verification) = &mut self.verification else { return };
            let Some(key) = verification.take(&self.judge) else { return };
            let id = key_id(&key).unwrap_or(u64::MAX);
            let operation = Operation { kind: OpKind::Read, id, key, size: 0, conditional: false };
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
