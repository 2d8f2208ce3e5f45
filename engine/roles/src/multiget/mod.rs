//! Multigets in three architectures: NetMC, where a switch splits requests; CliMC, where clients
//! do; and CoordiMC, where a coordinator does (`docs/netmc.md`).
//!
//! The servers are the same for all three: they read the keys that a frame asks for and answer
//! whoever asked. Clients differ in what they send; what comes back they aggregate alike.

mod client;
mod coordinator;
mod results;
mod server;

pub use client::{Client, ClientConfig};
pub use coordinator::{Coordinator, CoordinatorConfig, CoordinatorStats};
pub use server::{Server, ServerConfig};

/// Who splits a request among the servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Architecture {
    /// The switch: clients send one request to the splitting switch of each rack.
    NetMc,
    /// The client: it sends a request to each server, one after the other.
    CliMc,
    /// A coordinator: clients send their request there, and it does what a client of CliMC does.
    CoordiMc,
}

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

/// How servers and switches are laid out, as every role of a rack has to know alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Number of servers that share the keys, from 1 to 256.
    pub servers: u16,
    /// Servers of each rack; server i is in rack 1 + i / per_rack.
    pub per_rack: u16,
    /// SRV fields of a header, as the switch program was built: from the servers of a rack to 32.
    pub fields: u8,
    /// Bytes of a key of the keyspace.
    pub key_size: usize,
}

impl Layout {
    /// One rack of so many servers (at most 32) with as many SRV fields, and keys of this size.
    pub const fn one_rack(servers: u16, key_size: usize) -> Self {
        Self { servers, per_rack: servers, fields: servers as u8, key_size }
    }

    /// Checks what the types do not; a sentence about what cannot be.
    fn check(&self) -> Result<(), String> {
        use netkv_wire::multiget::{MAX_FIELDS, MAX_KEY, MIN_KEY};
        let Self { servers, per_rack, fields, key_size } = *self;
        if !(1..=256).contains(&servers) {
            return Err(format!(
                "{servers} servers are not possible for multigets; an SRV field tells 1 to 256 \
                 apart"
            ));
        }
        if fields == 0 || fields > MAX_FIELDS || per_rack == 0 || per_rack > fields.into() {
            return Err(format!(
                "{per_rack} servers in a rack and {fields} SRV fields are not possible; a header \
                 has 1 to {MAX_FIELDS} fields, one for each server of a rack"
            ));
        }
        // The switch of rack r has the address 10.3.0.r.
        if servers.div_ceil(per_rack) > 255 {
            return Err(format!(
                "{servers} servers with {per_rack} in each rack are more than 255 racks"
            ));
        }
        if !(MIN_KEY..=MAX_KEY).contains(&key_size) {
            return Err(format!("a key has {MIN_KEY} to {MAX_KEY} bytes, not {key_size}"));
        }
        Ok(())
    }
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
