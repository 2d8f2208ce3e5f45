//! The wall clock of a process, as roles and data plane want it.

use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use netkv_roles::Nanos;

/// Nanoseconds since this process first asked; never runs backwards. One for all nodes of a
/// process, so that packets from nodes and by hand see one time.
pub fn now() -> Nanos {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as Nanos
}

/// Nanoseconds since 1970 at the moment that [`now`] counts from.
pub fn epoch() -> Nanos {
    unix_nanos().saturating_sub(now().into()) as Nanos
}

/// A first request number that no earlier start of this sender has used.
pub fn first_request() -> u32 {
    netkv_roles::first_request(unix_nanos())
}

pub(crate) fn unix_nanos() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos()
}

/// How long to wait for a deadline; none waits without limit.
pub fn until(deadline: Option<Nanos>) -> Option<Duration> {
    deadline.map(|deadline| Duration::from_nanos(deadline.saturating_sub(now())))
}
