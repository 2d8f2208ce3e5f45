//! Parts of control planes that work on each message: the numbers, timeouts and frames of requests
//! without a reply. They have no clock and no I/O, like the control planes in Python that use them.

mod message_numbers;
mod outstanding;
mod round_trip;

pub use message_numbers::MessageNumbers;
pub use outstanding::Outstanding;
pub use round_trip::RoundTrip;

/// Nanoseconds on the clock of a control plane.
type Nanoseconds = i64;
