//! Sending frames to a socket, directly from the buffer that contains them.

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::RawFd;
use std::ptr;

use super::call::checked;
use super::limits::BATCH;
use super::socket::Socket;

/// Bytes of the longest train: the maximum payload of a UDP datagram.
const TRAIN_BYTES: usize = 65_507;
/// Maximum number of I/O vectors in one system call.
const VECTORS: usize = 4 * BATCH;

/// Counts of a call of [`super::Carrier::transmit`].
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// Frames that the kernel accepted.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Frames that the kernel refused, because a buffer is full or the peer's port is closed.
    pub dropped: u64,
}

/// Control message to the kernel: the size of the frames in a train.
#[repr(C)]
#[derive(Clone, Copy)]
struct Control {
    header: libc::cmsghdr,
    size: u16,
    _padding: [u16; 3],
}

/// A message of a system call: one frame, or several of one size (the last may be shorter).
#[derive(Clone, Copy)]
struct Train {
    frames: usize,
    bytes: usize,
}

/// Sends frames in batches. It reuses the memory of its arguments to system calls.
pub struct Sender {
    vectors: Box<[libc::iovec]>,
    controls: Box<[Control]>,
    messages: Box<[libc::mmsghdr]>,
    trains: Vec<Train>,
    /// Destination of the messages, if the socket is not connected.
    name: libc::sockaddr_in,
}

// SAFETY: the raw pointers in `vectors` and `messages` are used only by the system call for which
// `describe` has just set them, under the one borrow of `self` in `all`.
unsafe impl Send for Sender {}

impl Default for Sender {
    fn default() -> Self {
        // SAFETY: all-zero is a valid iovec, control message, mmsghdr and address: null pointers
        // with length 0, and numbers.
        let (vector, control, message, name) = unsafe { (zeroed(), zeroed(), zeroed(), zeroed()) };
        Self {
            vectors: vec![vector; VECTORS].into_boxed_slice(),
            controls: vec![control; BATCH].into_boxed_slice(),
            messages: vec![message; BATCH].into_boxed_slice(),
            trains: Vec::with_capacity(BATCH),
            name,
        }
    }
}

impl Sender {
    /// Sends datagrams; see [`super::Carrier::transmit`].
    pub(super) fn datagrams(
        &mut self,
        socket: &Socket,
        bytes: &[u8],
        frames: &[(usize, usize)],
    ) -> Sent {
        let named = match (socket.learns(), socket.learned()) {
            (false, _) => false,
            (true, Some(peer)) => {
                self.name = peer;
                true
            }
            // The socket has not learned its peer yet.
            (true, None) => return Sent { dropped: frames.len() as u64, ..Sent::default() },
        };
        self.all(socket.raw(), bytes, frames, Some(socket), named)
    }

    /// Sends each frame as one message. The socket has a destination.
    pub(super) fn messages(
        &mut self,
        socket: RawFd,
        bytes: &[u8],
        frames: &[(usize, usize)],
    ) -> Sent {
        self.all(socket, bytes, frames, None, false)
    }

    fn all(
        &mut self,
        descriptor: RawFd,
        bytes: &[u8],
        frames: &[(usize, usize)],
        trains: Option<&Socket>,
        named: bool,
    ) -> Sent {
        let mut sent = Sent::default();
        let mut rest = frames;
        while !rest.is_empty() {
            self.describe(bytes, rest, trains.is_some_and(Socket::trains), named);
            // SAFETY: `describe` has set the first `trains.len()` messages, at most BATCH, to
            // point into `vectors`, `controls` and `name`, and those vectors into `bytes`; all
            // outlive the call, and the kernel only reads them (but for the messages' own lengths).
            let result = unsafe {
                libc::sendmmsg(
                    descriptor,
                    self.messages.as_mut_ptr(),
                    self.trains.len() as libc::c_uint,
                    libc::MSG_DONTWAIT as _,
                )
            };
            let done = match checked(result) {
                Ok(count) => {
                    let taken = &self.trains[..count as usize];
                    let done = taken.iter().map(|train| train.frames).sum();
                    sent.frames += done as u64;
                    sent.bytes += taken.iter().map(|train| train.bytes as u64).sum::<u64>();
                    done
                }
                Err(error) => {
                    let frames_to_drop = frames_to_drop(&error, self.trains[0], trains);
                    sent.dropped += frames_to_drop as u64;
                    frames_to_drop
                }
            };
            rest = &rest[done..];
        }
        sent
    }

    /// Sets up the messages of the next system call, with as many of the frames as fit.
    fn describe(&mut self, bytes: &[u8], frames: &[(usize, usize)], trains: bool, named: bool) {
        let name = &raw mut self.name;
        let longest = if trains { BATCH } else { 1 };
        let mut rest = frames;
        let mut used = 0;
        self.trains.clear();
        while !rest.is_empty() && self.trains.len() < BATCH && used < VECTORS {
            let at = self.trains.len();
            let size = rest[0].1 - rest[0].0;
            let (mut train, first, mut before) = (Train { frames: 0, bytes: 0 }, used, None);
            for &(start, end) in rest.iter().take(longest) {
                let frame = &bytes[start..end];
                let fits = !frame.is_empty()
                    && frame.len() <= size
                    && train.bytes + frame.len() <= TRAIN_BYTES;
                if train.frames > 0 && !fits {
                    break;
                }
                if before == Some(start) {
                    self.vectors[used - 1].iov_len += frame.len();
                } else if used < VECTORS {
                    // The pointer is valid up to the end of `bytes`: the next frame may extend it.
                    self.vectors[used] = libc::iovec {
                        iov_base: bytes[start..].as_ptr().cast_mut().cast(),
                        iov_len: frame.len(),
                    };
                    used += 1;
                } else {
                    break;
                }
                before = Some(end);
                train.frames += 1;
                train.bytes += frame.len();
                if frame.len() < size {
                    break;
                }
            }
            let message = &mut self.messages[at].msg_hdr;
            message.msg_name = if named { name.cast() } else { ptr::null_mut() };
            message.msg_namelen = if named { size_of::<libc::sockaddr_in>() as _ } else { 0 };
            message.msg_iov = &raw mut self.vectors[first];
            message.msg_iovlen = (used - first) as _;
            if train.frames > 1 {
                let control = &mut self.controls[at];
                control.header.cmsg_level = libc::SOL_UDP;
                control.header.cmsg_type = libc::UDP_SEGMENT;
                control.header.cmsg_len = (size_of::<libc::cmsghdr>() + size_of::<u16>()) as _;
                control.size = size as u16; // a train is no longer than TRAIN_BYTES
                message.msg_control = ptr::from_mut(control).cast();
                message.msg_controllen = size_of::<Control>() as _;
            } else {
                message.msg_control = ptr::null_mut();
                message.msg_controllen = 0;
            }
            self.trains.push(train);
            rest = &rest[train.frames..];
        }
    }
}

/// Number of frames to drop after the kernel has refused the first message. The others are retried.
fn frames_to_drop(error: &io::Error, first: Train, trains: Option<&Socket>) -> usize {
    match error.raw_os_error() {
        // The device does not support trains, or none of such frames: retry with single frames.
        Some(libc::EINVAL | libc::EIO | libc::EMSGSIZE | libc::EOPNOTSUPP) if first.frames > 1 => {
            if let Some(socket) = trains {
                socket.disable_trains();
            }
            0
        }
        // The call reports an ICMP error about an earlier frame.
        Some(libc::ECONNREFUSED) => 1,
        _ => first.frames,
    }
}
