//! Control-plane requests for the members and groups of action profiles and selectors.

use netkv_ir::{ActionProfile, Value};

use super::actions;
use super::pipeline_view::PipelineView;
use crate::error::{ControlCode, ControlError};
use crate::objects::Objects;
use crate::switch::Switch;
use crate::tables::{BoundAction, EntryKind};

/// A member of a group: its id and its weight (at least 1).
pub type GroupMember = (u32, u32);

impl PipelineView<'_> {
    fn profile_index(&self, id: u32) -> Result<usize, ControlError> {
        let profiles = &self.program.action_profiles;
        profiles.iter().position(|profile| profile.identity.id == id).ok_or_else(|| {
            ControlError::not_found(format!(
                "The program has no action profile with id {id:#010x}."
            ))
        })
    }

    fn profile_of(&self, at: usize) -> &ActionProfile {
        &self.program.action_profiles[at]
    }

    /// Checks the action of a member, which at least one table of the profile must allow.
    fn bind_member_action(
        &self,
        at: usize,
        action_id: u32,
        params: &[Value],
    ) -> Result<BoundAction, ControlError> {
        let bound = actions::bind(self.program, action_id, params)?;
        let mut tables = self.profile_of(at).tables.iter();
        let known = tables.any(|table| {
            let actions = &self.program.tables[*table as usize].actions;
            actions.iter().any(|action| action.action == bound.action && !action.default_only)
        });
        if known {
            return Ok(bound);
        }
        Err(ControlError::invalid(format!(
            "Action '{}' is none of the tables of action profile '{}'.",
            self.program.actions[bound.action as usize].identity.name,
            self.profile_of(at).identity.name
        )))
    }

    fn not_found_error(&self, at: usize, what: &str, id: u32) -> ControlError {
        let name = &self.profile_of(at).identity.name;
        ControlError::not_found(format!("'{name}' has no {what} {id}."))
    }

    fn check_group(&self, at: usize, members: &[GroupMember]) -> Result<(), ControlError> {
        let name = &self.profile_of(at).identity.name;
        if self.profile_of(at).selector.is_none() {
            return Err(ControlError::invalid(format!(
                "'{name}' is an action profile without selector: it has no groups."
            )));
        }
        for (position, (id, weight)) in members.iter().enumerate() {
            if !self.objects.profiles[at].members.contains_key(id) {
                return Err(self.not_found_error(at, "member", *id));
            }
            if *weight == 0 {
                let text = format!("'{name}': the weight of member {id} must be at least 1.");
                return Err(ControlError::invalid(text));
            }
            if members[..position].iter().any(|(other, _)| other == id) {
                let text = format!("'{name}': member {id} is in the group twice.");
                return Err(ControlError::invalid(text));
            }
        }
        Ok(())
    }
}

fn set_member(objects: &mut Objects, at: usize, member_id: u32, action: BoundAction) {
    objects.profiles[at].members.insert(member_id, action);
}

fn set_group(objects: &mut Objects, at: usize, group_id: u32, members: &[GroupMember]) {
    let mut members = members.to_vec();
    members.sort_unstable();
    objects.profiles[at].groups.insert(group_id, members);
}

impl Switch {
    /// Adds a member to an action profile.
    ///
    /// # Errors
    ///
    /// `NotFound`, `AlreadyExists`, `ResourceExhausted`, `InvalidArgument`.
    pub fn insert_member(
        &mut self,
        profile_id: u32,
        member_id: u32,
        action_id: u32,
        params: &[Value],
    ) -> Result<(), ControlError> {
        self.write(
            |view| {
                let at = view.profile_index(profile_id)?;
                let action = view.bind_member_action(at, action_id, params)?;
                let ActionProfile { size, identity, .. } = view.profile_of(at);
                let name = &identity.name;
                let members = &view.objects.profiles[at].members;
                if members.contains_key(&member_id) {
                    let text = format!("'{name}' has a member {member_id} already.");
                    return Err(ControlError::new(ControlCode::AlreadyExists, text));
                }
                if *size > 0 && members.len() as u64 >= *size {
                    let text = format!("'{name}' is full: it has room for {size} members.");
                    return Err(ControlError::new(ControlCode::ResourceExhausted, text));
                }
                Ok((at, action))
            },
            |objects, (at, action)| set_member(objects, at, member_id, action),
        )
    }

    /// Changes the action of a member. All entries and groups with the member use it.
    ///
    /// # Errors
    ///
    /// `NotFound`, `InvalidArgument`.
    pub fn modify_member(
        &mut self,
        profile_id: u32,
        member_id: u32,
        action_id: u32,
        params: &[Value],
    ) -> Result<(), ControlError> {
        self.write(
            |view| {
                let at = view.profile_index(profile_id)?;
                let action = view.bind_member_action(at, action_id, params)?;
                if !view.objects.profiles[at].members.contains_key(&member_id) {
                    return Err(view.not_found_error(at, "member", member_id));
                }
                Ok((at, action))
            },
            |objects, (at, action)| set_member(objects, at, member_id, action),
        )
    }

    /// Removes a member that no group and no entry uses.
    ///
    /// # Errors
    ///
    /// `NotFound`, `FailedPrecondition` (in use).
    pub fn delete_member(&mut self, profile_id: u32, member_id: u32) -> Result<(), ControlError> {
        self.write(
            |view| {
                let at = view.profile_index(profile_id)?;
                let profile = &view.objects.profiles[at];
                if !profile.members.contains_key(&member_id) {
                    return Err(view.not_found_error(at, "member", member_id));
                }
                let in_group = profile.groups.values().flatten().any(|(id, _)| *id == member_id);
                let uses = |kind: &EntryKind| *kind == EntryKind::Member(member_id);
                if in_group || view.any_entry(at, uses) {
                    let name = &view.profile_of(at).identity.name;
                    let text =
                        format!("Member {member_id} of '{name}' is in use by a group or an entry.");
                    return Err(ControlError::new(ControlCode::FailedPrecondition, text));
                }
                Ok(at)
            },
            |objects, at| drop(objects.profiles[at].members.remove(&member_id)),
        )
    }

    /// The members of a profile: id, action id, parameters.
    ///
    /// # Errors
    ///
    /// `NotFound`.
    pub fn read_members(
        &self,
        profile_id: u32,
    ) -> Result<Vec<(u32, u32, Vec<Value>)>, ControlError> {
        let view = self.view();
        let members = &view.objects.profiles[view.profile_index(profile_id)?].members;
        let id = |action: &BoundAction| self.program.actions[action.action as usize].identity.id;
        Ok(members.iter().map(|(at, a)| (*at, id(a), a.params(&self.program))).collect())
    }

    /// Adds a group to an action selector.
    ///
    /// # Errors
    ///
    /// `NotFound`, `AlreadyExists`, `InvalidArgument`.
    pub fn insert_group(
        &mut self,
        profile_id: u32,
        group_id: u32,
        members: &[GroupMember],
    ) -> Result<(), ControlError> {
        self.write(
            |view| {
                let at = view.profile_index(profile_id)?;
                view.check_group(at, members)?;
                if view.objects.profiles[at].groups.contains_key(&group_id) {
                    let name = &view.profile_of(at).identity.name;
                    let text = format!("'{name}' has a group {group_id} already.");
                    return Err(ControlError::new(ControlCode::AlreadyExists, text));
                }
                Ok(at)
            },
            |objects, at| set_group(objects, at, group_id, members),
        )
    }

    /// Replaces the members of a group.
    ///
    /// # Errors
    ///
    /// `NotFound`, `InvalidArgument`.
    pub fn modify_group(
        &mut self,
        profile_id: u32,
        group_id: u32,
        members: &[GroupMember],
    ) -> Result<(), ControlError> {
        self.write(
            |view| {
                let at = view.profile_index(profile_id)?;
                view.check_group(at, members)?;
                if !view.objects.profiles[at].groups.contains_key(&group_id) {
                    return Err(view.not_found_error(at, "group", group_id));
                }
                Ok(at)
            },
            |objects, at| set_group(objects, at, group_id, members),
        )
    }

    /// Removes a group that no entry uses.
    ///
    /// # Errors
    ///
    /// `NotFound`, `FailedPrecondition` (in use).
    pub fn delete_group(&mut self, profile_id: u32, group_id: u32) -> Result<(), ControlError> {
        self.write(
            |view| {
                let at = view.profile_index(profile_id)?;
                if !view.objects.profiles[at].groups.contains_key(&group_id) {
                    return Err(view.not_found_error(at, "group", group_id));
                }
                if view.any_entry(at, |kind| *kind == EntryKind::Group(group_id)) {
                    let name = &view.profile_of(at).identity.name;
                    let text = format!("Group {group_id} of '{name}' is in use by an entry.");
                    return Err(ControlError::new(ControlCode::FailedPrecondition, text));
                }
                Ok(at)
            },
            |objects, at| drop(objects.profiles[at].groups.remove(&group_id)),
        )
    }

    /// The groups of a profile with their members.
    ///
    /// # Errors
    ///
    /// `NotFound`.
    pub fn read_groups(
        &self,
        profile_id: u32,
    ) -> Result<Vec<(u32, Vec<GroupMember>)>, ControlError> {
        let view = self.view();
        let groups = &view.objects.profiles[view.profile_index(profile_id)?].groups;
        Ok(groups.iter().map(|(id, members)| (*id, members.clone())).collect())
    }
}
