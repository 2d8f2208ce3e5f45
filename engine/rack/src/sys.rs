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
mod interface;
mod lend;
mod link;
mod mapping;
mod packet;
mod poll;
mod receive;
mod send;
mod signal;
mod socket;
mod tap;
mod xdp;

use std::io;
use std::time::Duration;

pub use cache::prefetch;
pub use interface::Interface;
pub use lend::Lent;
pub use link::{Carrier, Link, Plug, address};
pub use mapping::Mapping;
pub use packet::Form;
pub use poll::{Poller, Ready, Waker, Watched};
pub use receive::Received;
pub use send::{Sender, Sent};
pub use signal::{Kick, Signal};
pub use socket::Socket;

/// Maximum number of messages in one system call, and of frames in a train.
pub const BATCH: usize = 64;
/// Maximum length of a frame that a port accepts, in bytes.
pub const FRAME_LIMIT: usize = 2048;

fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Sets the timer slack of this thread to 1 ns. Linux's default of 50 µs is longer than the gap
/// between two requests.
pub fn exact_timers() {
    // SAFETY: the call takes no pointers and concerns this thread only.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
}

/// The kernel's id of this thread.
pub fn thread_id() -> u32 {
    // SAFETY: the call takes no arguments and cannot fail.
    unsafe { libc::gettid() as u32 }
}

/// Processor time of a thread of this process; `None` if there is no such thread.
pub fn cpu_time(thread: u32) -> Option<Duration> {
    let text = std::fs::read_to_string(format!("/proc/self/task/{thread}/schedstat")).ok()?;
    text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

#[cfg(test)]
mod tests;
