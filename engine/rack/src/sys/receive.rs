//! Receiving frames from a socket, into buffers that the pipeline reads in place.

use std::io;
use std::iter::once;
use std::mem::{size_of, zeroed};
use std::ptr;

use super::call::checked;
use super::limits::{BATCH, FRAME_LIMIT};
use super::socket::Socket;

/// Bytes for one message: the longest train (the length of a UDP datagram has 16 bits), and some
/// more, so that the first bytes of the slots do not share a few sets of the processor's cache.
const SLOT: usize = (1 << 16) + 192;

/// Control message of the kernel: the size of the frames in a train.
#[repr(C)]
#[derive(Clone, Copy)]
struct Control {
    header: libc::cmsghdr,
    size: libc::c_int,
    _padding: libc::c_int,
}

/// A batch of received frames, in buffers that the next batch reuses.
pub struct Received {
    /// One slot per message. The kernel allocates zeroed pages when they are first written.
    bytes: Box<[u8]>,
    messages: Box<[libc::mmsghdr]>,
    controls: Box<[Control]>,
    /// Source addresses of the messages; requested only by sockets that learn their peer.
    names: Box<[libc::sockaddr_in]>,
    /// Lengths of the frames that were copied into the slots; `None` for a batch of datagrams.
    copied: Option<Vec<usize>>,
    /// The messages point into it; kept only so that it lives as long as they do.
    _vectors: Box<[libc::iovec]>,
    /// Messages in the current batch.
    count: usize,
    /// Maximum number of messages in the next batch, chosen so that a batch has about [`BATCH`]
    /// frames with and without trains.
    limit: usize,
}

// SAFETY: the raw pointers in `messages` and `_vectors` refer to heap memory that this value owns
// and that does not move with it; only the owner's thread uses it.
unsafe impl Send for Received {}

impl Default for Received {
    fn default() -> Self {
        let mut bytes = vec![0u8; BATCH * SLOT].into_boxed_slice();
        // SAFETY: all-zero is a valid control message: numbers only.
        let mut controls = vec![unsafe { zeroed::<Control>() }; BATCH].into_boxed_slice();
        // SAFETY: all-zero is a valid address: numbers only.
        let mut names = vec![unsafe { zeroed::<libc::sockaddr_in>() }; BATCH].into_boxed_slice();
        let mut vectors: Box<[libc::iovec]> = bytes
            .chunks_exact_mut(SLOT)
            .map(|slot| libc::iovec { iov_base: slot.as_mut_ptr().cast(), iov_len: SLOT })
            .collect();
        let messages = vectors
            .iter_mut()
            .zip(controls.iter_mut().zip(&mut names))
            .map(|(vector, (control, name))| {
                // SAFETY: all-zero is a valid mmsghdr: null pointers with length 0.
                let mut message: libc::mmsghdr = unsafe { zeroed() };
                message.msg_hdr.msg_iov = vector;
                message.msg_hdr.msg_iovlen = 1;
                message.msg_hdr.msg_control = ptr::from_mut(control).cast();
                message.msg_hdr.msg_name = ptr::from_mut(name).cast();
                message
            })
            .collect();
        Self {
            bytes,
            messages,
            controls,
            names,
            copied: None,
            _vectors: vectors,
            count: 0,
            limit: BATCH,
        }
    }
}

impl Received {
    /// Begins a batch of frames that are copied from a ring.
    pub(super) fn begin_copies(&mut self) {
        self.count = 0;
        self.copied.get_or_insert_default().clear();
    }

    /// Number of frames in the batch of copies.
    pub(super) fn copies(&self) -> usize {
        self.count
    }

    /// Calls `copy` to write one frame into the next slot. `copy` returns the length of the frame,
    /// more than [`FRAME_LIMIT`] if the frame does not fit. At most [`BATCH`] calls in a batch.
    pub(super) fn copy(&mut self, copy: impl FnOnce(&mut [u8]) -> usize) {
        let start = self.count * SLOT;
        let length = copy(&mut self.bytes[start..start + FRAME_LIMIT]);
        self.copied.get_or_insert_default().push(length);
        self.count += 1;
    }

    /// Receives a batch of datagrams; see [`super::Carrier::receive`].
    pub(super) fn datagrams(&mut self, socket: &Socket) -> io::Result<usize> {
        self.copied = None;
        self.count = 0;
        let name = if socket.learns() { size_of::<libc::sockaddr_in>() } else { 0 };
        for message in &mut self.messages[..self.limit] {
            message.msg_hdr.msg_controllen = size_of::<Control>() as _;
            message.msg_hdr.msg_namelen = name as _;
        }
        // SAFETY: every message describes one slot of `bytes` and one of `controls` and `names`
        // (see `default`), and nothing else borrows them during the call, as `self` is borrowed
        // mutably. `limit` is at most BATCH, the number of messages.
        let result = unsafe {
            libc::recvmmsg(
                socket.raw(),
                self.messages.as_mut_ptr(),
                self.limit as libc::c_uint,
                libc::MSG_DONTWAIT as _,
                ptr::null_mut(),
            )
        };
        match checked(result) {
            Ok(count) => self.count = count as usize,
            Err(error) => match error.raw_os_error() {
                Some(libc::EAGAIN | libc::EINTR | libc::ECONNREFUSED) => {}
                _ => return Err(error),
            },
        }
        if name > 0 && self.count > 0 {
            socket.learn(self.names[self.count - 1]);
        }
        let frames: usize =
            (0..self.count).map(|index| self.length(index).div_ceil(self.size(index)).max(1)).sum();
        // With trains a batch could have BATCH times as many frames, and other ports would wait.
        if frames > BATCH {
            self.limit = (self.count * BATCH / frames).max(1);
        } else if self.count == self.limit {
            self.limit = (2 * self.limit).min(BATCH);
        }
        Ok(frames)
    }

    /// Bytes of a message of the batch.
    fn length(&self, index: usize) -> usize {
        match &self.copied {
            Some(lengths) => lengths[index].min(SLOT),
            None => (self.messages[index].msg_len as usize).min(SLOT),
        }
    }

    /// Size of the frames in a message, in bytes, at least 1; the last frame may be shorter.
    fn size(&self, index: usize) -> usize {
        if self.copied.is_some() {
            return SLOT;
        }
        let (message, control) = (&self.messages[index].msg_hdr, &self.controls[index]);
        let is_train = message.msg_controllen >= size_of::<libc::cmsghdr>()
            && control.header.cmsg_level == libc::SOL_UDP
            && control.header.cmsg_type == libc::UDP_GRO;
        let size = if is_train { usize::try_from(control.size).unwrap_or(0) } else { SLOT };
        size.max(1)
    }

    /// The frames of the batch; `None` for one that is longer than [`FRAME_LIMIT`].
    pub fn frames(&self) -> impl Iterator<Item = Option<&[u8]>> {
        let slots = self.bytes.chunks_exact(SLOT);
        (0..self.count).zip(slots).flat_map(|(index, slot)| {
            let bytes = &slot[..self.length(index)];
            // An empty datagram is a frame, too; `chunks` would skip it.
            let empty = once(bytes).take(usize::from(bytes.is_empty()));
            let frames = empty.chain(bytes.chunks(self.size(index)));
            frames.map(|frame| (frame.len() <= FRAME_LIMIT).then_some(frame))
        })
    }
}
