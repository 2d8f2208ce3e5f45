//! Algorithm 1 of the NetMC paper: the key groups of a request, as KEYIDX and SRV.

use super::{MAX_FIELDS, MAX_SPLIT_KEYS};

/// The key groups of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Groups {
    /// Bit i from the top is set if key i is the last of its group. Bits without a key are 0.
    pub keyidx: u16,
    /// The servers of the groups in order; 0 after the last.
    pub srv: [u8; MAX_FIELDS as usize],
    /// Number of groups.
    pub count: u8,
}

/// The groups of keys that are sorted by server, given the server of each (Algorithm 1, lines 6
/// and 9). Keys after the 16th have no bit in KEYIDX and are in no group.
pub fn group(servers: impl IntoIterator<Item = u8>) -> Groups {
    let mut groups = Groups::default();
    let mut last = None;
    for (at, server) in servers.into_iter().take(MAX_SPLIT_KEYS).enumerate() {
        if last == Some(server) {
            // The previous key is not the last of its group.
            groups.keyidx &= !(0x8000 >> (at - 1));
        } else {
            groups.srv[usize::from(groups.count)] = server;
            groups.count += 1;
        }
        groups.keyidx |= 0x8000 >> at;
        last = Some(server);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(servers: &[u8]) -> (u16, Vec<u8>) {
        let groups = group(servers.iter().copied());
        (groups.keyidx, groups.srv[..usize::from(groups.count)].to_vec())
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
}
