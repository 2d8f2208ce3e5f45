//! A port on a network interface: an `AF_PACKET` socket with a receive ring.
//!
//! The kernel writes received frames into memory that this process has mapped. Frames are sent in
//! batches, with system calls. The ring has one of two forms:
//!
//! - `TPACKET_V2`: each frame has a slot and is readable at once.
//! - `TPACKET_V3`: frames lie close together in blocks. A block is readable when it is full or one
//!   millisecond old. This is less work for each frame under load, and adds up to a millisecond to
//!   the latency of single frames.

use std::io;
use std::mem::{offset_of, size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::call::checked;
use super::interface::{Interface, option, set_option};
use super::limits::BATCH;
use super::mapping::Mapping;
use super::receive::Received;
use crate::lock::lock;

/// Bytes of a slot of the frame ring: the longest frame and the kernel's header.
const SLOT: usize = 4096;
/// Slots of the frame ring: a burst of some milliseconds.
const SLOTS: usize = 2048;
/// Bytes of a block.
const BLOCK: usize = 1 << 18;
/// Blocks of the block ring.
const BLOCKS: usize = 32;
/// Milliseconds after which a block is readable though it is not full; the kernel's minimum.
const BLOCK_AGE: u32 = 1;
/// Requested size of the send buffer, in bytes.
const SEND_BUFFER: libc::c_int = 4 << 20;

/// Form of the ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A slot for each frame (`TPACKET_V2`).
    Frames,
    /// Blocks of frames (`TPACKET_V3`).
    Blocks,
}

/// A socket that receives all frames of an interface and sends frames there.
pub struct PacketSocket {
    descriptor: OwnedFd,
    ring: Mutex<Ring>,
    drops: AtomicU64,
    unsummed: AtomicU64,
}

struct Ring {
    memory: Mapping,
    form: Form,
    /// Index of the next slot or block to read.
    next: usize,
    /// Frames left in the current block, and the offset of the next one.
    left: u32,
    at: usize,
}

/// A frame in a ring.
struct Frame {
    /// Offset in the ring.
    at: usize,
    /// Captured bytes, and bytes of the whole frame.
    kept: usize,
    length: usize,
    status: u32,
    /// VLAN tag (identifier, control information) that the kernel has removed from the frame.
    vlan: [u16; 2],
}

impl PacketSocket {
    /// Opens the socket and sets the interface up. The caller begins the sentence of an error.
    pub fn open(interface: &Interface, form: Form) -> io::Result<Self> {
        let descriptor = interface.within(|| Self::bound(interface, form))?;
        let length = match form {
            Form::Frames => SLOT * SLOTS,
            Form::Blocks => BLOCK * BLOCKS,
        };
        let memory = Mapping::new(descriptor.as_raw_fd(), length, 0)?;
        let ring = Mutex::new(Ring { memory, form, next: 0, left: 0, at: 0 });
        Ok(Self { descriptor, ring, drops: AtomicU64::new(0), unsummed: AtomicU64::new(0) })
    }

    fn bound(interface: &Interface, form: Form) -> io::Result<OwnedFd> {
        // With protocol 0 the socket receives nothing until it is bound to the interface.
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: the call takes no pointers; a descriptor that it returns is ours alone.
        let socket =
            unsafe { OwnedFd::from_raw_fd(checked(libc::socket(libc::AF_PACKET, kind, 0))?) };
        let index = interface.index()?;
        interface.set_up()?;
        let raw = socket.as_raw_fd();
        match form {
            Form::Frames => {
                let request = libc::tpacket_req {
                    tp_block_size: BLOCK as u32,
                    tp_block_nr: (SLOT * SLOTS / BLOCK) as u32,
                    tp_frame_size: SLOT as u32,
                    tp_frame_nr: SLOTS as u32,
                };
                let version = libc::tpacket_versions::TPACKET_V2 as libc::c_int;
                set_option(raw, libc::SOL_PACKET, libc::PACKET_VERSION, &version)?;
                set_option(raw, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
            }
            Form::Blocks => {
                let request = libc::tpacket_req3 {
                    tp_block_size: BLOCK as u32,
                    tp_block_nr: BLOCKS as u32,
                    tp_frame_size: SLOT as u32,
                    tp_frame_nr: (BLOCK * BLOCKS / SLOT) as u32,
                    tp_retire_blk_tov: BLOCK_AGE,
                    tp_sizeof_priv: 0,
                    tp_feature_req_word: 0,
                };
                let version = libc::tpacket_versions::TPACKET_V3 as libc::c_int;
                set_option(raw, libc::SOL_PACKET, libc::PACKET_VERSION, &version)?;
                set_option(raw, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
            }
        }
        // The ring gets received frames only, not those that this host sends at the interface.
        set_option(raw, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1)?;
        set_option(raw, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1)?;
        set_option(raw, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &SEND_BUFFER)
            .or_else(|_| set_option(raw, libc::SOL_SOCKET, libc::SO_SNDBUF, &SEND_BUFFER))?;
        // SAFETY: all-zero is a valid request and a valid address: numbers only.
        let (mut promiscuous, mut address): (libc::packet_mreq, libc::sockaddr_ll) =
            unsafe { (zeroed(), zeroed()) };
        promiscuous.mr_ifindex = index;
        promiscuous.mr_type = libc::PACKET_MR_PROMISC as libc::c_ushort;
        set_option(raw, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &promiscuous)?;
        address.sll_family = libc::AF_PACKET as libc::c_ushort;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = index;
        // SAFETY: the pointer and the length describe `address`, which outlives the call.
        checked(unsafe {
            libc::bind(
                raw,
                (&raw const address).cast(),
                size_of::<libc::sockaddr_ll>() as libc::socklen_t,
            )
        })?;
        Ok(socket)
    }

    pub(super) fn raw(&self) -> RawFd {
        self.descriptor.as_raw_fd()
    }

    /// Copies up to [`BATCH`] frames from the ring; returns their number.
    pub(super) fn receive(&self, into: &mut Received) -> usize {
        into.begin_copies();
        let mut ring = lock(&self.ring);
        while into.copies() < BATCH {
            let Some(frame) = ring.frame() else { break };
            if frame.status & libc::TP_STATUS_CSUMNOTREADY != 0 {
                self.unsummed.fetch_add(1, Ordering::Relaxed);
            }
            into.copy(|slot| frame.copy(&ring.memory, slot));
            ring.release();
        }
        if into.copies() == 0 {
            // If the interface goes down, the socket has an error until it is read. With a pending
            // error every wait ends at once.
            let _ = option::<libc::c_int>(self.raw(), libc::SOL_SOCKET, libc::SO_ERROR);
        }
        into.copies()
    }

    /// Received frames without a checksum, because the sender offloads checksums to a network card.
    pub fn unsummed(&self) -> u64 {
        self.unsummed.load(Ordering::Relaxed)
    }

    /// Frames that the kernel dropped since the socket was opened because the ring was full.
    pub fn receive_drops(&self) -> u64 {
        // Reading resets the kernel's counters.
        let counts =
            option::<libc::tpacket_stats_v3>(self.raw(), libc::SOL_PACKET, libc::PACKET_STATISTICS);
        let new = counts.map_or(0, |counts| u64::from(counts.tp_drops));
        self.drops.fetch_add(new, Ordering::Relaxed) + new
    }
}

impl Ring {
    /// The next frame. Its memory belongs to this process until [`Ring::release`].
    fn frame(&mut self) -> Option<Frame> {
        match self.form {
            Form::Frames => {
                let slot = self.next * SLOT;
                let status = self.memory.load(slot + offset_of!(libc::tpacket2_hdr, tp_status));
                if status & libc::TP_STATUS_USER == 0 {
                    return None;
                }
                let header: libc::tpacket2_hdr = self.memory.read(slot);
                Some(Frame {
                    at: slot + usize::from(header.tp_mac),
                    kept: header.tp_snaplen as usize,
                    length: header.tp_len as usize,
                    status,
                    vlan: [header.tp_vlan_tpid, header.tp_vlan_tci],
                })
            }
            Form::Blocks => {
                while self.left == 0 {
                    self.open_block()?;
                }
                let header: libc::tpacket3_hdr = self.memory.read(self.at);
                Some(Frame {
                    at: self.at + usize::from(header.tp_mac),
                    kept: header.tp_snaplen as usize,
                    length: header.tp_len as usize,
                    status: header.tp_status,
                    vlan: [header.hv1.tp_vlan_tpid, header.hv1.tp_vlan_tci as u16],
                })
            }
        }
    }

    /// Opens the next block, if the kernel has released it. An empty block is returned at once.
    fn open_block(&mut self) -> Option<()> {
        const HEADER: usize = offset_of!(libc::tpacket_block_desc, hdr);
        let block = self.next * BLOCK;
        let word = |offset| self.memory.load(block + HEADER + offset);
        if word(offset_of!(libc::tpacket_hdr_v1, block_status)) & libc::TP_STATUS_USER == 0 {
            return None;
        }
        self.left = word(offset_of!(libc::tpacket_hdr_v1, num_pkts));
        self.at = block + word(offset_of!(libc::tpacket_hdr_v1, offset_to_first_pkt)) as usize;
        if self.left == 0 {
            self.close_block();
        }
        Some(())
    }

    fn close_block(&mut self) {
        const STATUS: usize = offset_of!(libc::tpacket_block_desc, hdr)
            + offset_of!(libc::tpacket_hdr_v1, block_status);
        self.memory.store(self.next * BLOCK + STATUS, libc::TP_STATUS_KERNEL);
        self.next = (self.next + 1) % BLOCKS;
    }

    /// Returns the frame's memory to the kernel; the block after its last frame.
    fn release(&mut self) {
        match self.form {
            Form::Frames => {
                let status = self.next * SLOT + offset_of!(libc::tpacket2_hdr, tp_status);
                self.memory.store(status, libc::TP_STATUS_KERNEL);
                self.next = (self.next + 1) % SLOTS;
            }
            Form::Blocks => {
                let next = self.memory.read::<libc::tpacket3_hdr>(self.at).tp_next_offset;
                self.at += next as usize;
                self.left -= 1;
                if self.left == 0 {
                    self.close_block();
                }
            }
        }
    }
}

impl Frame {
    /// Copies the frame as it was on the wire; returns its length, or `usize::MAX` if it does not
    /// fit.
    fn copy(&self, memory: &Mapping, to: &mut [u8]) -> usize {
        /// Bytes of the two addresses; a VLAN tag follows them.
        const ADDRESSES: usize = 12;
        const TAG: usize = 4;
        let tagged = self.status & libc::TP_STATUS_VLAN_VALID != 0 && self.kept >= ADDRESSES;
        let length = self.length + if tagged { TAG } else { 0 };
        if self.kept < self.length || length > to.len() {
            return usize::MAX;
        }
        if !tagged {
            memory.copy_to(self.at, &mut to[..self.kept]);
            return length;
        }
        let known = self.status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
        let identifier = if known { self.vlan[0] } else { libc::ETH_P_8021Q as u16 };
        memory.copy_to(self.at, &mut to[..ADDRESSES]);
        to[ADDRESSES..ADDRESSES + 2].copy_from_slice(&identifier.to_be_bytes());
        to[ADDRESSES + 2..ADDRESSES + TAG].copy_from_slice(&self.vlan[1].to_be_bytes());
        memory.copy_to(self.at + ADDRESSES, &mut to[ADDRESSES + TAG..length]);
        length
    }
}
