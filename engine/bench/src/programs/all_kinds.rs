//! Frames of all kinds for netkv's programs: sound ones, and changed ones, which are cut anywhere
//! or have wrong lengths, versions, protocols and checksums, or other addresses.

use netkv_dataplane::Random;
use netkv_wire::{CONTROLLER_IP, CPU_PORT, ETHERNET_LEN, IPV4_LEN, client_ip, server_ip};

use super::rack::{CLIENT, CLIENT_PORT, SERVER_PORT};
use crate::handwritten::layout::{
    DESTINATION, ETHERTYPE, FRAGMENT, IPV4, OP, PROTOCOL, TOTAL_LENGTH, UDP_CHECKSUM, UDP_LENGTH,
    UDP_PORT,
};
use crate::handwritten::set_checksum;
use crate::traffic::{Arrivals, BATCH, arrivals};

/// Number of batches.
const BATCHES: usize = 125;

/// Random choices from a seed.
pub(super) struct Draw(Random);

impl Draw {
    /// A number in `0..count`.
    pub fn below(&mut self, count: u64) -> u64 {
        self.0.between(0, count - 1)
    }

    /// Whether an event of the probability 1 / `of` happens.
    pub fn one_in(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }

    /// One of these.
    pub fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

/// 4,000 frames that arrive by these ports. `make` makes a sound frame for a port.
pub(super) fn all_kinds(
    ports: &[u16],
    mut make: impl FnMut(&mut Draw, u16) -> Vec<u8>,
) -> Vec<Arrivals> {
    let mut draw = Draw(Random::new(11));
    let batch = |_| {
        let port = draw.of(ports);
        let mut frame = || {
            let mut frame = make(&mut draw, port);
            change(&mut draw, &mut frame);
            if port == CPU_PORT { from_controller(&mut draw, &frame) } else { frame }
        };
        let frames: Vec<_> = std::iter::repeat_with(&mut frame).take(BATCH).collect();
        arrivals(port, &frames)
    };
    (0..BATCHES).flat_map(batch).collect()
}

/// Changes most frames in one way.
fn change(draw: &mut Draw, frame: &mut Vec<u8>) {
    let destinations = [server_ip(3), client_ip(CLIENT), CONTROLLER_IP, [10, 9, 9, 9]];
    match draw.below(22) {
        0 => frame.truncate(draw.below(frame.len() as u64 + 1) as usize),
        1 => frame[ETHERTYPE..][..2].copy_from_slice(&[0x86, 0xdd]),
        2 => frame[PROTOCOL] = 6,
        3 => frame[UDP_PORT..][..2].copy_from_slice(&[19, draw.below(256) as u8]),
        4 => frame[DESTINATION..][..4].copy_from_slice(&draw.of(&destinations)),
        5 => {
            let at = draw.below(frame.len() as u64) as usize;
            frame[at] = draw.below(256) as u8;
        }
        6 => frame[IPV4] = draw.of(&[0x45, 0x46, 0x55, 0x65]),
        7 => {
            // Don't fragment, more fragments, none of both; and an offset.
            let fragment = [draw.of(&[0x40, 0x20, 0x00, 0x1f]), draw.of(&[0, 0, 0, 1])];
            frame[FRAGMENT..][..2].copy_from_slice(&fragment);
        }
        8 => frame[OP] = draw.below(256) as u8,
        9 => {
            let more = draw.below(40) as u8;
            frame.extend(0..more);
        }
        10 => {
            // Lengths that agree, and may be too small or too large.
            let udp_length = draw.below(120) as u16;
            frame[UDP_LENGTH..][..2].copy_from_slice(&udp_length.to_be_bytes());
            frame[TOTAL_LENGTH..][..2].copy_from_slice(&(udp_length + 20).to_be_bytes());
        }
        _ => {}
    }
    // As `rack::frame`: without a UDP checksum.
    if let Some(checksum) = frame.get_mut(UDP_CHECKSUM..UDP_CHECKSUM + 2) {
        checksum.fill(0);
    }
    // Most frames get the right IPv4 checksum again, so that they are not dropped for that.
    if frame.len() >= ETHERNET_LEN + IPV4_LEN && !draw.one_in(8) {
        set_checksum(&mut frame[ETHERNET_LEN..ETHERNET_LEN + IPV4_LEN]);
    }
}

/// The frame behind the header of the controller, which names a port in some frames.
fn from_controller(draw: &mut Draw, frame: &[u8]) -> Vec<u8> {
    let ports = [CLIENT_PORT, SERVER_PORT, 7, 508, CPU_PORT, 511];
    let port = if draw.one_in(10) { draw.of(&ports) } else { 0 };
    let mut frame = [&(port << 7).to_be_bytes(), frame].concat();
    if draw.one_in(50) {
        frame.truncate(draw.below(4) as usize);
    }
    frame
}
