//! Servers that take turns, as in the evaluations of papers with fewer machines than servers: the
//! clients send requests for one or two servers at a time.

use netkv_wire::partition;

use crate::keys::Key;

/// The servers that get requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Servers in the rack.
    pub servers: u16,
    /// One that gets requests.
    pub first: u16,
    /// Another one, or the same.
    pub other: u16,
}

impl Turn {
    /// Whether the first server owns `key`.
    pub fn is_of_first(&self, key: &Key) -> bool {
        partition(key, self.servers) == self.first
    }

    /// Whether one of the servers owns `key`.
    pub(crate) fn has(&self, key: &Key) -> bool {
        [self.first, self.other].contains(&partition(key, self.servers))
    }
}
