//! Final verification: every key that was written is read back.

use netkv_workload::{OpKind, key_id};

use super::state::Client;
use crate::common::load::{VERIFY_DEADLINE, VERIFYING};
use crate::{Actions, Nanos};

impl Client {
    pub(super) fn verify_more(&mut self, now: Nanos, out: &mut Actions) {
        let keys = self.workload.config().keys;
        while self.operations.len() < VERIFYING && self.senders.has_room() {
            let Some(verification) = &mut self.verification else { return };
            let Some(key) = verification.take(&self.judge) else { return };
            // Only keys of the keyspace are recorded.
            let Some(id) = key_id(&key) else { continue };
            let mut operation = self.take_spare();
            operation.begin(OpKind::Read, now, now + VERIFY_DEADLINE);
            operation.verifies = true;
            operation.add_id(id, keys, &self.config.layout);
            self.start_operation(now, operation, out);
        }
    }
}
