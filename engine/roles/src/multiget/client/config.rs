//! What a client process is.

use netkv_workload::MAX_MULTIGET;

use super::super::{Architecture, Layout};

/// Requests that one operation takes at most: every key may have a request of its own.
pub(super) const MOST_REQUESTS: u32 = MAX_MULTIGET as u32;
/// Smallest window that leaves room for operations with so many requests.
const LEAST_WINDOW: u32 = 4 * MOST_REQUESTS;

/// What a client process is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClientConfig {
    /// Its load, as for single keys; the role is not looked at.
    pub load: crate::ClientConfig,
    /// Who splits its requests.
    pub architecture: Architecture,
    /// Where servers and switches are.
    pub layout: Layout,
}

impl ClientConfig {
    /// Checks what the types do not; a sentence about what cannot be.
    pub(super) fn check(&self) -> Result<(), String> {
        self.load.check()?;
        self.layout.check()?;
        if self.load.window < LEAST_WINDOW {
            return Err(format!(
                "a window of {} requests is not possible for multigets; it is at least \
                 {LEAST_WINDOW}, as one operation may take {MOST_REQUESTS}",
                self.load.window
            ));
        }
        Ok(())
    }
}
