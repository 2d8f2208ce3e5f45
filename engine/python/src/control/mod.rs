//! Parts of control planes that work on each message: the numbers, timeouts and frames of requests
//! without a reply. They have no clock and no I/O, like the control planes in Python that use them.

mod message_numbers;
mod nanoseconds;
mod outstanding;
mod round_trip;
mod send_frame;

pub use message_numbers::MessageNumbers;
pub use outstanding::Outstanding;
pub use round_trip::RoundTrip;
pub use send_frame::send_frame;
