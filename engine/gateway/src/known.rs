//! The keys that DBSIZE counts: stored, and not deleted since, through this gateway.

use std::hash::{BuildHasher, RandomState};

use rustc_hash::FxHashSet;

/// Maximum of the keys that are counted; they take about 20 MB.
pub const MAX_KNOWN: usize = 1_000_000;

/// Hashes of keys.
#[derive(Debug)]
pub struct Known {
    hashes: RandomState,
    /// `None`: there were more than the maximum.
    keys: Option<FxHashSet<u64>>,
    maximum: usize,
}

impl Known {
    /// No key is known; `maximum` is [`MAX_KNOWN`] but in tests.
    pub fn new(maximum: usize) -> Self {
        Self { hashes: RandomState::new(), keys: Some(FxHashSet::default()), maximum }
    }

    /// The hash of a key, which differs from gateway to gateway.
    pub fn hash(&self, key: &[u8]) -> u64 {
        self.hashes.hash_one(key)
    }

    /// Number of keys; `None` if there were too many.
    pub fn count(&self) -> Option<usize> {
        self.keys.as_ref().map(FxHashSet::len)
    }

    /// A key was stored.
    pub fn insert(&mut self, hash: u64) {
        if let Some(keys) = &mut self.keys {
            keys.insert(hash);
            if keys.len() > self.maximum {
                self.keys = None;
            }
        }
    }

    /// A key was deleted.
    pub fn remove(&mut self, hash: u64) {
        if let Some(keys) = &mut self.keys {
            keys.remove(&hash);
        }
    }
}
