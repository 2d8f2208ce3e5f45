//! Which protection is disabled, and lists of them.

use std::cell::Cell;
use std::fmt;

include!(concat!(env!("OUT_DIR"), "/mutations.rs"));

/// A protection that can be disabled.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Mutation(&'static str);

impl fmt::Debug for Mutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

thread_local! {
    static CHOSEN: Cell<Option<Mutation>> = const { Cell::new(None) };
}

/// While it lives, all roles of this thread run without the chosen protection.
#[derive(Debug)]
#[must_use]
pub struct Chosen(());

impl Drop for Chosen {
    fn drop(&mut self) {
        CHOSEN.set(None);
    }
}

/// Disables a protection of all roles of this thread, or none.
///
/// # Panics
///
/// If one is disabled already.
pub fn choose(mutation: Option<Mutation>) -> Chosen {
    let before = CHOSEN.replace(mutation);
    assert_eq!(before, None, "a protection is disabled already");
    Chosen(())
}

/// Whether the protection with this name is disabled. The edited text asks this.
pub(crate) fn is(name: &str) -> bool {
    CHOSEN.get().is_some_and(|chosen| chosen.0 == name)
}
