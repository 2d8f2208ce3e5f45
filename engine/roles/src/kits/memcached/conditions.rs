//! The CAS versions that clients know, for conditional writes.
//!
//! Between this module and `client`, the version stamp of a reply is the CAS version of the item,
//! and the stamp of a write the version that it requires.

use netkv_wire::{FrameView, Key, Stamp, Status};
use rustc_hash::FxHashMap;

use super::items::{stamp_of, version_of};

/// Maximum number of keys of which a version is known; beyond it, all are forgotten.
const MAX_KNOWN: usize = 1 << 16;

/// The versions that the clients of a process have read.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    known: FxHashMap<Key, u64>,
    /// Whether versions are remembered at all.
    pub(super) enabled: bool,
}

impl Conditions {
    /// The version for a conditional write of a key, if it is known.
    pub(super) fn take(&mut self, key: &Key) -> Option<Stamp> {
        stamp_of(self.known.remove(key)?)
    }

    /// A key was read.
    pub(super) fn note(&mut self, key: &Key, frame: &FrameView<'_>) {
        if !self.enabled {
            return;
        }
        match (frame.status(), version_of(frame.stamp())) {
            // A cache that does not know the version yet answers with 0.
            (Status::Ok, version) if version != 0 => {
                if self.known.len() >= MAX_KNOWN && !self.known.contains_key(key) {
                    self.known.clear();
                }
                self.known.insert(*key, version);
            }
            _ => {
                self.known.remove(key);
            }
        }
    }

    pub(super) fn clear(&mut self) {
        self.known.clear();
    }
}

#[cfg(test)]
mod tests {
    use netkv_wire::{Message, Op, client_ip, server_ip};
    use netkv_workload::key_of;

    use super::*;

    fn read(conditions: &mut Conditions, id: u64, version: u64) {
        let (from, to) = (server_ip(0), client_ip(1));
        let reply = Message::request(from, to, Op::GetReply, 1, 7, key_of(id));
        let mut bytes = Vec::new();
        let reply = Message { stamp: stamp_of(version), ..reply.with_value(b"value") };
        netkv_wire::write_frame(&mut bytes, &reply);
        conditions.note(&key_of(id), &FrameView::parse(&bytes).unwrap());
    }

    #[test]
    fn a_version_is_used_once_and_never_if_it_is_0() {
        let mut conditions = Conditions::default();
        read(&mut conditions, 1, 5);
        assert_eq!(conditions.take(&key_of(1)), None, "not enabled");
        conditions.enabled = true;
        read(&mut conditions, 1, 1 << 40 | 5);
        read(&mut conditions, 2, 0);
        assert_eq!(conditions.take(&key_of(2)), None);
        assert_eq!(conditions.take(&key_of(1)), stamp_of(1 << 40 | 5));
        assert_eq!(conditions.take(&key_of(1)), None, "used");
        read(&mut conditions, 1, 6);
        read(&mut conditions, 1, 0);
        assert_eq!(conditions.take(&key_of(1)), None, "a later read had no version");
    }

    #[test]
    fn a_limited_number_of_versions_is_known() {
        let mut conditions = Conditions { enabled: true, ..Conditions::default() };
        for id in 0..MAX_KNOWN as u64 + 10 {
            read(&mut conditions, id, id + 1);
            assert!(conditions.known.len() <= MAX_KNOWN);
        }
        let last = MAX_KNOWN as u64 + 9;
        assert_eq!(conditions.take(&key_of(last)), stamp_of(last + 1));
    }
}
