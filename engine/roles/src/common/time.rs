//! Time as roles see it.

/// Nanoseconds since a moment that the driver chooses.
pub type Nanos = u64;

/// Nanoseconds of a millisecond.
pub const MILLISECOND: Nanos = 1_000_000;
/// Nanoseconds of a second.
pub const SECOND: Nanos = 1_000_000_000;
