//! The system calls behind the loops: datagrams in batches, waiting, waking.
//!
//! The one module with `unsafe` code. Everything it hands out is safe: buffers are owned, lengths
//! that the kernel reports are bounded by what it was given, descriptors close with their owner.
#![allow(unsafe_code)]

use std::io;
use std::mem::{size_of, zeroed};
use std::net::{SocketAddrV4, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::time::Duration;

/// Datagrams that one system call moves at most.
pub const BATCH: usize = 64;
/// Bytes of the longest frame that a port takes.
pub const FRAME_LIMIT: usize = 2048;
/// Bytes asked for a socket's receive buffer: some thousand frames, so that a burst is not lost
/// while the other side is not scheduled.
const RECEIVE_BUFFER: libc::c_int = 4 << 20;
/// One byte more than a frame may have, so that a longer one is seen to be longer.
const SLOT: usize = FRAME_LIMIT + 1;

fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// A UDP socket between one address here and one peer; the kernel keeps everyone else out.
pub struct Socket(UdpSocket);

impl Socket {
    /// Binds and connects. The error is a sentence that `owner` (e.g. "switch port 3") starts.
    pub fn open(owner: &str, bind: SocketAddrV4, peer: SocketAddrV4) -> io::Result<Self> {
        let socket = UdpSocket::bind(bind).map_err(|error| {
            let why = match error.kind() {
                io::ErrorKind::AddrInUse => format!(
                    "{owner} cannot use {bind}: the UDP port is in use by another process; \
                     stop it or choose another port"
                ),
                _ => format!("{owner} cannot use {bind}: {error}"),
            };
            io::Error::new(error.kind(), why)
        })?;
        socket.set_nonblocking(true)?;
        socket.connect(peer).map_err(|error| {
            io::Error::new(error.kind(), format!("{owner} cannot reach its peer {peer}: {error}"))
        })?;
        let socket = Self(socket);
        // Beyond the system's limit only with a capability; without it up to the limit.
        if socket.set_option(libc::SO_RCVBUFFORCE, RECEIVE_BUFFER).is_err() {
            socket.set_option(libc::SO_RCVBUF, RECEIVE_BUFFER)?;
        }
        Ok(socket)
    }

    fn set_option(&self, name: libc::c_int, value: libc::c_int) -> io::Result<()> {
        // SAFETY: the pointer and the length describe `value`, which outlives the call.
        checked(unsafe {
            libc::setsockopt(
                self.0.as_raw_fd(),
                libc::SOL_SOCKET,
                name,
                (&raw const value).cast(),
                size_of::<libc::c_int>() as libc::socklen_t,
            )
        })
        .map(drop)
    }

    /// Datagrams that the kernel dropped since the socket was opened because its buffer was full.
    pub fn receive_drops(&self) -> u64 {
        /// Words of `SO_MEMINFO`, and the one that counts drops (linux/sock_diag.h).
        const WORDS: usize = 9;
        const DROPS: usize = 8;
        let mut words = [0u32; WORDS];
        let mut length = size_of::<[u32; WORDS]>() as libc::socklen_t;
        // SAFETY: the pointer and `length` describe `words`; the kernel writes no more than that.
        let result = unsafe {
            libc::getsockopt(
                self.0.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_MEMINFO,
                words.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        if result == 0 { u64::from(words[DROPS]) } else { 0 }
    }
}

/// Frames just received, in buffers that are used again for the next batch.
pub struct Received {
    bytes: Box<[u8]>,
    messages: Box<[libc::mmsghdr]>,
    /// The messages point into it; held for its lifetime only.
    _vectors: Box<[libc::iovec]>,
    count: usize,
}

// SAFETY: the raw pointers in `messages` and `_vectors` go to heap memory that this value owns
// and that does not move with it; no thread but the owner's touches it.
unsafe impl Send for Received {}

impl Default for Received {
    fn default() -> Self {
        let mut bytes = vec![0u8; BATCH * SLOT].into_boxed_slice();
        let mut vectors: Box<[libc::iovec]> = bytes
            .chunks_exact_mut(SLOT)
            .map(|slot| libc::iovec { iov_base: slot.as_mut_ptr().cast(), iov_len: SLOT })
            .collect();
        let messages = vectors
            .iter_mut()
            .map(|vector| {
                // SAFETY: all-zero is a valid mmsghdr: null pointers with length 0.
                let mut message: libc::mmsghdr = unsafe { zeroed() };
                message.msg_hdr.msg_iov = vector;
                message.msg_hdr.msg_iovlen = 1;
                message
            })
            .collect();
        Self { bytes, messages, _vectors: vectors, count: 0 }
    }
}

impl Received {
    /// Takes what waits at the socket, up to [`BATCH`] frames; returns how many there are now.
    ///
    /// Nothing waiting is 0, not an error. That the peer is gone (the kernel tells by the next
    /// call) is no error either: it may come back.
    pub fn fill(&mut self, socket: &Socket) -> io::Result<usize> {
        self.count = 0;
        // SAFETY: every message describes one slot of `bytes` (see `default`), and nothing else
        // borrows `bytes` during the call, as `self` is borrowed mutably.
        let result = unsafe {
            libc::recvmmsg(
                socket.0.as_raw_fd(),
                self.messages.as_mut_ptr(),
                BATCH as libc::c_uint,
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
        Ok(self.count)
    }

    /// The frames of the batch; `None` for one that is longer than [`FRAME_LIMIT`].
    pub fn frames(&self) -> impl Iterator<Item = Option<&[u8]>> {
        let slots = self.bytes.chunks_exact(SLOT);
        self.messages[..self.count].iter().zip(slots).map(|(message, slot)| {
            let length = message.msg_len as usize;
            (length <= FRAME_LIMIT).then(|| &slot[..length])
        })
    }
}

/// What became of frames that were to be sent.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// Frames that the kernel took.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Frames that it did not take: buffer full, or the peer is gone.
    pub dropped: u64,
}

/// Frames gathered for one socket.
#[derive(Default)]
pub struct Outgoing {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Outgoing {
    /// Adds a frame.
    pub fn push(&mut self, frame: &[u8]) {
        self.bytes.extend_from_slice(frame);
        self.ends.push(self.bytes.len());
    }

    /// Frames gathered since the last [`Outgoing::flush`].
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True if there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Sends everything; what the kernel refuses is dropped, as on a full link.
    pub fn flush(&mut self, socket: &Socket) -> Sent {
        let mut sent = Sent::default();
        let mut start = 0;
        let mut done = 0;
        // SAFETY: all-zero is a valid iovec and mmsghdr.
        let mut vectors: [libc::iovec; BATCH] = unsafe { zeroed() };
        let mut messages: [libc::mmsghdr; BATCH] = unsafe { zeroed() };
        while done < self.ends.len() {
            let ends = &self.ends[done..self.ends.len().min(done + BATCH)];
            let mut from = start;
            for ((vector, message), &end) in vectors.iter_mut().zip(&mut messages).zip(ends) {
                // The kernel only reads what a message to be sent points to.
                vector.iov_base = self.bytes[from..end].as_ptr().cast_mut().cast();
                vector.iov_len = end - from;
                message.msg_hdr.msg_iov = vector;
                message.msg_hdr.msg_iovlen = 1;
                from = end;
            }
            // SAFETY: the first `ends.len()` messages describe slices of `bytes` through
            // `vectors`; all three outlive the call and are not changed during it.
            let result = unsafe {
                libc::sendmmsg(
                    socket.0.as_raw_fd(),
                    messages.as_mut_ptr(),
                    ends.len() as libc::c_uint,
                    libc::MSG_DONTWAIT as _,
                )
            };
            // On an error the first frame is given up and the rest tried again: an error may be
            // an old one (an ICMP message about an earlier frame) that the call only reports.
            let taken = match result {
                ..=0 => {
                    sent.dropped += 1;
                    1
                }
                count => {
                    sent.frames += count as u64;
                    sent.bytes += (ends[count as usize - 1] - start) as u64;
                    count as usize
                }
            };
            start = ends[taken - 1];
            done += taken;
        }
        self.bytes.clear();
        self.ends.clear();
        sent
    }
}

/// Wakes a thread that waits in a [`Poller`].
pub struct Waker(OwnedFd);

impl Waker {
    /// A waker that nobody has used yet.
    pub fn new() -> io::Result<Self> {
        // SAFETY: the call takes no pointers; a descriptor that it returns is ours alone.
        unsafe {
            let fd = checked(libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK))?;
            Ok(Self(OwnedFd::from_raw_fd(fd)))
        }
    }

    /// Makes the waiting thread return, or its next wait if it does not wait now.
    pub fn wake(&self) {
        let one = 1u64;
        // SAFETY: the pointer and the length describe `one`. A counter at its limit refuses the
        // write, but then the thread is awake anyway.
        unsafe { libc::write(self.0.as_raw_fd(), (&raw const one).cast(), size_of::<u64>()) };
    }

    /// Called by the woken thread: the next wait waits again.
    pub fn clear(&self) {
        let mut count = 0u64;
        // SAFETY: the pointer and the length describe `count`.
        unsafe { libc::read(self.0.as_raw_fd(), (&raw mut count).cast(), size_of::<u64>()) };
    }
}

/// Something a [`Poller`] can watch.
pub trait Watched {
    /// Its descriptor.
    fn descriptor(&self) -> RawFd;
}

impl Watched for Socket {
    fn descriptor(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

impl Watched for Waker {
    fn descriptor(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// Waits for many descriptors at once (epoll).
pub struct Poller {
    epoll: OwnedFd,
    events: Box<[libc::epoll_event; BATCH]>,
}

impl Poller {
    /// A poller that watches nothing.
    pub fn new() -> io::Result<Self> {
        // SAFETY: the call takes no pointers; a descriptor that it returns is ours alone.
        let epoll =
            unsafe { OwnedFd::from_raw_fd(checked(libc::epoll_create1(libc::EPOLL_CLOEXEC))?) };
        Ok(Self { epoll, events: Box::new([libc::epoll_event { events: 0, u64: 0 }; BATCH]) })
    }

    /// Watches `what` for something to read; `token` names it in what [`Poller::wait`] returns.
    ///
    /// A descriptor that closes leaves by itself.
    pub fn watch(&self, what: &impl Watched, token: u64) -> io::Result<()> {
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: token };
        // SAFETY: `event` outlives the call, which copies it.
        checked(unsafe {
            libc::epoll_ctl(
                self.epoll.as_raw_fd(),
                libc::EPOLL_CTL_ADD,
                what.descriptor(),
                &raw mut event,
            )
        })
        .map(drop)
    }

    /// Waits until something can be read or the time has passed (`None`: without limit); returns
    /// the tokens of what can be read. A signal counts as time passed.
    pub fn wait(
        &mut self,
        timeout: Option<Duration>,
    ) -> io::Result<impl Iterator<Item = u64> + use<'_>> {
        let limit = timeout.map(|timeout| libc::timespec {
            tv_sec: timeout.as_secs().min(1 << 30) as libc::time_t,
            tv_nsec: libc::c_long::from(timeout.subsec_nanos()),
        });
        let limit = limit.as_ref().map_or(ptr::null(), ptr::from_ref);
        // SAFETY: `events` has room for BATCH events; `limit` is null or points to a value that
        // outlives the call; a null signal mask leaves the mask alone.
        let result = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.epoll.as_raw_fd(),
                self.events.as_mut_ptr(),
                BATCH as libc::c_int,
                limit,
                ptr::null::<libc::sigset_t>(),
                0usize,
            )
        };
        let count = match checked(result as libc::c_int) {
            Ok(count) => count as usize,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            Err(error) => return Err(error),
        };
        Ok(self.events[..count].iter().map(|event| event.u64))
    }
}

/// Lets the timers of this thread fire when they are due. By default Linux lets them be 50 µs
/// late, which is more than the gap between two requests.
pub fn exact_timers() {
    // SAFETY: the call takes no pointers and concerns this thread only.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
}

/// CPU time that this thread has used.
pub fn thread_cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` outlives the call.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(test)]
mod tests;
