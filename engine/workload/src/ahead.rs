//! Operations that were drawn before they are needed.

use crate::{Operation, Random};

/// Number of operations that are drawn at a time.
pub(crate) const AHEAD: usize = 16;

/// Operations to hand out, each with the random number generator before its draw: if the workload
/// changes, those that are left are drawn again.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ahead {
    drawn: Vec<(Operation, Random)>,
    /// Index of the next one.
    next: usize,
}

impl Ahead {
    /// The next operation; `None` if all are handed out.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Operation> {
        let (operation, _) = self.drawn.get(self.next)?;
        self.next += 1;
        Some(*operation)
    }

    /// The operations, to be replaced by new ones.
    pub(crate) fn refill(&mut self) -> &mut Vec<(Operation, Random)> {
        self.next = 0;
        self.drawn.clear();
        &mut self.drawn
    }

    /// Drops the operations that are not handed out. Returns the generator before their draw, if
    /// there are any.
    pub(crate) fn rewind(&mut self) -> Option<Random> {
        let (_, before) = self.drawn.drain(..).nth(std::mem::take(&mut self.next))?;
        Some(before)
    }
}
