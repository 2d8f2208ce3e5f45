//! Counters that one thread writes and others read at any time.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

/// A count that only grows.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// Adds `n`.
    pub fn add(&self, n: u64) {
        if n > 0 {
            self.0.fetch_add(n, Ordering::Relaxed);
        }
    }

    /// The count now.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Makes a struct of [`counters::Count`](crate::counters::Count)s that can be read by name.
#[macro_export]
macro_rules! counters {
    ($(#[$doc:meta])* pub struct $name:ident { $($field:ident),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Default)]
        #[allow(missing_docs)] // the names are the documentation; `_engine.pyi` explains them
        pub struct $name { $(pub $field: $crate::counters::Count),* }

        impl $name {
            /// All counts by name, in the order of the fields.
            pub fn read(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($field), self.$field.get())),*]
            }
        }
    };
}
pub use counters;

/// Counts by name as JSON.
pub(crate) fn document(counts: &[(&'static str, u64)]) -> Value {
    counts.iter().map(|(name, count)| ((*name).to_owned(), json!(count))).collect()
}
