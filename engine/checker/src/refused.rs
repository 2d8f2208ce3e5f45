//! Writes that were refused, and so never took effect.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::operation::{Action, Record, WriteId};

/// Maximum number of refused writes that are remembered, the last ones. A read that returns the
/// value of an older one is judged as if the write had been overwritten.
pub(crate) const MAX_REFUSED: usize = 1 << 16;

/// The last refused writes.
#[derive(Debug, Default)]
pub(crate) struct RefusedWrites {
    intervals: FxHashMap<WriteId, (u64, u64)>,
    order: VecDeque<WriteId>,
}

impl RefusedWrites {
    /// Adds a write that was invoked and refused at these times; returns its record.
    pub(crate) fn add(&mut self, id: WriteId, invocation: u64, response: u64) -> Record {
        if self.order.len() == MAX_REFUSED
            && let Some(oldest) = self.order.pop_front()
        {
            self.intervals.remove(&oldest);
        }
        self.order.push_back(id);
        self.intervals.insert(id, (invocation, response));
        Record { id, action: Action::Refused, invocation, response }
    }

    /// The record of a write, if it was refused.
    pub(crate) fn get(&self, id: WriteId) -> Option<Record> {
        let &(invocation, response) = self.intervals.get(&id)?;
        Some(Record { id, action: Action::Refused, invocation, response })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_refused_writes_are_remembered() {
        let mut refused = RefusedWrites::default();
        let id = |request| WriteId { client: 1, request };
        for request in 0..MAX_REFUSED as u32 + 3 {
            refused.add(id(request), u64::from(request), u64::from(request) + 1);
        }
        assert_eq!(refused.get(id(2)), None);
        let kept = refused.get(id(3)).unwrap();
        assert_eq!((kept.action, kept.invocation, kept.response), (Action::Refused, 3, 4));
        assert_eq!(refused.intervals.len(), MAX_REFUSED);
    }
}
