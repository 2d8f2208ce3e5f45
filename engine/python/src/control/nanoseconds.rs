//! Time of control planes.

/// Nanoseconds on the clock of a control plane.
pub type Nanoseconds = i64;
