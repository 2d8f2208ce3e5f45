//! Request numbers: with which a sender starts, and which of them its receivers remember.

use crate::{Nanos, SECOND};

/// Request numbers that a server remembers for each sender. A sender must not use a number this far
/// above its oldest request under way; then any older request is a late copy.
pub const WINDOW: u32 = 4096;

/// A sender that has been silent for this long has no pending request, and no copy of its frames is
/// in the network: requests end earlier, with a reply or at their deadline.
pub const FORGET: Nanos = 600 * SECOND;
/// The same in seconds.
pub(crate) const FORGET_SECONDS: u32 = (FORGET / SECOND) as u32;
/// Longest deadline of an operation: copies of its last frames arrive within `FORGET`.
pub const MAX_DEADLINE: Nanos = FORGET / 2;

/// Whether second `then` is more than [`FORGET`] before second `now`.
pub(crate) const fn is_forgotten(then: u32, now: u32) -> bool {
    now.saturating_sub(then) > FORGET_SECONDS
}

/// A first request number for a sender that starts at `unix_nanos` since the epoch.
///
/// A sender that restarts must start above every number it has used, or servers and switches take
/// its requests for late copies. The clock provides such a number without stored state if the
/// sender has used at most 2^20 numbers a second since its last start, which is more than any can.
/// The numbers wrap every 68 minutes. That is long enough: numbers older than [`FORGET`] are never
/// compared with, and within that time less than a sixth of the range is used.
pub const fn first_request(unix_nanos: u128) -> u32 {
    ((unix_nanos << 20) / SECOND as u128) as u32
}
