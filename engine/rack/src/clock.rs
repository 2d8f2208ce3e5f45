//! The wall clock of a process, in the form that roles and data plane use.

use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use netkv_roles::Nanos;

/// Nanoseconds since the first call in this process; monotonic. All nodes of a process, and packets
/// that a user injects, share this clock.
pub fn now() -> Nanos {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as Nanos
}

/// Nanoseconds from 1970 to the zero of [`now`].
pub fn epoch() -> Nanos {
    unix_nanos().saturating_sub(now().into()) as Nanos
}

/// A first request number above those that earlier processes of this sender have used.
pub fn first_request() -> u32 {
    netkv_roles::first_request(unix_nanos())
}

pub(crate) fn unix_nanos() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos()
}

/// Time left until a deadline; `None` means no limit.
pub fn until(deadline: Option<Nanos>) -> Option<Duration> {
    deadline.map(|deadline| Duration::from_nanos(deadline.saturating_sub(now())))
}
