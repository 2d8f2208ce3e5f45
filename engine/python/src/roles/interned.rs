//! Names that live as long as the process.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// Names of roles and counts.
static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// A copy of the name that lives as long as the process.
pub fn interned(name: &str) -> &'static str {
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let name: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.insert(name);
    name
}
