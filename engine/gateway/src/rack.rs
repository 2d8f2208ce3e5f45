//! The rack behind a gateway.

use netkv_rack::session::{OwnedOp, Session};
use netkv_rack::sys::Watched;
use netkv_roles::Completion;

/// A rack that executes operations.
pub trait Rack: Send + Sync {
    /// Submits operations, and removes them from the list. Each gets one completion with its token,
    /// unless the rack is lost.
    ///
    /// # Errors
    ///
    /// A sentence, if the rack is lost for good.
    fn submit(&self, operations: &mut Vec<(u64, OwnedOp)>) -> Result<(), String>;

    /// Appends the completions since the last call, and resets the event.
    fn completions(&self, into: &mut Vec<Completion>);

    /// Why the rack is lost, as a sentence.
    fn failure(&self) -> Option<String>;

    /// The event: readable if there are completions, or if the rack is lost.
    fn event(&self) -> &dyn Watched;
}

impl Rack for Session {
    fn submit(&self, operations: &mut Vec<(u64, OwnedOp)>) -> Result<(), String> {
        self.submit_all(operations)
    }

    fn completions(&self, into: &mut Vec<Completion>) {
        self.take(into);
    }

    fn failure(&self) -> Option<String> {
        Self::failure(self)
    }

    fn event(&self) -> &dyn Watched {
        self.completion_event()
    }
}
