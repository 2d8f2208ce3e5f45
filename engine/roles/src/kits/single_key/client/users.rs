//! Operations of users that wait or are under way.

use std::collections::VecDeque;

use netkv_wire::Key;
use netkv_workload::Operation;
use rustc_hash::FxHashMap;

use crate::common::user::name_keys;
use crate::{Completion, Nanos, Outcome};

/// The additional fields of a request of a user.
#[derive(Debug)]
pub(super) struct Submitted {
    pub(super) group: u64,
    /// The index of its key in its operation.
    pub(super) key_index: usize,
    /// The value to write.
    pub(super) value: Vec<u8>,
}

/// A request that waits for a client identity with room.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) submitted: Box<Submitted>,
    pub(super) operation: Operation,
    pub(super) deadline: Nanos,
}

/// An operation under way.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) token: u64,
    /// Its keys and their answers.
    pub(super) answers: Vec<(Key, Option<Answer>)>,
    pub(super) left: usize,
}

/// The value of a key, if it has one.
pub(super) type Answer = Option<Vec<u8>>;

impl Group {
    /// The unanswered keys, as a text for users.
    fn missing(&self) -> String {
        let open = self.answers.iter().filter(|(_, answer)| answer.is_none());
        name_keys(open.map(|(key, _)| &key[..]))
    }
}

/// All operations of users.
#[derive(Debug, Default)]
pub(super) struct Users {
    pub(super) waiting: VecDeque<Waiting>,
    pub(super) groups: FxHashMap<u64, Group>,
    pub(super) next: u64,
    pub(super) ended: Vec<Completion>,
}

impl Users {
    /// Appends the operations that have ended since the last call to `into`.
    pub(super) fn completions(&mut self, into: &mut Vec<Completion>) {
        into.append(&mut self.ended);
    }

    /// When the first waiting request is given up. All have the same time-out, so it is the oldest.
    pub(super) fn due(&self) -> Nanos {
        self.waiting.front().map_or(Nanos::MAX, |first| first.deadline)
    }

    /// Ends the operation of a request that has timed out.
    pub(super) fn give_up(&mut self, submitted: &Submitted) {
        if let Some(group) = self.groups.remove(&submitted.group) {
            let outcome = Outcome::TimedOut { missing: group.missing() };
            self.ended.push(Completion { token: group.token, outcome });
        }
    }

    pub(super) fn end(&mut self, submitted: &Submitted, outcome: Outcome) {
        if let Some(group) = self.groups.remove(&submitted.group) {
            self.ended.push(Completion { token: group.token, outcome });
        }
    }

    /// A key of a read was answered. Another key may have ended the operation before.
    pub(super) fn answered(&mut self, submitted: &Submitted, value: Answer) {
        let Some(group) = self.groups.get_mut(&submitted.group) else { return };
        group.answers[submitted.key_index].1 = Some(value);
        group.left -= 1;
        if group.left == 0 {
            let answers = std::mem::take(&mut group.answers).into_iter();
            let values = answers.map(|(_, answer)| answer.flatten()).collect();
            self.end(submitted, Outcome::Values(values));
        }
    }
}
