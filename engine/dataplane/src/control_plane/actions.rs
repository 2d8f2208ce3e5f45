//! Converts the actions of entries between P4Info ids and the program's indices.

use netkv_ir::{Program, Table as IrTable, Value};

use super::pipeline_view::PipelineView;
use super::table_entry::{EntryAction, WeightedAction};
use crate::error::ControlError;
use crate::tables::{BoundAction, EntryKind};

/// How a table uses an action. `@tableonly` and `@defaultonly` restrict it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ActionUse {
    Entry,
    Default,
}

/// Checks an action and its parameters, and binds them.
pub(super) fn bind(
    program: &Program,
    action_id: u32,
    params: &[Value],
) -> Result<BoundAction, ControlError> {
    let found = (0..).zip(&program.actions).find(|(_, action)| action.identity.id == action_id);
    let Some((index, action)) = found else {
        return Err(ControlError::not_found(format!(
            "The program has no action with id {action_id:#010x}."
        )));
    };
    let name = &action.identity.name;
    if params.len() != action.params.len() {
        let list: Vec<&str> = action.params.iter().map(|param| param.name.as_str()).collect();
        return Err(ControlError::invalid(format!(
            "Action '{name}' takes {} parameters ({}), but {} are given.",
            action.params.len(),
            list.join(", "),
            params.len()
        )));
    }
    for (param, value) in action.params.iter().zip(params) {
        if value.width != param.width
            || *value != Value::from_words(param.width, value.words.clone())
        {
            return Err(ControlError::invalid(format!(
                "Action '{name}': parameter '{}' has {} bits, but the value has {}.",
                param.name, param.width, value.width
            )));
        }
    }
    Ok(BoundAction::new(index, params))
}

/// Checks an action and its parameters for this use in a table, and binds them.
pub(super) fn bind_in_table(
    program: &Program,
    table: &IrTable,
    action_use: ActionUse,
    action_id: u32,
    params: &[Value],
) -> Result<BoundAction, ControlError> {
    let bound = bind(program, action_id, params)?;
    let action = &program.actions[bound.action as usize].identity.name;
    let name = &table.identity.name;
    let Some(allowed) = table.actions.iter().find(|a| a.action == bound.action) else {
        let list: Vec<&str> = table
            .actions
            .iter()
            .map(|a| program.actions[a.action as usize].identity.name.as_str())
            .collect();
        return Err(ControlError::invalid(format!(
            "Action '{action}' is none of table '{name}'; its actions are {}.",
            list.join(", ")
        )));
    };
    if action_use == ActionUse::Entry && allowed.default_only {
        return Err(ControlError::invalid(format!(
            "Action '{action}' of table '{name}' is @defaultonly: no entry may run it."
        )));
    }
    if action_use == ActionUse::Default && allowed.table_only {
        return Err(ControlError::invalid(format!(
            "Action '{action}' of table '{name}' is @tableonly: it cannot be the default action."
        )));
    }
    Ok(bound)
}

impl PipelineView<'_> {
    /// Checks the action of an entry, and binds it.
    pub(super) fn entry_kind(
        &self,
        table: usize,
        action: &EntryAction,
    ) -> Result<EntryKind, ControlError> {
        let program = self.program;
        let ir = &program.tables[table];
        let name = &ir.identity.name;
        let profile = ir.action_profile.map(|index| index as usize);
        let selector = profile.and_then(|index| program.action_profiles[index].selector);
        let in_table =
            |id, params: &[Value]| bind_in_table(program, ir, ActionUse::Entry, id, params);
        match (action, profile) {
            (EntryAction::Direct { action_id, params }, None) => {
                Ok(EntryKind::Direct(in_table(*action_id, params)?))
            }
            (EntryAction::Direct { .. }, Some(profile)) => Err(ControlError::invalid(format!(
                "Table '{name}' takes its actions from '{}': give a member or a group.",
                program.action_profiles[profile].identity.name
            ))),
            (_, None) => Err(ControlError::invalid(format!(
                "Table '{name}' has no action profile: give an action with its parameters."
            ))),
            (EntryAction::Member(id), Some(profile)) => {
                let members = &self.objects.profiles[profile].members;
                let profile = &program.action_profiles[profile].identity.name;
                let member = members.get(id).ok_or_else(|| {
                    ControlError::not_found(format!("'{profile}' has no member {id}."))
                })?;
                self.check_in_table(table, member)?;
                Ok(EntryKind::Member(*id))
            }
            (EntryAction::Group(id), Some(profile)) => {
                let objects = &self.objects.profiles[profile];
                let name = &program.action_profiles[profile].identity.name;
                let group = objects.groups.get(id).ok_or_else(|| {
                    ControlError::not_found(format!("'{name}' has no group {id}."))
                })?;
                for (member, _) in group {
                    objects.member(*member).map_or(Ok(()), |m| self.check_in_table(table, m))?;
                }
                Ok(EntryKind::Group(*id))
            }
            (EntryAction::OneShot(actions), Some(_)) => {
                if selector.is_none() {
                    return Err(ControlError::invalid(format!(
                        "Table '{name}' has an action profile without selector: give a member."
                    )));
                }
                actions
                    .iter()
                    .map(|action| {
                        if action.weight == 0 {
                            return Err(ControlError::invalid(format!(
                                "Table '{name}': the weight of an action must be at least 1."
                            )));
                        }
                        Ok((in_table(action.action_id, &action.params)?, action.weight))
                    })
                    .collect::<Result<_, _>>()
                    .map(EntryKind::OneShot)
            }
        }
    }

    fn check_in_table(&self, table: usize, member: &BoundAction) -> Result<(), ControlError> {
        let ir = &self.program.tables[table];
        let id = self.program.actions[member.action as usize].identity.id;
        bind_in_table(self.program, ir, ActionUse::Entry, id, &member.params(self.program))
            .map(|_| ())
    }

    /// Converts the action of an entry for the control plane.
    pub(super) fn action_of(&self, kind: &EntryKind) -> EntryAction {
        let id = |action: &BoundAction| self.program.actions[action.action as usize].identity.id;
        match kind {
            EntryKind::Direct(action) => {
                EntryAction::Direct { action_id: id(action), params: action.params(self.program) }
            }
            EntryKind::Member(member) => EntryAction::Member(*member),
            EntryKind::Group(group) => EntryAction::Group(*group),
            EntryKind::OneShot(actions) => EntryAction::OneShot(
                actions
                    .iter()
                    .map(|(action, weight)| WeightedAction {
                        action_id: id(action),
                        params: action.params(self.program),
                        weight: *weight,
                    })
                    .collect(),
            ),
        }
    }
}
