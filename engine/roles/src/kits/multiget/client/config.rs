//! Configuration of a client process.

use netkv_workload::MAX_MULTIGET;

use super::architecture::Architecture;
use crate::WINDOW;
use crate::kits::multiget::layout::Layout;
use crate::options::ClientOptions;

/// Requests that one operation takes at most: every key may have a request of its own.
pub(super) const MAX_REQUESTS: u32 = MAX_MULTIGET as u32;
/// Smallest window that leaves room for operations with so many requests.
const MIN_WINDOW: u32 = 4 * MAX_REQUESTS;

/// Configuration of a client process.
#[derive(Debug, Clone, Copy)]
pub struct ClientConfig {
    /// The load, as for single keys.
    pub load: crate::ClientConfig,
    /// The architecture, which decides who splits its requests.
    pub architecture: &'static dyn Architecture,
    /// The layout of servers and switches.
    pub layout: Layout,
}

impl ClientConfig {
    pub(super) fn of(architecture: &'static dyn Architecture, options: &ClientOptions) -> Self {
        let load = crate::ClientConfig { window: WINDOW, ..options.load };
        Self { load, architecture, layout: Layout::of(options.keyspace) }
    }

    /// Checks the values. An error is a sentence for users.
    pub(super) fn check(&self) -> Result<(), String> {
        self.load.check()?;
        self.load.check_window(WINDOW, "a server")?;
        self.layout.check()?;
        if self.load.window < MIN_WINDOW {
            return Err(format!(
                "a window of {} requests is not possible for multigets; it is at least \
                 {MIN_WINDOW}, as one operation may take {MAX_REQUESTS}",
                self.load.window
            ));
        }
        Ok(())
    }
}
