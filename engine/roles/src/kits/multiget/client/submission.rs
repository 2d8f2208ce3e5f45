//! Operations of users, beside the load or without one, with the same requests and retries.
//!
//! If no client identity has room for an operation, it waits in the order of
//! [`crate::Client::submit`]. Its deadline counts from that call.

use netkv_wire::MAX_VALUE;
use netkv_wire::multiget::{Answer, MAX_KEY, MIN_KEY};
use netkv_workload::{MAX_MULTIGET, OpKind, WireKey};

use super::operation::Operation;
use super::state::Client;
use crate::common::user::name_keys;
use crate::{Actions, Completion, Nanos, Outcome, UserOp};

impl Client {
    /// See [`crate::Client::submit`].
    pub(super) fn take_operation(
        &mut self,
        now: Nanos,
        token: u64,
        op: &UserOp<'_>,
        out: &mut Actions,
    ) -> Result<(), String> {
        let (kind, keys, value): (OpKind, &[&[u8]], &[u8]) = match op {
            UserOp::Get(keys) => (OpKind::Read, keys, &[]),
            UserOp::Put(key, value) => (OpKind::Update, &[*key], value),
            UserOp::Delete(key) => (OpKind::Delete, &[*key], &[]),
        };
        if keys.is_empty() {
            self.users.ended.push(Completion { token, outcome: Outcome::Values(Vec::new()) });
            return Ok(());
        }
        if keys.len() > MAX_MULTIGET {
            return Err(format!(
                "A multiget asks for up to {MAX_MULTIGET} keys, not for {}.",
                keys.len()
            ));
        }
        if value.len() > MAX_VALUE {
            return Err(format!(
                "A value of {} bytes is too long; it may have up to {MAX_VALUE}.",
                value.len()
            ));
        }
        if self.users.waiting.len() >= self.config.load.max_waiting {
            return Err(format!(
                "Too many operations are under way: {} wait to be sent already.",
                self.users.waiting.len()
            ));
        }
        let mut operation = self.take_spare();
        operation.begin(kind, now, now + self.config.load.deadline);
        for key in keys {
            let Some(name) = WireKey::new(key) else {
                return Err(format!(
                    "A key has {MIN_KEY} to {MAX_KEY} bytes, and \"{}\" has {}.",
                    key.escape_ascii(),
                    key.len()
                ));
            };
            operation.add(name, false, &self.config.layout);
        }
        operation.token = Some(token);
        operation.values.extend_from_slice(value);
        if kind == OpKind::Read {
            self.choose_read(&mut operation);
        }
        self.users.waiting.push_back(operation);
        self.start_submitted(now, out);
        Ok(())
    }

    /// Starts waiting requests while there is room, and gives up those past their deadline.
    pub(super) fn start_submitted(&mut self, now: Nanos, out: &mut Actions) {
        while let Some(first) = self.users.waiting.front() {
            let over = first.deadline <= now;
            let most = self.config.load.max_outstanding;
            if !over && (self.operations.len() >= most || !self.senders.has_room()) {
                return;
            }
            let Some(mut operation) = self.users.waiting.pop_front() else { return };
            if over {
                self.config.architecture.divide(&mut operation, &self.config.layout);
                self.report_missing(&operation);
                self.recycle(operation);
            } else {
                self.start_operation(now, operation, out);
            }
        }
    }

    pub(super) fn report_done(&mut self, operation: &Operation) {
        let outcome = if operation.op.reads() {
            Outcome::Values(self.values(operation))
        } else {
            Outcome::Done
        };
        self.report(operation, outcome);
    }

    /// The value of each key in the order in which the user named them.
    fn values(&self, operation: &Operation) -> Vec<Option<Vec<u8>>> {
        let value = |first: &usize| {
            let asked = operation.keys.iter().find(|asked| asked.first == *first)?;
            let (from, to) = asked.value?;
            Some(operation.values[from..to].to_vec())
        };
        operation.firsts.iter().map(value).collect()
    }

    /// Reports the servers that have not answered an operation that is given up.
    pub(super) fn report_missing(&mut self, operation: &Operation) {
        operation.missing_servers(self.config.layout.servers, &mut self.last_missing);
        let missing = name_keys(operation.missing_keys().map(|asked| asked.name.as_bytes()));
        self.report(operation, Outcome::TimedOut { missing });
    }

    pub(super) fn report_refused(&mut self, operation: &Operation, answer: Answer) {
        let why = match answer {
            Answer::Failed => "the store of a server failed",
            _ => "the key is reserved for the store itself",
        };
        self.report(operation, Outcome::Refused(why.to_owned()));
    }

    fn report(&mut self, operation: &Operation, outcome: Outcome) {
        if let Some(token) = operation.token {
            self.users.ended.push(Completion { token, outcome });
        }
    }
}
