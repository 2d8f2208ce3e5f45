//! Failures of hooks.

use std::sync::OnceLock;

use crate::Actions;

/// The result of a hook, or the sentence with which it fails.
pub type Outcome<T> = Result<T, String>;

/// The failure of a role, if there is one.
#[derive(Debug, Default)]
pub struct Failure {
    sentence: OnceLock<String>,
    reported: bool,
}

impl Failure {
    /// The result of a hook; none if it has failed. The first failure is kept.
    pub fn keep<T>(&self, outcome: Outcome<T>) -> Option<T> {
        outcome.map_err(|sentence| self.sentence.set(sentence)).ok()
    }

    /// Whether there is no failure.
    pub fn is_none(&self) -> bool {
        self.sentence.get().is_none()
    }

    /// Whether the failure is still to be reported.
    pub fn is_due(&self) -> bool {
        !self.is_none() && !self.reported
    }

    /// Reports the failure, once.
    pub fn report(&mut self, out: &mut Actions) {
        if let Some(sentence) = self.sentence.get().filter(|_| !self.reported) {
            out.fail(sentence.clone());
            self.reported = true;
        }
    }
}
