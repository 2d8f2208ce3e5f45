//! Owners of keys, and addresses that only multigets use.

use crate::{Ip, crc32};

/// Address of the coordinator.
pub const COORDINATOR_IP: Ip = [10, 0, 0, 2];

/// The address at which the switch of rack `rack` (from 1) splits requests.
pub const fn splitter_ip(rack: u8) -> Ip {
    [10, 3, 0, rack]
}

/// The server of `servers` that owns the key with these bytes (Algorithm 1, line 4).
///
/// # Panics
///
/// If `servers` is 0.
pub fn owner(key: &[u8], servers: u16) -> u16 {
    assert!(servers > 0, "a key has no owner when there are no servers");
    (crc32(key) % u32::from(servers)) as u16
}

/// The rack (from 1) of server `server`, if each rack has `per_rack` (at least 1) servers: they are
/// numbered rack by rack.
pub const fn rack_of(server: u16, per_rack: u16) -> u8 {
    (server / per_rack) as u8 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_server_owns_keys_and_racks_are_filled_in_order() {
        for servers in [1u16, 3, 5, 32] {
            let mut owned = vec![0u32; servers.into()];
            for key in 0..3200u32 {
                owned[usize::from(owner(&key.to_be_bytes(), servers))] += 1;
            }
            let fair = 3200 / u32::from(servers);
            assert!(owned.iter().all(|it| it.abs_diff(fair) < fair / 2), "{owned:?}");
        }
        assert_eq!(owner(b"123456789", 1000), (0xcbf4_3926u32 % 1000) as u16);
        assert_eq!([0, 4, 5, 9, 10].map(|server| rack_of(server, 5)), [1, 1, 2, 2, 3]);
        assert_eq!(splitter_ip(1), [10, 3, 0, 1]);
    }
}
