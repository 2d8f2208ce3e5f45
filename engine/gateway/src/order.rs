//! The order of commands in a pipeline: those with a common key wait, unless both only read.
//!
//! Keys are known by their hashes: two keys with the same hash are ordered like one, which is more
//! than is promised. A command about all keys (DBSIZE) counts as a read of each key.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// The number of a command.
pub type CommandId = u32;

/// The keys of a command; `None`: it concerns all.
pub type Hashes<'a> = Option<&'a [u64]>;

/// The pending commands of one key.
#[derive(Debug, Default)]
struct Lane {
    /// The last write.
    write: Option<CommandId>,
    /// The reads after it.
    reads: SmallVec<[CommandId; 4]>,
}

/// The pending commands of one connection, by key.
#[derive(Debug, Default)]
pub struct KeyOrder {
    lanes: FxHashMap<u64, Lane>,
    readers_of_all: Vec<CommandId>,
}

impl KeyOrder {
    /// Adds a command; calls `wait_for` with each pending command that it waits for, perhaps
    /// several times.
    pub fn enter(
        &mut self,
        command: CommandId,
        keys: Hashes<'_>,
        writes: bool,
        mut wait_for: impl FnMut(CommandId),
    ) {
        let Some(keys) = keys else {
            self.lanes.values().filter_map(|lane| lane.write).for_each(wait_for);
            self.readers_of_all.push(command);
            return;
        };
        if writes {
            self.readers_of_all.iter().copied().for_each(&mut wait_for);
        }
        for key in keys {
            let lane = self.lanes.entry(*key).or_default();
            // A command does not wait for itself if it names a key twice.
            let others = lane.write.iter().chain(lane.reads.iter().filter(|_| writes));
            others.copied().filter(|it| *it != command).for_each(&mut wait_for);
            if writes {
                // It waits for the reads, so later commands need to wait only for it.
                lane.write = Some(command);
                lane.reads.clear();
            } else {
                lane.reads.push(command);
            }
        }
    }

    /// Removes a command that has ended.
    pub fn leave(&mut self, command: CommandId, keys: Hashes<'_>) {
        let Some(keys) = keys else {
            self.readers_of_all.retain(|it| *it != command);
            return;
        };
        for key in keys {
            let Some(lane) = self.lanes.get_mut(key) else { continue };
            if let Some(at) = lane.reads.iter().position(|it| *it == command) {
                lane.reads.swap_remove(at);
            }
            lane.write = lane.write.filter(|it| *it != command);
            if lane.write.is_none() && lane.reads.is_empty() {
                self.lanes.remove(key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(order: &mut KeyOrder, id: CommandId, keys: Hashes<'_>, writes: bool) -> Vec<u32> {
        let mut found = Vec::new();
        order.enter(id, keys, writes, |other| found.push(other));
        found.sort_unstable();
        found.dedup();
        found
    }

    #[test]
    fn commands_with_a_common_key_wait_unless_both_read() {
        let mut order = KeyOrder::default();
        assert_eq!(waits(&mut order, 1, Some(&[7]), false), [0u32; 0]);
        assert_eq!(waits(&mut order, 2, Some(&[7, 8]), false), [0u32; 0]);
        assert_eq!(waits(&mut order, 3, Some(&[7, 7]), true), [1, 2]);
        assert_eq!(waits(&mut order, 4, Some(&[8, 9]), true), [2]);
        assert_eq!(waits(&mut order, 5, Some(&[7, 8]), false), [3, 4]);
        order.leave(3, Some(&[7, 7]));
        order.leave(2, Some(&[7, 8]));
        assert_eq!(waits(&mut order, 6, Some(&[7]), true), [5]);
    }

    #[test]
    fn a_command_about_all_keys_is_a_read_of_each() {
        let mut order = KeyOrder::default();
        waits(&mut order, 1, Some(&[7]), true);
        waits(&mut order, 2, Some(&[8]), false);
        assert_eq!(waits(&mut order, 3, None, false), [1]);
        assert_eq!(waits(&mut order, 4, Some(&[9]), false), [0u32; 0]);
        assert_eq!(waits(&mut order, 5, Some(&[10]), true), [3]);
        order.leave(3, None);
        assert_eq!(waits(&mut order, 6, Some(&[11]), true), [0u32; 0]);
    }

    #[test]
    fn nothing_is_kept_of_commands_that_have_ended() {
        let mut order = KeyOrder::default();
        for id in 0..100 {
            waits(&mut order, id, Some(&[u64::from(id % 7), 1]), id % 3 == 0);
        }
        for id in 0..100 {
            order.leave(id, Some(&[u64::from(id % 7), 1]));
        }
        assert!(order.lanes.is_empty());
    }
}
