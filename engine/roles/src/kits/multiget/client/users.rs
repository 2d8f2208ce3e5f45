//! Operations of users that wait or have ended.

use std::collections::VecDeque;

use super::operation::Operation;
use crate::{Completion, Nanos};

/// Waiting and ended operations of users.
#[derive(Debug, Default)]
pub(super) struct Users {
    /// Operations that wait for room, with all keys and no requests.
    pub(super) waiting: VecDeque<Operation>,
    pub(super) ended: Vec<Completion>,
}

impl Users {
    /// Moves the operations that have ended to the end of `into`.
    pub(super) fn completions(&mut self, into: &mut Vec<Completion>) {
        into.append(&mut self.ended);
    }

    /// When the first waiting request is given up. All have the same time-out, so it is the oldest.
    pub(super) fn due(&self) -> Nanos {
        self.waiting.front().map_or(Nanos::MAX, |first| first.deadline)
    }
}
