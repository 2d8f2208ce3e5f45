//! Multigets in three architectures: [`netmc`], where a switch splits requests; [`climc`], where
//! clients do; and [`coordimc`], where a coordinator does (`docs/netmc.md`).
//!
//! The servers are the same for all three: they read the keys that a frame asks for and answer
//! the sender. Clients differ in what they send ([`Architecture`]); they aggregate replies alike.

mod client;
pub mod climc;
pub mod coordimc;
mod frames;
mod layout;
pub mod mutation;
pub mod netmc;
mod results;
mod server;

pub use client::{Architecture, Client, ClientConfig, MultigetCounts};
pub use coordimc::{Coordinator, CoordinatorConfig, CoordinatorStats};
pub use layout::Layout;
pub use server::{Server, ServerConfig};

use crate::records::Keying;
use crate::registry::ServerEntry;
use frames::MultigetFrames;

/// The registry's entry for servers.
pub(crate) const SERVER: ServerEntry = ServerEntry {
    name: "multiget",
    keying: Keying::Modulo,
    keeps_sequences: false,
    frames: |keyspace| Box::new(MultigetFrames(Layout::of(keyspace))),
    restore: &|options, now, applied| {
        let config = ServerConfig {
            epoch: options.epoch,
            service_rate: options.service_rate,
            service_queue: options.service_queue,
            ..ServerConfig::new(options.server, Layout::of(options.keyspace))
        };
        config.check()?;
        Ok(Box::new(Server::restore(config, now, applied)))
    },
};

// An operation whose keys fit into a frame is one request for each of those who are asked.
const _: () = assert!(netkv_workload::MAX_MULTIGET == netkv_wire::multiget::MAX_KEYS);

/// A bit for each key of a request, of which those of the keys from `from` to in front of `to` are 1.
fn key_bits(from: usize, to: usize) -> u128 {
    match to.saturating_sub(from) {
        0 => 0,
        keys => u128::MAX >> (128 - keys) << from,
    }
}

/// The first key of a request of which the bit is 1, and how many there are from it to the last one.
fn key_span(bits: u128) -> (u8, u8) {
    let (first, end) = (bits.trailing_zeros(), 128 - bits.leading_zeros());
    (first as u8, end.saturating_sub(first) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_of_keys_reach_from_the_first_to_the_128th() {
        assert_eq!(key_bits(0, 128), u128::MAX);
        assert_eq!(key_bits(0, 1), 1);
        assert_eq!(key_bits(127, 128), 1 << 127);
        assert_eq!((key_bits(3, 6), key_bits(5, 5), key_bits(6, 5)), (0b11_1000, 0, 0));
        assert_eq!(key_span(key_bits(0, 128)), (0, 128));
        assert_eq!(key_span(0b1010_0000), (5, 3));
        assert_eq!(key_span(1 << 127), (127, 1));
    }
}
