//! Signals between processes: descriptors that another process has created, such as eventfds.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;

use super::call::checked;
use super::poll::{Poller, Watched};

/// A descriptor through which this process signals another one.
pub struct Signal(File);

impl Signal {
    /// Takes the descriptor, which never blocks from now on.
    pub fn new(file: File) -> io::Result<Self> {
        set_nonblocking(&file)?;
        Ok(Self(file))
    }

    /// Sends the signal. If the other side has not taken the last ones, they stand for this one.
    pub fn raise(&self) {
        // The other side may be gone.
        let _ = (&self.0).write(&1u64.to_ne_bytes());
    }
}

/// A descriptor through which another process signals this one. A [`Poller`] watches it as long as
/// the value lives.
pub struct Kick {
    file: File,
    epoll: Arc<OwnedFd>,
}

impl Kick {
    /// Takes the descriptor; [`Poller::wait`] returns `token` after a signal.
    pub fn new(file: File, poller: &Poller, token: u64) -> io::Result<Self> {
        set_nonblocking(&file)?;
        poller.watch(&file, token)?;
        Ok(Self { file, epoll: poller.shared() })
    }

    /// Takes the signals that have come; false if the other side has closed the descriptor.
    pub fn take(&self) -> bool {
        let mut count = [0; size_of::<u64>()];
        match (&self.file).read(&mut count) {
            Ok(length) => length > 0,
            Err(error) => {
                matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
            }
        }
    }
}

impl Drop for Kick {
    fn drop(&mut self) {
        // The other process has the descriptor as well, so closing ours does not end the watch.
        // SAFETY: both descriptors are open, and removing one needs no event.
        unsafe {
            libc::epoll_ctl(
                self.epoll.as_raw_fd(),
                libc::EPOLL_CTL_DEL,
                self.file.as_raw_fd(),
                std::ptr::null_mut(),
            );
        }
    }
}

impl Watched for File {
    fn descriptor(&self) -> RawFd {
        self.as_raw_fd()
    }
}

impl Watched for UnixListener {
    fn descriptor(&self) -> RawFd {
        self.as_raw_fd()
    }
}

impl Watched for UnixStream {
    fn descriptor(&self) -> RawFd {
        self.as_raw_fd()
    }
}

fn set_nonblocking(file: &File) -> io::Result<()> {
    // SAFETY: the calls take no pointers.
    unsafe {
        let flags = checked(libc::fcntl(file.as_raw_fd(), libc::F_GETFL))?;
        checked(libc::fcntl(file.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK)).map(drop)
    }
}
