//! Action profiles and selectors: actions that entries share.

use std::collections::BTreeMap;

use super::Resolved;

/// Members and groups of one profile.
#[derive(Debug, Default)]
pub(crate) struct Profile {
    pub(crate) members: BTreeMap<u32, Resolved>,
    /// `(member, weight)` in order of member.
    pub(crate) groups: BTreeMap<u32, Vec<(u32, u32)>>,
}

impl Profile {
    pub(crate) fn member(&self, id: u32) -> Option<&Resolved> {
        self.members.get(&id)
    }

    /// The member of a group that a hash chooses; none if the group is empty.
    pub(crate) fn choose(&self, group: u32, hash: u64) -> Option<&Resolved> {
        let members = self.groups.get(&group)?;
        self.member(weighted(members.iter().copied(), hash)?)
    }
}

/// One of several by weight: slots are handed out in order, `hash` modulo their number decides.
pub(crate) fn weighted<T>(choices: impl Iterator<Item = (T, u32)> + Clone, hash: u64) -> Option<T> {
    let total: u64 = choices.clone().map(|(_, weight)| u64::from(weight)).sum();
    let mut slot = hash.checked_rem(total)?;
    for (choice, weight) in choices {
        match slot.checked_sub(u64::from(weight)) {
            None => return Some(choice),
            Some(rest) => slot = rest,
        }
    }
    None
}
