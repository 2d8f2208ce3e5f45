//! The system calls behind the loops: datagrams in batches, waiting, waking.
//!
//! A link is a UDP socket, where a datagram is a frame, or a network interface ([`Link`]).
//!
//! The one module with `unsafe` code. Everything it hands out is safe: buffers are owned, lengths
//! that the kernel reports are bounded by what it was given, descriptors close with their owner.
//!
//! Beside batches ([`BATCH`] messages a system call) there are *trains*: frames of one size that
//! follow each other to one peer cross the kernel as one piece (UDP segmentation offload), and
//! what comes in as a train stays one (receive offload). Nobody sees a difference but in time: a
//! train reads as its frames, and for a receiver that did not ask for trains the kernel cuts them.
#![allow(unsafe_code)]

mod cache;
mod interface;
mod link;
mod mapping;
mod packet;
mod poll;
mod receive;
mod send;
mod socket;
mod xdp;

use std::io;
use std::time::Duration;

pub use cache::prefetch;
pub use interface::Interface;
pub use link::{Carrier, Link, Plug, address};
pub use packet::Form;
pub use poll::{Poller, Waker, Watched};
pub use receive::Received;
pub use send::{Sender, Sent};
pub use socket::Socket;

/// Messages that one system call moves at most, and frames of a train.
pub const BATCH: usize = 64;
/// Bytes of the longest frame that a port takes.
pub const FRAME_LIMIT: usize = 2048;

fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Lets the timers of this thread fire when they are due. By default Linux lets them be 50 µs
/// late, which is more than the gap between two requests.
pub fn exact_timers() {
    // SAFETY: the call takes no pointers and concerns this thread only.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
}

/// The kernel's number of this thread.
pub fn thread_id() -> u32 {
    // SAFETY: the call takes no arguments and cannot fail.
    unsafe { libc::gettid() as u32 }
}

/// Time that a thread of this process has spent on a core; `None` if there is no such thread.
pub fn cpu_time(thread: u32) -> Option<Duration> {
    let text = std::fs::read_to_string(format!("/proc/self/task/{thread}/schedstat")).ok()?;
    text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

#[cfg(test)]
mod tests;
