//! Algorithm 1 of the NetMC paper: the key groups of a request, as KEYIDX and SRV.

use super::{MAX_FIELDS, PAPER_SPLIT_KEYS};

/// The key groups of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Groups {
    /// Bit i from the top is set if key i is the last of its group. Bits without a key are 0.
    pub keyidx: u128,
    /// The servers of the groups in order; 0 after the last.
    pub srv: [u8; MAX_FIELDS as usize],
    /// Number of groups.
    pub count: u8,
}

/// Bit of the first key in [`Groups::keyidx`].
const FIRST: u128 = 1 << 127;

/// [`group_first`] for the KEYIDX of the paper.
pub fn group(servers: impl IntoIterator<Item = u8>) -> Groups {
    group_first(PAPER_SPLIT_KEYS, servers)
}

/// The groups of keys that are sorted by server, given the server of each (Algorithm 1, lines 6
/// and 9). Keys after the first `split_keys` have no bit in KEYIDX and are in no group.
pub fn group_first(split_keys: u8, servers: impl IntoIterator<Item = u8>) -> Groups {
    let mut groups = Groups::default();
    let mut last = None;
    for (at, server) in servers.into_iter().take(split_keys.into()).enumerate() {
        if last == Some(server) {
            // The previous key is not the last of its group.
            groups.keyidx &= !(FIRST >> (at - 1));
        } else {
            groups.srv[usize::from(groups.count)] = server;
            groups.count += 1;
        }
        groups.keyidx |= FIRST >> at;
        last = Some(server);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The KEYIDX of the paper, and the servers.
    fn of(servers: &[u8]) -> (u16, Vec<u8>) {
        let groups = group(servers.iter().copied());
        assert_eq!(groups.keyidx << 16, 0);
        ((groups.keyidx >> 112) as u16, groups.srv[..usize::from(groups.count)].to_vec())
    }

    #[test]
    fn a_one_ends_a_group_and_the_last_key_always_does() {
        assert_eq!(of(&[7]), (0x8000, vec![7]));
        assert_eq!(of(&[1, 1, 2, 3]), (0b0111 << 12, vec![1, 2, 3]), "the example of figure 5");
        assert_eq!(of(&[1, 1, 2, 2]), (0b0101 << 12, vec![1, 2]), "the example of section III-D");
        assert_eq!(of(&[4; 16]), (1, vec![4]));
        let all: Vec<u8> = (0..16).collect();
        assert_eq!(of(&all), (0xffff, all.clone()));
        assert_eq!(of(&[]), (0, vec![]));
    }

    #[test]
    fn a_wider_keyidx_has_a_bit_for_each_of_its_keys() {
        let groups = group_first(128, [[1; 100], [2; 100]].concat());
        assert_eq!((groups.keyidx, groups.count), (1 << 28 | 1, 2));
        assert_eq!(group_first(32, [[1; 100], [2; 100]].concat()).keyidx, 1 << 96);
    }
}
