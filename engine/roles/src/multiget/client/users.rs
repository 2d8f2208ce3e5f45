//! Operations of users, beside the load or without one.
//!
//! Those that no client identity has room for wait in their order, and their deadlines run.

use netkv_wire::MAX_VALUE;
use netkv_wire::multiget::{Answer, MAX_KEY, MIN_KEY};
use netkv_workload::{MAX_MULTIGET, OpKind, WireKey};

use super::Client;
use super::operation::Operation;
use crate::mutation::Mutation;
use crate::user::name_keys;
use crate::{Actions, Completion, Nanos, Outcome, UserOp};

/// Operations that may wait for room; no more are taken then.
const MOST_WAITING: usize = 65_536;

impl Client {
    /// Starts an operation of a user, whatever the load does. It ends by its deadline, with a
    /// [`Completion`] that has this token.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such operation, or if too many are under way.
    pub fn submit(
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
        if keys.is_empty() || keys.len() > MAX_MULTIGET {
            return Err(format!(
                "a multiget asks for 1 to {MAX_MULTIGET} keys, not for {}",
                keys.len()
            ));
        }
        if value.len() > MAX_VALUE {
            return Err(format!(
                "a value has at most {MAX_VALUE} bytes, and this one has {}",
                value.len()
            ));
        }
        if self.waiting.len() >= MOST_WAITING {
            return Err("too many operations are under way; wait for some to end".to_owned());
        }
        let mut operation = self.take_spare();
        operation.begin(kind, now, now + self.config.load.deadline);
        for key in keys {
            let Some(name) = WireKey::new(key) else {
                return Err(format!(
                    "a key has {MIN_KEY} to {MAX_KEY} bytes, and \"{}\" has {}",
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
        self.waiting.push_back(operation);
        self.start_waiting(now, out);
        Ok(())
    }

    /// Starts what waits, as far as there is room, and gives up what has waited for too long.
    pub(super) fn start_waiting(&mut self, now: Nanos, out: &mut Actions) {
        while let Some(first) = self.waiting.front() {
            let late = first.deadline <= now;
            if !late && !self.senders.has_room() {
                return;
            }
            let Some(operation) = self.waiting.pop_front() else { return };
            if late {
                let missing = "it was never sent, since too many operations are under way";
                self.tell(&operation, Outcome::TimedOut { missing: missing.to_owned() });
                self.spare.push(operation);
            } else {
                self.start_operation(now, operation, out);
            }
        }
    }

    /// When the first of those that wait is given up. All have the same time, so it is the oldest.
    pub(super) fn waiting_due(&self) -> Nanos {
        self.waiting.front().map_or(Nanos::MAX, |first| first.deadline)
    }

    /// Moves the users' operations that have ended to the end of `into`.
    pub fn completions(&mut self, into: &mut Vec<Completion>) {
        into.append(&mut self.completions);
    }

    pub(super) fn tell_done(&mut self, operation: &Operation) {
        let outcome = if operation.op.reads() {
            Outcome::Values(self.values(operation))
        } else {
            Outcome::Done
        };
        self.tell(operation, outcome);
    }

    /// The value of each key as it was asked for.
    fn values(&self, operation: &Operation) -> Vec<Option<Vec<u8>>> {
        let value = |first: &usize| {
            let asked = operation.keys.iter().find(|asked| asked.first == *first)?;
            let (from, to) = asked.value?;
            Some(operation.values[from..to].to_vec())
        };
        if self.mutated.by(Mutation::ClientAnswersRepeatsOnce) {
            return (0..operation.keys.len()).map(|first| value(&first)).collect();
        }
        operation.places.iter().map(value).collect()
    }

    /// `operation` has its requests still.
    pub(super) fn tell_timeout(&mut self, operation: &Operation) {
        let missing = name_keys(operation.missing_keys().map(|asked| asked.name.as_bytes()));
        self.tell(operation, Outcome::TimedOut { missing });
    }

    pub(super) fn tell_refused(&mut self, operation: &Operation, answer: Answer) {
        let why = match answer {
            Answer::Failed => "the store of a server failed",
            _ => "the key is reserved for the store itself",
        };
        self.tell(operation, Outcome::Refused(why.to_owned()));
    }

    fn tell(&mut self, operation: &Operation, outcome: Outcome) {
        if let Some(token) = operation.token {
            self.completions.push(Completion { token, outcome });
        }
    }
}
