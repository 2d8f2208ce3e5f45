//! Operations of users.
//!
//! If no client identity has room for an operation, it waits in the order of
//! [`crate::UserClient::submit`]. Its deadline counts from that call. These operations are not
//! judged, since their values are arbitrary. Their frames are counted, their operations are not.

use std::collections::VecDeque;

use netkv_wire::multiget::{MAX_KEY, MIN_KEY};
use netkv_workload::{MAX_MULTIGET, OpKind, WireKey};

use super::operation::Operation;
use crate::common::load::Load;
use crate::common::senders::Senders;
use crate::common::source::{Source, Tag};
use crate::common::user::{check_value, name_keys};
use crate::kits::multiget::layout::Layout;
use crate::{ClientConfig, ClientCounts, Completion, Nanos, Outcome, UserOp};

/// All operations of users.
#[derive(Debug)]
pub struct Users {
    /// Operations that wait for room, with all keys and no requests.
    waiting: VecDeque<Operation>,
    pub(super) ended: Vec<Completion>,
    counts: ClientCounts,
    config: ClientConfig,
}

impl Users {
    pub(super) fn new(config: ClientConfig) -> Self {
        let (waiting, ended) = (VecDeque::new(), Vec::new());
        Self { waiting, ended, counts: ClientCounts::default(), config }
    }

    /// See [`crate::UserClient::submit`].
    pub(super) fn submit(
        &mut self,
        now: Nanos,
        token: u64,
        op: &UserOp<'_>,
        spare: impl FnOnce() -> Operation,
        layout: &Layout,
    ) -> Result<(), String> {
        let (kind, keys, value) = op.parts();
        check_value(value)?;
        if keys.is_empty() {
            self.ended.push(Completion { token, outcome: Outcome::Values(Vec::new()) });
            return Ok(());
        }
        if keys.len() > MAX_MULTIGET {
            return Err(format!(
                "A multiget asks for up to {MAX_MULTIGET} keys, not for {}.",
                keys.len()
            ));
        }
        if self.waiting.len() >= self.config.max_waiting {
            return Err(format!(
                "Too many operations are under way: {} wait to be sent already.",
                self.waiting.len()
            ));
        }
        let mut operation = spare();
        let tag = Tag { kind, number: token, verifies: false, intended: now };
        operation.begin(tag, now + self.config.deadline);
        for key in keys {
            let Some(name) = WireKey::new(key) else {
                return Err(format!(
                    "A key has {MIN_KEY} to {MAX_KEY} bytes, and \"{}\" has {}.",
                    key.escape_ascii(),
                    key.len()
                ));
            };
            operation.add(name, false, layout);
        }
        operation.size = value.len();
        operation.values.extend_from_slice(value);
        if kind == OpKind::Read {
            operation.choose_read(false);
        }
        self.waiting.push_back(operation);
        Ok(())
    }

    fn end(&mut self, operation: &Operation, outcome: Outcome) {
        self.ended.push(Completion { token: operation.tag.number, outcome });
    }
}

/// The value of each key in the order in which the user named them.
fn values(operation: &Operation) -> Vec<Option<Vec<u8>>> {
    let value = |first: &usize| {
        let asked = operation.keys.iter().find(|asked| asked.first == *first)?;
        let (from, to) = asked.value?;
        Some(operation.values[from..to].to_vec())
    };
    operation.firsts.iter().map(value).collect()
}

impl Source<Operation> for Users {
    fn counts(&self) -> &ClientCounts {
        &self.counts
    }

    fn counts_mut(&mut self) -> &mut ClientCounts {
        &mut self.counts
    }

    /// When the first waiting operation is given up. All have the same time-out, so it is the
    /// oldest.
    fn due(&self) -> Nanos {
        self.waiting.front().map_or(Nanos::MAX, |first| first.deadline)
    }

    fn next(
        &mut self,
        now: Nanos,
        outstanding: usize,
        mut has_room: impl FnMut() -> bool,
        _: impl FnOnce(&Load, netkv_workload::Operation, Tag, Nanos) -> Operation,
    ) -> Option<Operation> {
        let over = self.waiting.front()?.deadline <= now;
        let mut room = || outstanding < self.config.max_outstanding && has_room();
        if over || room() { self.waiting.pop_front() } else { None }
    }

    fn fill(&self, operation: &Operation, value: &mut [u8]) {
        value.copy_from_slice(&operation.values);
    }

    fn on_value(
        &mut self,
        _: Nanos,
        operation: &mut Operation,
        index: usize,
        value: Option<&[u8]>,
        _: &Senders,
    ) {
        operation.keys[index].value = value.map(|value| {
            let start = operation.values.len();
            operation.values.extend_from_slice(value);
            (start, operation.values.len())
        });
    }

    fn on_done(&mut self, _: Nanos, operation: &Operation, _: bool, _: bool, _: bool) {
        let reads = operation.op.reads();
        let outcome = if reads { Outcome::Values(values(operation)) } else { Outcome::Done };
        self.end(operation, outcome);
    }

    fn on_refused(&mut self, _: Nanos, operation: &mut Operation, _: bool, why: &str) {
        self.end(operation, Outcome::Refused(why.to_owned()));
    }

    fn on_lost(&mut self, operation: &mut Operation) {
        let missing = name_keys(operation.missing_keys().map(|asked| asked.name.as_bytes()));
        self.end(operation, Outcome::TimedOut { missing });
    }
}
