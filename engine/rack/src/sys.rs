//! The system calls of the nodes: sending and receiving datagrams in batches, waiting, waking.
//!
//! A link is a UDP socket, where a datagram is a frame, a network interface, or a TAP device
//! ([`Link`]).
//!
//! This is the only module with `unsafe` code. Its interface is safe: buffers are owned, lengths
//! that the kernel reports are bounded by the size of the buffer, descriptors close with their
//! owner.
//!
//! One system call moves a batch of up to [`BATCH`] messages. A message is one frame or a *train*:
//! consecutive frames of one size to one peer, which cross the kernel as one datagram (UDP
//! segmentation offload, UDP receive offload). Trains change nothing but speed: a receiver gets
//! single frames. If the receiving socket has not enabled receive offload, the kernel splits them.
#![allow(unsafe_code)]

mod cache;
mod call;
mod interface;
mod lend;
mod limits;
mod link;
mod mapping;
mod packet;
mod poll;
mod receive;
mod send;
mod signal;
mod socket;
mod tap;
mod thread;
mod xdp;

pub use cache::prefetch;
pub use interface::Interface;
pub use lend::Lent;
pub use limits::{BATCH, FRAME_LIMIT};
pub use link::{Carrier, Link, Plug, address};
pub use mapping::Mapping;
pub use packet::Form;
pub use poll::{Poller, Ready, Waker, Watched};
pub use receive::Received;
pub use send::{Sender, Sent};
pub use signal::{Kick, Signal};
pub use socket::Socket;
pub use thread::{cpu_time, exact_timers, thread_id};

#[cfg(test)]
mod tests;
