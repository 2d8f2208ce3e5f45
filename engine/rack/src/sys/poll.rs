//! Waiting for sockets (epoll), and waking a waiting thread (eventfd).

use std::io;
use std::mem::size_of;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use super::call::checked;
use super::limits::BATCH;
use super::socket::Socket;

/// Wakes a thread that waits in a [`Poller`].
pub struct Waker(OwnedFd);

impl Waker {
    /// A waker without a pending wake-up.
    pub fn new() -> io::Result<Self> {
        // SAFETY: the call takes no pointers; a descriptor that it returns is ours alone.
        unsafe {
            let fd = checked(libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK))?;
            Ok(Self(OwnedFd::from_raw_fd(fd)))
        }
    }

    /// Ends the present wait of the thread, or its next one if it is not waiting.
    pub fn wake(&self) {
        let one = 1u64;
        // SAFETY: the pointer and the length describe `one`. A counter at its limit refuses the
        // write, but then the thread is awake anyway.
        unsafe { libc::write(self.0.as_raw_fd(), (&raw const one).cast(), size_of::<u64>()) };
    }

    /// Removes the wake-up. The woken thread calls it before it waits again.
    pub fn clear(&self) {
        let mut count = 0u64;
        // SAFETY: the pointer and the length describe `count`.
        unsafe { libc::read(self.0.as_raw_fd(), (&raw mut count).cast(), size_of::<u64>()) };
    }
}

/// An object with a descriptor that a [`Poller`] can watch.
pub trait Watched {
    /// Its descriptor.
    fn descriptor(&self) -> RawFd;
}

impl Watched for Socket {
    fn descriptor(&self) -> RawFd {
        self.raw()
    }
}

impl Watched for TcpListener {
    fn descriptor(&self) -> RawFd {
        self.as_raw_fd()
    }
}

impl Watched for TcpStream {
    fn descriptor(&self) -> RawFd {
        self.as_raw_fd()
    }
}

impl Watched for Waker {
    fn descriptor(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// A change of a descriptor: what it is ready for now.
#[derive(Debug, Clone, Copy)]
pub struct Ready {
    /// As given to [`Poller::watch_changes`], or to [`Poller::watch`].
    pub token: u64,
    /// There is something to read, an end or an error included.
    pub readable: bool,
    /// There is room to write.
    pub writable: bool,
    /// The other side sends no more.
    pub hung_up: bool,
    /// The connection is broken.
    pub failed: bool,
}

/// Waits for many descriptors at once (epoll).
pub struct Poller {
    epoll: Arc<OwnedFd>,
    events: Box<[libc::epoll_event; BATCH]>,
    /// Whether the kernel has `epoll_pwait2`, as far as is known.
    pub(super) exact: bool,
}

impl Poller {
    /// A poller that watches nothing.
    pub fn new() -> io::Result<Self> {
        // SAFETY: the call takes no pointers; a descriptor that it returns is ours alone.
        let epoll =
            unsafe { OwnedFd::from_raw_fd(checked(libc::epoll_create1(libc::EPOLL_CLOEXEC))?) };
        let epoll = Arc::new(epoll);
        let events = Box::new([libc::epoll_event { events: 0, u64: 0 }; BATCH]);
        Ok(Self { epoll, events, exact: true })
    }

    /// The descriptor, for those who end their watch themselves.
    pub(super) fn shared(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.epoll)
    }

    /// Watches whether `what` is readable; [`Poller::wait`] then returns `token`.
    ///
    /// A closed descriptor is no longer watched.
    pub fn watch(&self, what: &(impl Watched + ?Sized), token: u64) -> io::Result<()> {
        self.add(what, token, libc::EPOLLIN as u32)
    }

    /// As [`Poller::watch`], for a descriptor that pollers of several threads watch: the kernel
    /// does not wake all waiting threads.
    pub fn watch_with_others(&self, what: &impl Watched, token: u64) -> io::Result<()> {
        self.add(what, token, (libc::EPOLLIN | libc::EPOLLEXCLUSIVE) as u32)
    }

    /// Watches for changes of what a descriptor is ready for; [`Poller::wait_for_changes`] reports
    /// each of them once.
    pub fn watch_changes(&self, what: &impl Watched, token: u64) -> io::Result<()> {
        let events = libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET;
        self.add(what, token, events as u32)
    }

    fn add(&self, what: &(impl Watched + ?Sized), token: u64, events: u32) -> io::Result<()> {
        let mut event = libc::epoll_event { events, u64: token };
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

    /// Waits until a watched descriptor is readable or the time has passed (`None`: without limit).
    /// Returns the tokens of readable descriptors, or none after the time or a signal.
    pub fn wait(
        &mut self,
        timeout: Option<Duration>,
    ) -> io::Result<impl Iterator<Item = u64> + use<'_>> {
        Ok(self.events(timeout)?.iter().map(|event| event.u64))
    }

    /// As [`Poller::wait`], with what the descriptors are ready for.
    pub fn wait_for_changes(
        &mut self,
        timeout: Option<Duration>,
    ) -> io::Result<impl Iterator<Item = Ready> + use<'_>> {
        Ok(self.events(timeout)?.iter().map(|event| {
            let any = |flags: libc::c_int| event.events & flags as u32 != 0;
            Ready {
                token: event.u64,
                readable: any(libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLHUP),
                writable: any(libc::EPOLLOUT),
                hung_up: any(libc::EPOLLRDHUP | libc::EPOLLHUP),
                failed: any(libc::EPOLLERR),
            }
        }))
    }

    fn events(&mut self, timeout: Option<Duration>) -> io::Result<&[libc::epoll_event]> {
        let limit = timeout.map(|timeout| libc::timespec {
            tv_sec: timeout.as_secs().min(1 << 30) as libc::time_t,
            tv_nsec: libc::c_long::from(timeout.subsec_nanos()),
        });
        let limit = limit.as_ref().map_or(ptr::null(), ptr::from_ref);
        let mut result = match self.exact {
            true => self.wait_once(limit),
            false => self.wait_twice(limit),
        };
        if self.exact && result.as_ref().is_err_and(|it| it.raw_os_error() == Some(libc::ENOSYS)) {
            self.exact = false;
            result = self.wait_twice(limit);
        }
        let count = match result {
            Ok(count) => count as usize,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            Err(error) => return Err(error),
        };
        Ok(&self.events[..count])
    }

    fn wait_once(&mut self, limit: *const libc::timespec) -> io::Result<libc::c_int> {
        // SAFETY: `events` has room for BATCH events; `limit` is null or points to a value of the
        // caller; a null signal mask leaves the mask alone.
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
        checked(result as libc::c_int)
    }

    /// Without the call of Linux 5.11, whose time limit is as exact as that of `ppoll`: waits for
    /// the poller itself, then asks it without waiting.
    fn wait_twice(&mut self, limit: *const libc::timespec) -> io::Result<libc::c_int> {
        let mut poller =
            libc::pollfd { fd: self.epoll.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: `poller` outlives the call; `limit` as in `wait_once`.
        checked(unsafe { libc::ppoll(&raw mut poller, 1, limit, ptr::null()) })?;
        let room = self.events.as_mut_ptr();
        // SAFETY: `events` has room for BATCH events.
        checked(unsafe { libc::epoll_wait(poller.fd, room, BATCH as libc::c_int, 0) })
    }
}
