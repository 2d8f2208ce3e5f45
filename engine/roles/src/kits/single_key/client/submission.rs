//! Operations of users, in the same table, with the same retries and windows as those of a load.
//!
//! Rules
//! -----
//! 1. An accepted operation ends exactly once, at its deadline at the latest, which counts from
//!    [`crate::Client::submit`].
//! 2. It takes a request for each key. If no client identity has room, requests wait in order. If
//!    too many wait, further operations are refused.
//! 3. A read of several keys is all or nothing: it ends with the last answer, with the first
//!    refusal, or at the deadline, with a list of the missing keys.
//! 4. Values do not name their writer, so these operations are not judged. Their frames are
//!    counted, but not their number and latency, since they are not part of the load.
//! 5. Answers are handed to the protocol, as for the load.

use netkv_wire::{FrameView, Key, MAX_VALUE, Op, Status};
use netkv_workload::{OpKind, Operation};

use super::protocol::Protocol;
use super::request::Request;
use super::state::Client;
use super::users::{Group, Submitted, Waiting};
use crate::{Actions, Completion, Nanos, Outcome, UserOp, is_reserved};

impl<P: Protocol> Client<P> {
    /// See [`crate::Client::submit`].
    pub(super) fn take_operation(
        &mut self,
        now: Nanos,
        token: u64,
        op: &UserOp<'_>,
        out: &mut Actions,
    ) -> Result<(), String> {
        let (kind, keys, value) = match *op {
            UserOp::Get(keys) => (OpKind::Read, keys, &[][..]),
            UserOp::Put(ref key, value) => (OpKind::Update, std::slice::from_ref(key), value),
            UserOp::Delete(ref key) => (OpKind::Delete, std::slice::from_ref(key), &[][..]),
        };
        let mut answers = Vec::with_capacity(keys.len());
        for key in keys {
            answers.push((checked(key)?, None));
        }
        if value.len() > MAX_VALUE {
            return Err(format!(
                "A value of {} bytes is too long; it may have up to {MAX_VALUE}.",
                value.len()
            ));
        }
        if self.users.waiting.len() + keys.len() > self.config.max_waiting {
            return Err(format!(
                "Too many requests are under way: {} wait to be sent already.",
                self.users.waiting.len()
            ));
        }
        let users = &mut self.users;
        if keys.is_empty() {
            users.ended.push(Completion { token, outcome: Outcome::Values(Vec::new()) });
            return Ok(());
        }
        let (group, deadline) = (users.next, now + self.config.deadline);
        users.next += 1;
        for (key_index, (key, _)) in answers.iter().enumerate() {
            let submitted = Box::new(Submitted { group, key_index, value: value.to_vec() });
            // No value is longer than `MAX_VALUE`.
            let (id, size) = (u64::MAX, value.len() as u16);
            let operation = Operation { kind, id, key: *key, size, conditional: false };
            users.waiting.push_back(Waiting { submitted, operation, deadline });
        }
        users.groups.insert(group, Group { token, left: answers.len(), answers });
        self.start_submitted(now, out);
        Ok(())
    }

    /// Starts waiting requests while there is room, and gives up those past their deadline.
    pub(super) fn start_submitted(&mut self, now: Nanos, out: &mut Actions) {
        while let Some(first) = self.users.waiting.front() {
            let over = first.deadline <= now;
            // Another key of the same operation may have ended it.
            let wanted = self.users.groups.contains_key(&first.submitted.group);
            let room = self.outstanding < self.config.max_outstanding && self.senders.has_room();
            if !over && wanted && !room {
                return;
            }
            let Some(Waiting { submitted, operation, deadline }) = self.users.waiting.pop_front()
            else {
                return;
            };
            if over {
                self.users.give_up(&submitted);
            } else if wanted {
                let request = Request::new(operation, false, now, deadline);
                self.start_request(now, request.submitted(submitted), out);
            }
        }
    }

    /// A request of a user was answered.
    pub(super) fn on_answer(
        &mut self,
        request: &Request,
        submitted: &Submitted,
        frame: &FrameView<'_>,
    ) {
        let status = frame.status();
        match (request.op, status) {
            (Op::Get, Status::Ok | Status::NotFound) => {
                self.stats.counts.reads += 1;
                self.stats.counts.hits += u64::from(frame.cache_hit());
                self.protocol.on_read(&request.operation.key, frame);
                let value = (status == Status::Ok).then(|| frame.value().to_vec());
                self.users.answered(submitted, value);
            }
            (_, Status::Ok | Status::NotFound) => {
                self.note_written(request, frame);
                let done = if status == Status::Ok { Outcome::Done } else { Outcome::NotFound };
                self.users.end(submitted, done);
            }
            (_, Status::Unknown) => {
                self.stats.counts.unknown += 1;
                self.users.end(submitted, Outcome::Unknown);
            }
            (_, Status::TooLarge) => {
                self.users.end(submitted, Outcome::Refused("the value is too long".to_owned()));
            }
            _ => {
                let why = "the server has refused it, or its store has failed".to_owned();
                self.users.end(submitted, Outcome::Refused(why));
            }
        }
    }
}

/// The key, if it is valid on the wire.
fn checked(key: &[u8]) -> Result<Key, String> {
    let key: Key = key
        .try_into()
        .map_err(|_| format!("A key has {} bytes, not {}.", size_of::<Key>(), key.len()))?;
    if is_reserved(&key) {
        return Err("Keys that begin with 'netkv:' are the store's own.".to_owned());
    }
    Ok(key)
}
