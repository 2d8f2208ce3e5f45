//! A port that is a TAP device: frames that the host sends through the device arrive at the port,
//! and frames from the port arrive at the host, with all checksums.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::mem::zeroed;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;

use super::call::checked;
use super::interface::Interface;
use super::limits::{BATCH, FRAME_LIMIT};
use super::receive::Received;
use super::send::Sent;

const DEVICE: &str = "/dev/net/tun";

/// A TAP device. It exists as long as the descriptor, unless somebody made it persistent.
pub struct TapDevice(File);

impl TapDevice {
    /// Opens the device, creates it if necessary, and sets it up.
    pub fn open(interface: &Interface) -> io::Result<Self> {
        interface.within(|| {
            let device = OpenOptions::new()
                .read(true)
                .write(true)
                .custom_flags(libc::O_NONBLOCK)
                .open(DEVICE)?;
            // SAFETY: all-zero is a valid request: numbers and an empty name.
            let mut request: libc::ifreq = unsafe { zeroed() };
            let name = &mut request.ifr_name[..libc::IFNAMSIZ - 1];
            for (to, from) in name.iter_mut().zip(interface.name.bytes()) {
                *to = from as libc::c_char;
            }
            request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI) as libc::c_short;
            // SAFETY: `request` outlives the call, which reads a name and flags.
            checked(unsafe {
                libc::ioctl(device.as_raw_fd(), libc::TUNSETIFF as _, &raw mut request)
            })?;
            interface.set_up()?;
            Ok(Self(device))
        })
    }

    pub(super) fn raw(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Receives a batch of frames; see [`super::Carrier::receive`].
    pub(super) fn receive(&self, into: &mut Received) -> io::Result<usize> {
        // One byte more shows that a frame is too long.
        let mut buffer = [0; FRAME_LIMIT + 1];
        into.begin_copies();
        for _ in 0..BATCH {
            match (&self.0).read(&mut buffer) {
                Ok(length) if length <= FRAME_LIMIT => into.copy(|to| {
                    to[..length].copy_from_slice(&buffer[..length]);
                    length
                }),
                Ok(_) => into.copy(|_| usize::MAX),
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => break,
                    _ => return Err(error),
                },
            }
        }
        Ok(into.copies())
    }

    /// Sends frames; see [`super::Carrier::transmit`].
    pub(super) fn transmit(&self, bytes: &[u8], frames: &[(usize, usize)]) -> Sent {
        let mut sent = Sent::default();
        for &(start, end) in frames {
            match (&self.0).write(&bytes[start..end]) {
                Ok(length) => {
                    sent.frames += 1;
                    sent.bytes += length as u64;
                }
                Err(_) => sent.dropped += 1,
            }
        }
        sent
    }
}
