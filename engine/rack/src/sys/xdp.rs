//! A port on a network interface: an `AF_XDP` socket, its memory and its four rings.
//!
//! An XDP program of five instructions is attached to the interface. It redirects the frames of the
//! first queue to the socket, before the network stack. Each frame is in a chunk of memory:
//!
//! ```text
//! free chunk      -> fill ring -> kernel -> receive ring    -> this process
//! frame to send   -> send ring -> kernel -> completion ring -> this process
//! ```
//!
//! A ring has two counters modulo 2^32: entries produced and entries consumed since the start. The
//! index of an entry is its counter modulo the size of the ring.
//!
//! The crates for `AF_XDP` (xsk-rs, libxdp-sys) bind a C library that is built with clang. This
//! module has only the few functions that the switch needs.

use std::io;
use std::mem::{size_of, size_of_val};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::Mutex;

use netkv_wire::ETHERNET_LEN;

use super::call::checked;
use super::interface::{Interface, option, set_option};
use super::limits::{BATCH, FRAME_LIMIT};
use super::mapping::{Mapping, Numbers};
use super::receive::Received;
use super::send::Sent;
use crate::lock::lock;

/// Bytes of a chunk: a page. The kernel leaves its first part empty.
const CHUNK: usize = 4096;
/// Entries of each ring, and chunks for each direction.
const ENTRIES: u32 = 2048;
/// Maximum number of system calls to empty the send ring; each sends at least 32 frames.
const MAX_KICKS: usize = 2 * ENTRIES as usize / 32;
/// Frames that the kernel should send in one call; an option of Linux 6.18.
const SEND_BUDGET: u32 = 256;
const XDP_MAX_TX_SKB_BUDGET: libc::c_int = 9;

/// A socket that receives the frames of an interface's first queue and sends frames there.
pub struct XdpSocket {
    descriptor: OwnedFd,
    rings: Mutex<Rings>,
    /// The program is attached as long as this is open, so a crash detaches it.
    _attached: OwnedFd,
    _sockets_by_queue: OwnedFd,
}

struct Rings {
    memory: Mapping,
    fill: Ring,
    received: Ring,
    send: Ring,
    completed: Ring,
    /// Free chunks for frames to send.
    free: Vec<u64>,
}

/// This side of a ring.
struct Ring {
    memory: Mapping,
    offsets: libc::xdp_ring_offset,
    /// The counter that this side advances.
    own: u32,
}

impl Ring {
    fn map(
        socket: RawFd,
        at: i64,
        offsets: libc::xdp_ring_offset,
        entry: usize,
    ) -> io::Result<Self> {
        let length = offsets.desc as usize + ENTRIES as usize * entry;
        Ok(Self { memory: Mapping::new(socket, length, at)?, offsets, own: 0 })
    }

    fn entry<T>(&self, number: u32) -> usize {
        self.offsets.desc as usize + (number % ENTRIES) as usize * size_of::<T>()
    }

    /// Number of waiting entries in a ring that the kernel produces.
    fn waiting(&self) -> u32 {
        self.memory.load(self.offsets.producer as usize).wrapping_sub(self.own)
    }

    /// Consumes the oldest entry. At least one must wait.
    fn take<T: Numbers>(&mut self) -> T {
        let entry = self.memory.read(self.entry::<T>(self.own));
        self.own = self.own.wrapping_add(1);
        entry
    }

    /// Publishes the consumer's counter: the kernel may use the consumed entries again.
    fn taken(&self) {
        self.memory.store(self.offsets.consumer as usize, self.own);
    }

    /// Number of entries that the kernel has not consumed, in a ring that this side produces.
    fn unconsumed(&self) -> u32 {
        self.own.wrapping_sub(self.memory.load(self.offsets.consumer as usize))
    }

    /// Produces an entry. There is room, because a ring has an entry for each of its chunks.
    fn put<T: Numbers>(&mut self, value: T) {
        self.memory.write(self.entry::<T>(self.own), value);
        self.own = self.own.wrapping_add(1);
    }

    /// Publishes the producer's counter: the kernel may consume the new entries.
    fn publish(&self) {
        self.memory.store(self.offsets.producer as usize, self.own);
    }
}

impl XdpSocket {
    /// Opens the socket and sets the interface up. The caller begins the sentence of an error.
    pub fn open(interface: &Interface) -> io::Result<Self> {
        interface.within(|| Self::open_here(interface))
    }

    fn open_here(interface: &Interface) -> io::Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        // SAFETY: the call takes no pointers; a descriptor that it returns is ours alone.
        let descriptor =
            unsafe { OwnedFd::from_raw_fd(checked(libc::socket(libc::AF_XDP, kind, 0))?) };
        let socket = descriptor.as_raw_fd();
        let index = interface.index()?;
        interface.set_up()?;
        let memory = Mapping::anonymous(2 * ENTRIES as usize * CHUNK)?;
        let registered = libc::xdp_umem_reg {
            addr: memory.address(),
            len: 2 * u64::from(ENTRIES) * CHUNK as u64,
            chunk_size: CHUNK as u32,
            headroom: 0,
            flags: 0,
            tx_metadata_len: 0,
        };
        set_option(socket, libc::SOL_XDP, libc::XDP_UMEM_REG, &registered)?;
        for ring in [
            libc::XDP_UMEM_FILL_RING,
            libc::XDP_UMEM_COMPLETION_RING,
            libc::XDP_RX_RING,
            libc::XDP_TX_RING,
        ] {
            set_option(socket, libc::SOL_XDP, ring, &ENTRIES)?;
        }
        // Without this option the kernel sends 32 frames in a call.
        let _ = set_option(socket, libc::SOL_XDP, XDP_MAX_TX_SKB_BUDGET, &SEND_BUDGET);
        let offsets: libc::xdp_mmap_offsets =
            option(socket, libc::SOL_XDP, libc::XDP_MMAP_OFFSETS)?;
        let (chunk, frame) = (size_of::<u64>(), size_of::<libc::xdp_desc>());
        let fill_at = libc::XDP_UMEM_PGOFF_FILL_RING as i64;
        let completed_at = libc::XDP_UMEM_PGOFF_COMPLETION_RING as i64;
        let mut fill = Ring::map(socket, fill_at, offsets.fr, chunk)?;
        for number in 0..u64::from(ENTRIES) {
            fill.put(number * CHUNK as u64);
        }
        fill.publish();
        let rings = Rings {
            memory,
            fill,
            received: Ring::map(socket, libc::XDP_PGOFF_RX_RING, offsets.rx, frame)?,
            send: Ring::map(socket, libc::XDP_PGOFF_TX_RING, offsets.tx, frame)?,
            completed: Ring::map(socket, completed_at, offsets.cr, chunk)?,
            free: (0..u64::from(ENTRIES))
                .map(|n| (u64::from(ENTRIES) + n) * CHUNK as u64)
                .collect(),
        };
        let sockets_by_queue = bpf::sockets_by_queue()?;
        let program = bpf::to_socket(&sockets_by_queue)?;
        bind(socket, index)?;
        bpf::set(&sockets_by_queue, 0, socket)?;
        let attached = bpf::attach(&program, index)?;
        Ok(Self {
            descriptor,
            rings: Mutex::new(rings),
            _attached: attached,
            _sockets_by_queue: sockets_by_queue,
        })
    }

    pub(super) fn raw(&self) -> RawFd {
        self.descriptor.as_raw_fd()
    }

    /// Copies up to [`BATCH`] frames from the ring; returns their number.
    pub(super) fn receive(&self, into: &mut Received) -> usize {
        into.begin_copies();
        let mut rings = lock(&self.rings);
        let count = (rings.received.waiting() as usize).min(BATCH);
        for _ in 0..count {
            let frame: libc::xdp_desc = rings.received.take();
            let (at, length) = (frame.addr as usize, frame.len as usize);
            into.copy(|slot| {
                if length <= slot.len() {
                    rings.memory.copy_to(at, &mut slot[..length]);
                }
                length
            });
            rings.fill.put((at - at % CHUNK) as u64);
        }
        rings.received.taken();
        rings.fill.publish();
        count
    }

    /// Sends frames, each given by its range in `bytes`. Like `AF_PACKET`, it drops a frame that is
    /// shorter than its Ethernet header.
    pub(super) fn transmit(&self, bytes: &[u8], frames: &[(usize, usize)]) -> Sent {
        let mut rings = lock(&self.rings);
        let mut sent = Sent::default();
        for &(start, end) in frames {
            let length = end - start;
            if rings.free.is_empty() {
                self.kick(&rings);
                rings.reclaim();
            }
            let fits = (ETHERNET_LEN..=FRAME_LIMIT).contains(&length);
            let chunk = if fits { rings.free.pop() } else { None };
            let Some(chunk) = chunk else {
                sent.dropped += 1;
                continue;
            };
            rings.memory.copy_from(chunk as usize, &bytes[start..end]);
            rings.send.put(libc::xdp_desc { addr: chunk, len: length as u32, options: 0 });
            rings.send.publish();
            sent.frames += 1;
            sent.bytes += length as u64;
        }
        self.kick(&rings);
        rings.reclaim();
        sent
    }

    /// Asks the kernel to send the frames in the send ring. Frames that it cannot send stay there.
    fn kick(&self, rings: &Rings) {
        for _ in 0..MAX_KICKS {
            let before = rings.send.unconsumed();
            if before == 0 {
                break;
            }
            // SAFETY: no data and no address are given; null pointers with length 0.
            let result = unsafe {
                libc::sendto(self.raw(), ptr::null(), 0, libc::MSG_DONTWAIT, ptr::null(), 0)
            };
            if result < 0 && rings.send.unconsumed() == before {
                break;
            }
        }
    }

    /// Frames that the kernel dropped since the socket was opened because it had no free chunk, or
    /// the receive ring was full. `rx_fill_ring_empty_descs` counts the former once more.
    pub fn receive_drops(&self) -> u64 {
        let counts =
            option::<libc::xdp_statistics>(self.raw(), libc::SOL_XDP, libc::XDP_STATISTICS);
        counts.map_or(0, |counts| counts.rx_dropped + counts.rx_ring_full)
    }
}

impl Rings {
    /// Frees the chunks of frames that were sent.
    fn reclaim(&mut self) {
        for _ in 0..self.completed.waiting() {
            let chunk: u64 = self.completed.take();
            self.free.push(chunk);
        }
        self.completed.taken();
    }
}

/// Binds the socket to the first queue of an interface.
fn bind(socket: RawFd, index: libc::c_int) -> io::Result<()> {
    let address = libc::sockaddr_xdp {
        sxdp_family: libc::AF_XDP as u16,
        sxdp_flags: libc::XDP_USE_NEED_WAKEUP,
        sxdp_ifindex: index as u32,
        sxdp_queue_id: 0,
        sxdp_shared_umem_fd: 0,
    };
    let length = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the pointer and the length describe `address`, which outlives the call.
    checked(unsafe { libc::bind(socket, (&raw const address).cast(), length) }).map(drop)
}

/// The system call `bpf`: a map, a program, and its attachment to an interface.
mod bpf {
    use std::io;
    use std::mem::size_of;
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

    use crate::sys::call::checked;

    const MAP_CREATE: libc::c_int = 0;
    const MAP_UPDATE: libc::c_int = 2;
    const PROGRAM_LOAD: libc::c_int = 5;
    const LINK_CREATE: libc::c_int = 28;
    const MAP_OF_XDP_SOCKETS: u32 = 17;
    const PROGRAM_XDP: u32 = 6;
    const ATTACH_XDP: u32 = 37;
    /// Maximum number of queues in the map. Frames of other queues pass to the network stack.
    const QUEUES: u32 = 64;

    /// An instruction: code, registers (source and destination), offset, constant.
    #[repr(C)]
    struct Instruction(u8, u8, i16, i32);

    #[repr(C)]
    struct CreateMap {
        kind: u32,
        key_size: u32,
        value_size: u32,
        entries: u32,
    }

    #[repr(C)]
    struct UpdateMap {
        map: u32,
        _padding: u32,
        key: u64,
        value: u64,
        flags: u64,
    }

    #[repr(C)]
    struct LoadProgram {
        kind: u32,
        instructions: u32,
        code: u64,
        license: u64,
        log: [u32; 2],
        log_at: u64,
        version: u32,
        flags: u32,
        name: [u8; 16],
    }

    #[repr(C)]
    struct CreateLink {
        program: u32,
        interface: u32,
        attach: u32,
        flags: u32,
    }

    fn call<T>(command: libc::c_int, attributes: &T) -> io::Result<libc::c_int> {
        // SAFETY: the pointer and the size describe `attributes`, a structure of the form that the
        // command asks for; the kernel only reads it, and what it points to, which outlives the
        // call (see the callers).
        let result = unsafe {
            libc::syscall(libc::SYS_bpf, command, std::ptr::from_ref(attributes), size_of::<T>())
        };
        checked(result as libc::c_int)
    }

    fn opened<T>(command: libc::c_int, attributes: &T) -> io::Result<OwnedFd> {
        // SAFETY: the command returns a descriptor that is ours alone.
        call(command, attributes).map(|fd| unsafe { OwnedFd::from_raw_fd(fd) })
    }

    /// A map from the number of a queue to an `AF_XDP` socket.
    pub fn sockets_by_queue() -> io::Result<OwnedFd> {
        let map =
            CreateMap { kind: MAP_OF_XDP_SOCKETS, key_size: 4, value_size: 4, entries: QUEUES };
        opened(MAP_CREATE, &map)
    }

    /// Puts a socket into the map.
    pub fn set(map: &OwnedFd, queue: u32, socket: RawFd) -> io::Result<()> {
        let socket = socket as u32;
        let update = UpdateMap {
            map: map.as_raw_fd() as u32,
            _padding: 0,
            key: &raw const queue as u64,
            value: &raw const socket as u64,
            flags: 0,
        };
        call(MAP_UPDATE, &update).map(drop)
    }

    /// A program that redirects a frame to the socket of its queue, or to the network stack if the
    /// queue has no socket.
    pub fn to_socket(map: &OwnedFd) -> io::Result<OwnedFd> {
        let code = [
            Instruction(0x61, 0x12, 16, 0), // r2 = context.rx_queue_index
            Instruction(0x18, 0x11, 0, map.as_raw_fd()), // r1 = map, in two words
            Instruction(0, 0, 0, 0),
            Instruction(0xb7, 0x03, 0, 2),  // r3 = XDP_PASS
            Instruction(0x85, 0x00, 0, 51), // r0 = bpf_redirect_map(r1, r2, r3)
            Instruction(0x95, 0x00, 0, 0),  // return r0
        ];
        let license = c"Dual MIT/GPL";
        let mut name = [0; 16];
        name[..9].copy_from_slice(b"netkv_xdp");
        let program = LoadProgram {
            kind: PROGRAM_XDP,
            instructions: code.len() as u32,
            code: code.as_ptr() as u64,
            license: license.as_ptr() as u64,
            log: [0; 2],
            log_at: 0,
            version: 0,
            flags: 0,
            name,
        };
        opened(PROGRAM_LOAD, &program)
    }

    /// Attaches the program to an interface, as long as the returned descriptor is open.
    pub fn attach(program: &OwnedFd, interface: libc::c_int) -> io::Result<OwnedFd> {
        let link = CreateLink {
            program: program.as_raw_fd() as u32,
            interface: interface as u32,
            attach: ATTACH_XDP,
            flags: 0,
        };
        opened(LINK_CREATE, &link)
    }
}
