//! Multigets in three architectures: [`netmc`], where a switch splits requests; [`climc`], where
//! clients do; and [`coordimc`], where a coordinator does (`docs/schemes/netmc.md`).
//!
//! The servers are the same for all three: they read the requested keys of a frame and answer the
//! sender. Clients differ in the requests they send ([`Architecture`]), and aggregate replies in
//! the same way.

mod client;
pub mod climc;
pub mod coordimc;
mod frames;
mod layout;
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

// An operation whose keys fit into a frame takes one request for each receiver.
const _: () = assert!(netkv_workload::MAX_MULTIGET == netkv_wire::multiget::MAX_KEYS);

/// A bit for each key of a request: 1 for the keys from `from` up to but excluding `to`.
fn key_bits(from: usize, to: usize) -> u128 {
    match to.saturating_sub(from) {
        0 => 0,
        keys => u128::MAX >> (128 - keys) << from,
    }
}

/// The first key with bit 1, and the number of keys from it to the last key with bit 1.
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
