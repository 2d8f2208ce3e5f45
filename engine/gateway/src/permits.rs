//! The limit of concurrent operations on the rack, for all clients together.

use std::collections::VecDeque;

use crate::order::CommandId;

/// A semaphore that grants several permits at once, in the order of the requests.
#[derive(Debug)]
pub struct Permits {
    capacity: u32,
    free: u32,
    waiting: VecDeque<(u32, CommandId)>,
}

impl Permits {
    /// All permits are free.
    pub fn new(capacity: u32) -> Self {
        Self { capacity, free: capacity, waiting: VecDeque::new() }
    }

    /// What a command that wants so many permits gets: no more than there are, so that it runs
    /// alone.
    pub fn most(&self, wanted: usize) -> u32 {
        self.capacity.min(wanted.try_into().unwrap_or(u32::MAX))
    }

    /// Takes permits; false if the command has to wait until [`Permits::next`] returns it.
    pub fn take(&mut self, wanted: u32, command: CommandId) -> bool {
        if self.waiting.is_empty() && wanted <= self.free {
            self.free -= wanted;
            return true;
        }
        self.waiting.push_back((wanted, command));
        false
    }

    /// All permits are free, and no command waits.
    pub fn reset(&mut self) {
        *self = Self::new(self.capacity);
    }

    /// Gives permits back.
    pub fn give_back(&mut self, number: u32) {
        self.free += number;
    }

    /// The next waiting command for which there are permits; it has them now.
    pub fn next(&mut self) -> Option<CommandId> {
        let (wanted, command) = *self.waiting.front()?;
        if wanted > self.free {
            return None;
        }
        self.free -= wanted;
        self.waiting.pop_front();
        Some(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permits_are_granted_in_order() {
        let mut permits = Permits::new(4);
        assert!(permits.take(3, 1));
        assert!(!permits.take(2, 2));
        // There would be one for it, but it does not overtake.
        assert!(!permits.take(1, 3));
        assert_eq!(permits.next(), None);
        permits.give_back(3);
        assert_eq!([permits.next(), permits.next(), permits.next()], [Some(2), Some(3), None]);
    }

    #[test]
    fn a_command_of_more_keys_than_permits_runs_alone() {
        let mut permits = Permits::new(4);
        assert_eq!(permits.most(9), 4);
        assert!(permits.take(1, 1));
        assert!(!permits.take(permits.most(9), 2));
        permits.give_back(1);
        assert_eq!(permits.next(), Some(2));
        assert!(!permits.take(1, 3));
    }
}
