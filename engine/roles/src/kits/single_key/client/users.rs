//! Operations of users.
//!
//! Rules
//! -----
//! 1. An accepted operation ends exactly once, at its deadline at the latest, which counts from
//!    [`crate::UserClient::submit`].
//! 2. It takes a request for each key. If no client identity has room, requests wait in order. If
//!    too many wait, further operations are refused.
//! 3. A read of several keys is all or nothing: it ends with the last answer, with the first
//!    refusal, or at the deadline, with a list of the missing keys.
//! 4. Values do not name their writer, so these operations are not judged. Their frames, reads and
//!    hits are counted.

use std::collections::VecDeque;

use netkv_wire::Key;
use netkv_workload::Operation;
use rustc_hash::FxHashMap;

use super::request::Request;
use crate::common::load::Load;
use crate::common::senders::Senders;
use crate::common::source::{Source, Tag, UnderWay};
use crate::common::user::{check_value, name_keys};
use crate::{ClientConfig, ClientCounts, Completion, Nanos, Outcome, UserOp, is_reserved};

/// An operation under way.
#[derive(Debug)]
struct Group {
    token: u64,
    /// The value to write.
    value: Vec<u8>,
    /// Its keys and their answers.
    answers: Vec<(Key, Option<Answer>)>,
    left: usize,
}

/// The value of a key, if it has one.
type Answer = Option<Vec<u8>>;

/// All operations of users.
#[derive(Debug)]
pub struct Users {
    /// Requests that wait for a client identity with room.
    waiting: VecDeque<Request>,
    groups: FxHashMap<u64, Group>,
    next: u64,
    pub(super) ended: Vec<Completion>,
    counts: ClientCounts,
    config: ClientConfig,
}

impl Users {
    /// No operations yet.
    pub fn new(config: ClientConfig) -> Self {
        Self {
            waiting: VecDeque::new(),
            groups: FxHashMap::default(),
            next: 0,
            ended: Vec::new(),
            counts: ClientCounts::default(),
            config,
        }
    }

    /// See [`crate::UserClient::submit`].
    pub(super) fn submit(&mut self, now: Nanos, token: u64, op: &UserOp<'_>) -> Result<(), String> {
        let (kind, keys, value) = op.parts();
        check_value(value)?;
        let mut answers = Vec::with_capacity(keys.len());
        for key in keys {
            answers.push((checked(key)?, None));
        }
        if self.waiting.len() + keys.len() > self.config.max_waiting {
            return Err(format!(
                "Too many requests are under way: {} wait to be sent already.",
                self.waiting.len()
            ));
        }
        if keys.is_empty() {
            self.ended.push(Completion { token, outcome: Outcome::Values(Vec::new()) });
            return Ok(());
        }
        let (group, deadline) = (self.next, now + self.config.deadline);
        self.next += 1;
        let tag = Tag { kind, number: group, verifies: false, intended: now };
        for (index, (key, _)) in (0..).zip(&answers) {
            // No value is longer than `MAX_VALUE`.
            let (id, size) = (group, value.len() as u16);
            let operation = Operation { kind, id, key: *key, size, conditional: false };
            self.waiting.push_back(Request::new(operation, index, false, tag, deadline));
        }
        let (left, value) = (answers.len(), value.to_vec());
        self.groups.insert(group, Group { token, value, answers, left });
        Ok(())
    }

    /// Ends the operation of a request. Another request may have ended it before.
    fn end(&mut self, request: &Request, outcome: impl FnOnce(Group) -> Outcome) {
        if let Some(group) = self.groups.remove(&request.operation.id) {
            self.ended.push(Completion { token: group.token, outcome: outcome(group) });
        }
    }
}

impl Source<Request> for Users {
    fn counts(&self) -> &ClientCounts {
        &self.counts
    }

    fn counts_mut(&mut self) -> &mut ClientCounts {
        &mut self.counts
    }

    /// When the first waiting request is given up. All have the same time-out, so it is the oldest.
    fn due(&self) -> Nanos {
        self.waiting.front().map_or(Nanos::MAX, |first| first.deadline)
    }

    /// Gives up the waiting requests that are past their deadline, too.
    fn next(
        &mut self,
        now: Nanos,
        outstanding: usize,
        mut has_room: impl FnMut() -> bool,
        _: impl FnOnce(&Load, Operation, Tag, Nanos) -> Request,
    ) -> Option<Request> {
        while let Some(first) = self.waiting.front() {
            let over = first.deadline <= now;
            // Another key of the same operation may have ended it.
            let wanted = self.groups.contains_key(&first.operation.id);
            if !over && wanted && (outstanding >= self.config.max_outstanding || !has_room()) {
                return None;
            }
            let mut request = self.waiting.pop_front()?;
            if over {
                self.on_lost(&mut request);
            } else if wanted {
                return Some(request);
            }
        }
        None
    }

    fn fill(&self, request: &Request, value: &mut [u8]) {
        if let Some(group) = self.groups.get(&request.operation.id) {
            value.copy_from_slice(&group.value);
        }
    }

    fn on_value(
        &mut self,
        _: Nanos,
        request: &mut Request,
        _: usize,
        value: Option<&[u8]>,
        _: &Senders,
    ) {
        let Some(group) = self.groups.get_mut(&request.operation.id) else { return };
        group.answers[request.index as usize].1 = Some(value.map(<[u8]>::to_vec));
        group.left -= 1;
        if group.left == 0 {
            let value = |(_, answer): (Key, Option<Answer>)| answer.flatten();
            self.end(request, |it| Outcome::Values(it.answers.into_iter().map(value).collect()));
        }
    }

    fn on_done(&mut self, _: Nanos, request: &Request, found: bool, hit: bool, _: bool) {
        if request.reads() {
            self.counts.reads += 1;
            self.counts.hits += u64::from(hit);
        } else {
            self.end(request, |_| if found { Outcome::Done } else { Outcome::NotFound });
        }
    }

    fn on_refused(&mut self, _: Nanos, request: &mut Request, _: bool, why: &str) {
        self.end(request, |_| Outcome::Refused(why.to_owned()));
    }

    fn on_unknown(&mut self, request: &mut Request) {
        self.counts.unknown += 1;
        self.end(request, |_| Outcome::Unknown);
    }

    fn on_lost(&mut self, request: &mut Request) {
        self.end(request, |group| {
            let open = group.answers.iter().filter(|(_, answer)| answer.is_none());
            Outcome::TimedOut { missing: name_keys(open.map(|(key, _)| &key[..])) }
        });
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
