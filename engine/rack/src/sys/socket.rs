//! The UDP socket of a switch port or a host.

use std::io;
use std::mem::size_of;
use std::net::{SocketAddrV4, UdpSocket};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use super::call::checked;
use crate::lock::lock;

/// Requested size of a receive buffer: some thousand frames, so that no frame of a burst is lost
/// while the receiving thread is not scheduled.
const RECEIVE_BUFFER: libc::c_int = 4 << 20;

/// A UDP socket that is bound to one address and connected to one peer. The kernel drops datagrams
/// from other addresses. A socket that learns its peer is not connected: it receives datagrams from
/// all addresses, and sends to the source of the last one.
pub struct Socket {
    pub(super) socket: UdpSocket,
    /// Whether to send frames of one size as a train.
    trains: AtomicBool,
    /// Source of the last datagram; `None` for a connected socket.
    learned: Option<Mutex<Option<libc::sockaddr_in>>>,
}

impl Socket {
    /// Binds and connects. An error is a sentence that begins with `owner` (e.g. "switch port 3").
    ///
    /// `trains` enables segmentation and receive offload, as far as the kernel supports them.
    pub fn open(
        owner: &str,
        bind: SocketAddrV4,
        peer: SocketAddrV4,
        trains: bool,
    ) -> io::Result<Self> {
        let socket = Self::bound(owner, bind)?;
        socket.connect(peer).map_err(|error| {
            io::Error::new(error.kind(), format!("{owner} cannot reach its peer {peer}: {error}"))
        })?;
        Self::prepared(Self { socket, trains: AtomicBool::new(trains), learned: None })
    }

    /// Binds without connecting: the socket sends to the source of the last datagram.
    pub fn open_to_any(owner: &str, bind: SocketAddrV4, trains: bool) -> io::Result<Self> {
        let socket = Self::bound(owner, bind)?;
        let learned = Some(Mutex::new(None));
        Self::prepared(Self { socket, trains: AtomicBool::new(trains), learned })
    }

    fn bound(owner: &str, bind: SocketAddrV4) -> io::Result<UdpSocket> {
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
        Ok(socket)
    }

    fn prepared(socket: Self) -> io::Result<Self> {
        // Exceeding the system's limit needs a capability; without it, use up to the limit.
        if socket.set_option(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, RECEIVE_BUFFER).is_err() {
            socket.set_option(libc::SOL_SOCKET, libc::SO_RCVBUF, RECEIVE_BUFFER)?;
        }
        if socket.trains() {
            // Without receive offload the kernel splits trains: slower, but the same frames.
            let _ = socket.set_option(libc::SOL_UDP, libc::UDP_GRO, 1);
        }
        Ok(socket)
    }

    /// Whether the socket learns its peer.
    pub(super) fn learns(&self) -> bool {
        self.learned.is_some()
    }

    /// The learned peer; `None` before the first datagram.
    pub(super) fn learned(&self) -> Option<libc::sockaddr_in> {
        self.learned.as_ref().and_then(|learned| *lock(learned))
    }

    pub(super) fn learn(&self, peer: libc::sockaddr_in) {
        if let Some(learned) = &self.learned {
            *lock(learned) = Some(peer);
        }
    }

    pub(super) fn raw(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// Whether to send trains.
    pub(super) fn trains(&self) -> bool {
        self.trains.load(Ordering::Relaxed)
    }

    /// Stops sending trains, after the kernel has refused one.
    pub(super) fn disable_trains(&self) {
        self.trains.store(false, Ordering::Relaxed);
    }

    pub(super) fn set_option(
        &self,
        level: libc::c_int,
        name: libc::c_int,
        value: libc::c_int,
    ) -> io::Result<()> {
        // SAFETY: the pointer and the length describe `value`, which outlives the call.
        checked(unsafe {
            libc::setsockopt(
                self.raw(),
                level,
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
                self.raw(),
                libc::SOL_SOCKET,
                libc::SO_MEMINFO,
                words.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        if result == 0 { u64::from(words[DROPS]) } else { 0 }
    }
}
