//! The layout of servers and switches.

use netkv_wire::multiget::{Fields, MAX_FIELDS, MAX_KEY, MAX_KEYS, MAX_MTU, MIN_KEY, MTU};

use crate::options::Keyspace;

/// How servers and switches are laid out; the same for every role of a rack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Number of servers that share the keys, from 1 to 256.
    pub servers: u16,
    /// Servers of each rack; server i is in rack 1 + i / per_rack.
    pub per_rack: u16,
    /// Header fields, as the switch program was built. SRV fields are at least the servers of a
    /// rack, at most 32.
    pub fields: Fields,
    /// Bytes of a key of the keyspace.
    pub key_size: usize,
}

impl Layout {
    /// The layout of the rack with these keys.
    pub(crate) const fn of(keyspace: Keyspace) -> Self {
        let Keyspace { servers, racks, key_size, split_keys, mtu, .. } = keyspace;
        let per_rack = if racks == 0 { 0 } else { servers.div_ceil(racks) };
        // `check` refuses what does not fit.
        let srv = if per_rack > u8::MAX as u16 { u8::MAX } else { per_rack as u8 };
        Self { servers, per_rack, fields: Fields { srv, split_keys, mtu }, key_size }
    }

    /// One rack of `servers` servers (at most 32) with as many SRV fields, the KEYIDX of the paper,
    /// and keys of this size.
    pub const fn one_rack(servers: u16, key_size: usize) -> Self {
        Self { servers, per_rack: servers, fields: Fields::of_paper(servers as u8), key_size }
    }

    /// Checks the values. An error is a sentence for users.
    pub(crate) fn check(&self) -> Result<(), String> {
        let Self { servers, per_rack, fields: Fields { srv, split_keys, mtu }, key_size } = *self;
        if !(1..=256).contains(&servers) {
            return Err(format!(
                "{servers} servers are not possible for multigets; an SRV field tells 1 to 256 \
                 apart"
            ));
        }
        if srv == 0 || srv > MAX_FIELDS || per_rack == 0 || per_rack > srv.into() {
            return Err(format!(
                "{per_rack} servers in a rack and {srv} SRV fields are not possible; a header \
                 has 1 to {MAX_FIELDS} fields, one for each server of a rack"
            ));
        }
        if split_keys == 0 || split_keys % 8 != 0 || usize::from(split_keys) > MAX_KEYS {
            return Err(format!(
                "a KEYIDX of {split_keys} bits is not possible; it has whole bytes and at most \
                 {MAX_KEYS} bits"
            ));
        }
        if !(MTU..=MAX_MTU).contains(&mtu.into()) {
            return Err(format!("packets have {MTU} to {MAX_MTU} bytes, not {mtu}"));
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
