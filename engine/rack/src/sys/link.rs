//! Links of ports and nodes: a UDP socket, a network interface, or a TAP device.

use std::io;
use std::net::SocketAddrV4;
use std::os::fd::RawFd;

use super::interface::Interface;
use super::packet::{Form, PacketSocket};
use super::poll::Watched;
use super::receive::Received;
use super::send::{Sender, Sent};
use super::socket::Socket;
use super::tap::TapDevice;
use super::xdp::XdpSocket;

/// The configuration of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plug {
    /// A UDP socket; a datagram is a frame.
    Datagrams {
        /// The socket's own address.
        bind: SocketAddrV4,
        /// The address of the peer; `None`: the source of the last datagram.
        peer: Option<SocketAddrV4>,
        /// Whether to use segmentation and receive offload (see [`crate::sys`]).
        trains: bool,
    },
    /// A network interface through a ring of an `AF_PACKET` socket.
    Packets {
        /// The interface.
        interface: Interface,
        /// Form of the ring.
        form: Form,
    },
    /// A network interface through the rings of an `AF_XDP` socket.
    Xdp {
        /// The interface.
        interface: Interface,
    },
    /// A TAP device, which is created if it does not exist.
    Tap {
        /// The device.
        interface: Interface,
    },
}

impl Plug {
    /// A UDP socket, connected to one peer.
    pub fn datagrams(bind: SocketAddrV4, peer: SocketAddrV4, trains: bool) -> Self {
        Self::Datagrams { bind, peer: Some(peer), trains }
    }

    /// Parses the two words of a configuration: a UDP address and the address of the peer (or
    /// `any`), or a ring (`xdp`, `packet`, `packet-v3`) or `tap` and an interface.
    ///
    /// # Errors
    ///
    /// A sentence about the invalid word. It names the `owner` of the link (e.g. "switch port 3").
    pub fn parse(owner: &str, first: &str, second: &str, trains: bool) -> Result<Self, String> {
        let around: fn(Interface) -> Self = match first {
            "xdp" => |interface| Self::Xdp { interface },
            "packet" => |interface| Self::Packets { interface, form: Form::Frames },
            "packet-v3" => |interface| Self::Packets { interface, form: Form::Blocks },
            "tap" => |interface| Self::Tap { interface },
            _ => {
                let bind = address(first, owner)?;
                let peer = match second {
                    "any" => None,
                    _ => Some(address(second, &format!("the peer of {owner}"))?),
                };
                return Ok(Self::Datagrams { bind, peer, trains });
            }
        };
        Interface::parse(second).map(around).map_err(|text| format!("{owner}: {text}."))
    }
}

/// Parses an address like 127.0.0.1:7000; the error is a sentence.
pub fn address(text: &str, what: &str) -> Result<SocketAddrV4, String> {
    text.parse().map_err(|_| {
        format!("'{text}' is not a valid address of {what}; an example is 127.0.0.1:7000.")
    })
}

/// An open link.
#[expect(clippy::large_enum_variant, reason = "a node has one for each port and never copies it")]
pub enum Link {
    /// See [`Plug::Datagrams`].
    Datagrams(Socket),
    /// See [`Plug::Packets`].
    Packets(PacketSocket),
    /// See [`Plug::Xdp`].
    Xdp(XdpSocket),
    /// See [`Plug::Tap`].
    Tap(TapDevice),
}

impl Link {
    /// Opens the link. An error is a sentence that begins with `owner` (e.g. "switch port 3").
    pub fn open(owner: &str, plug: &Plug) -> io::Result<Self> {
        match plug {
            &Plug::Datagrams { bind, peer: Some(peer), trains } => {
                Socket::open(owner, bind, peer, trains).map(Self::Datagrams)
            }
            &Plug::Datagrams { bind, peer: None, trains } => {
                Socket::open_to_any(owner, bind, trains).map(Self::Datagrams)
            }
            Plug::Packets { interface, form } => PacketSocket::open(interface, *form)
                .map(Self::Packets)
                .map_err(|error| unusable(owner, interface, &error)),
            Plug::Xdp { interface } => XdpSocket::open(interface)
                .map(Self::Xdp)
                .map_err(|error| unusable(owner, interface, &without_xdp(error))),
            Plug::Tap { interface } => TapDevice::open(interface)
                .map(Self::Tap)
                .map_err(|error| unusable(owner, interface, &without_tap(error))),
        }
    }

    /// Opens the link that two words of a configuration describe ([`Plug::parse`]).
    pub fn described(owner: &str, first: &str, second: &str) -> io::Result<Self> {
        let plug = Plug::parse(owner, first, second, true)
            .map_err(|text| io::Error::new(io::ErrorKind::InvalidInput, text))?;
        Self::open(owner, &plug)
    }

    /// Received frames without a checksum, because the sender offloads checksums to a network card.
    /// XDP does not report this.
    pub fn unsummed(&self) -> u64 {
        match self {
            Self::Packets(socket) => socket.unsummed(),
            Self::Datagrams(_) | Self::Xdp(_) | Self::Tap(_) => 0,
        }
    }

    /// Frames that the kernel dropped since the link was opened because its buffer was full.
    pub fn receive_drops(&self) -> u64 {
        match self {
            Self::Datagrams(socket) => socket.receive_drops(),
            Self::Packets(socket) => socket.receive_drops(),
            Self::Xdp(socket) => socket.receive_drops(),
            // The device counts them; see `ip -s link`.
            Self::Tap(_) => 0,
        }
    }
}

/// An error with a sentence: the interface cannot be used, why, and a remedy.
fn unusable(owner: &str, interface: &Interface, error: &io::Error) -> io::Error {
    let why = if error.kind() == io::ErrorKind::PermissionDenied {
        "network interfaces are for root (CAP_NET_RAW and CAP_NET_ADMIN); run it with sudo, or \
         use a UDP port in its place"
            .to_owned()
    } else {
        error.to_string()
    };
    let text = format!("{owner} cannot use the interface {interface}: {why}");
    io::Error::new(error.kind(), text)
}

/// The kernel's error, with its meaning for `AF_XDP`.
fn without_xdp(error: io::Error) -> io::Error {
    let why = match error.raw_os_error() {
        Some(libc::EAFNOSUPPORT | libc::ENOSYS | libc::EOPNOTSUPP | libc::EINVAL) => {
            "this kernel or its driver has no AF_XDP; use a ring of AF_PACKET"
        }
        Some(libc::EBUSY) => "another XDP program is attached to it, or its first queue is in use",
        _ => return error,
    };
    io::Error::new(error.kind(), format!("{why} ({error})"))
}

/// The kernel's error, with its meaning for TAP devices.
fn without_tap(error: io::Error) -> io::Error {
    let why = match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENODEV | libc::ENXIO) => {
            "this kernel has no TAP devices (/dev/net/tun)"
        }
        Some(libc::EBUSY) => "another process has it open",
        Some(libc::EINVAL) => "it exists and is not a TAP device",
        _ => return error,
    };
    io::Error::new(error.kind(), format!("{why} ({error})"))
}

/// A link that sends and receives batches of frames.
pub trait Carrier: Watched {
    /// Receives up to [`super::BATCH`] waiting messages; returns the number of their frames.
    ///
    /// If no message waits, this returns 0. It also returns 0 if the kernel reports that the peer's
    /// port is closed (`ECONNREFUSED`), because the peer may start again.
    fn receive(&self, into: &mut Received) -> io::Result<usize>;

    /// Sends frames in order, each given by its range in `bytes`. Frames that the kernel refuses
    /// are dropped, as on a full link.
    fn transmit(&self, sender: &mut Sender, bytes: &[u8], frames: &[(usize, usize)]) -> Sent;
}

impl Watched for Link {
    fn descriptor(&self) -> RawFd {
        match self {
            Self::Datagrams(socket) => socket.raw(),
            Self::Packets(socket) => socket.raw(),
            Self::Xdp(socket) => socket.raw(),
            Self::Tap(device) => device.raw(),
        }
    }
}

impl Carrier for Link {
    fn receive(&self, into: &mut Received) -> io::Result<usize> {
        match self {
            Self::Datagrams(socket) => socket.receive(into),
            Self::Packets(socket) => Ok(socket.receive(into)),
            Self::Xdp(socket) => Ok(socket.receive(into)),
            Self::Tap(device) => device.receive(into),
        }
    }

    fn transmit(&self, sender: &mut Sender, bytes: &[u8], frames: &[(usize, usize)]) -> Sent {
        match self {
            Self::Datagrams(socket) => socket.transmit(sender, bytes, frames),
            Self::Packets(socket) => sender.messages(socket.raw(), bytes, frames),
            Self::Xdp(socket) => socket.transmit(bytes, frames),
            Self::Tap(device) => device.transmit(bytes, frames),
        }
    }
}

impl Carrier for Socket {
    fn receive(&self, into: &mut Received) -> io::Result<usize> {
        into.datagrams(self)
    }

    fn transmit(&self, sender: &mut Sender, bytes: &[u8], frames: &[(usize, usize)]) -> Sent {
        sender.datagrams(self, bytes, frames)
    }
}
