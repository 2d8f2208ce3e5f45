//! Action profiles and selectors: members and groups, and the choice of a member by a hash.

use std::collections::BTreeMap;

use super::BoundAction;

/// Members and groups of an action profile.
#[derive(Debug, Default)]
pub(crate) struct Profile {
    pub(crate) members: BTreeMap<u32, BoundAction>,
    /// `(member, weight)` in order of member.
    pub(crate) groups: BTreeMap<u32, Vec<(u32, u32)>>,
}

impl Profile {
    pub(crate) fn member(&self, id: u32) -> Option<&BoundAction> {
        self.members.get(&id)
    }

    /// The member of a group that a hash chooses. `None`: the group is empty.
    pub(crate) fn choose(&self, group: u32, hash: u64) -> Option<&BoundAction> {
        let members = self.groups.get(&group)?;
        self.member(weighted(members.iter().copied(), hash)?)
    }
}

/// Chooses by weight. Each choice has as many slots as its weight, and `hash` modulo the number of
/// slots is the chosen slot.
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
