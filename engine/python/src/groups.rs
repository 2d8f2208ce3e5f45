//! `Switch`: action profiles and selectors.

use std::collections::HashMap;
use std::sync::PoisonError;

use netkv_dataplane::GroupMember;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::errors::control_error;
use crate::switch::Switch;
use crate::values::{Params, params_of, params_out};

/// `max_size` of groups by (profile, group). P4Runtime requires it; the data plane does not use it.
pub type GroupSizes = HashMap<(u32, u32), u32>;

fn check_size(
    py: Python<'_>,
    group_id: u32,
    members: &[GroupMember],
    max_size: u32,
) -> PyResult<()> {
    let weights: u64 = members.iter().map(|(_, weight)| u64::from(*weight)).sum();
    if max_size == 0 || weights <= u64::from(max_size) {
        return Ok(());
    }
    let text = format!(
        "The weights of the members of group {group_id} are {weights} in total, more than its \
         max_size of {max_size}."
    );
    Err(control_error(py, "RESOURCE_EXHAUSTED", text))
}

impl Switch {
    fn profiles(&self, py: Python<'_>, profile_id: u32) -> Vec<u32> {
        if profile_id != 0 {
            return vec![profile_id];
        }
        let program = self.program(py);
        program.action_profiles.iter().map(|profile| profile.identity.id).collect()
    }

    fn sizes(&self) -> std::sync::MutexGuard<'_, GroupSizes> {
        self.group_sizes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Switch {
    #[pyo3(signature = (profile_id, member_id, action_id, params, *, pipeline = None))]
    fn insert_action_member(
        &self,
        py: Python<'_>,
        profile_id: u32,
        member_id: u32,
        action_id: u32,
        params: Params,
        pipeline: Option<usize>,
    ) -> PyResult<()> {
        let params = params_of(py, &self.program(py), action_id, &params)?;
        self.control_in(py, pipeline, |engine| {
            engine.insert_member(profile_id, member_id, action_id, &params)
        })
    }

    #[pyo3(signature = (profile_id, member_id, action_id, params, *, pipeline = None))]
    fn modify_action_member(
        &self,
        py: Python<'_>,
        profile_id: u32,
        member_id: u32,
        action_id: u32,
        params: Params,
        pipeline: Option<usize>,
    ) -> PyResult<()> {
        let params = params_of(py, &self.program(py), action_id, &params)?;
        self.control_in(py, pipeline, |engine| {
            engine.modify_member(profile_id, member_id, action_id, &params)
        })
    }

    #[pyo3(signature = (profile_id, member_id, *, pipeline = None))]
    fn delete_action_member(
        &self,
        py: Python<'_>,
        profile_id: u32,
        member_id: u32,
        pipeline: Option<usize>,
    ) -> PyResult<()> {
        self.control_in(py, pipeline, |engine| engine.delete_member(profile_id, member_id))
    }

    #[pyo3(signature = (profile_id = 0, *, pipeline = None))]
    fn read_action_members<'py>(
        &self,
        py: Python<'py>,
        profile_id: u32,
        pipeline: Option<usize>,
    ) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for profile in self.profiles(py, profile_id) {
            let members = self.control_in(py, pipeline, |engine| engine.read_members(profile))?;
            for (member_id, action_id, params) in &members {
                let dict = PyDict::new(py);
                dict.set_item("profile_id", profile)?;
                dict.set_item("member_id", member_id)?;
                dict.set_item("action_id", action_id)?;
                dict.set_item("params", params_out(py, params)?)?;
                list.append(dict)?;
            }
        }
        Ok(list)
    }

    #[pyo3(signature = (profile_id, group_id, members, max_size = 0, *, pipeline = None))]
    fn insert_action_group(
        &self,
        py: Python<'_>,
        profile_id: u32,
        group_id: u32,
        members: Vec<GroupMember>,
        max_size: u32,
        pipeline: Option<usize>,
    ) -> PyResult<()> {
        check_size(py, group_id, &members, max_size)?;
        self.control_in(py, pipeline, |engine| {
            engine.insert_group(profile_id, group_id, &members)
        })?;
        self.sizes().insert((profile_id, group_id), max_size);
        Ok(())
    }

    #[pyo3(signature = (profile_id, group_id, members, max_size = 0, *, pipeline = None))]
    fn modify_action_group(
        &self,
        py: Python<'_>,
        profile_id: u32,
        group_id: u32,
        members: Vec<GroupMember>,
        max_size: u32,
        pipeline: Option<usize>,
    ) -> PyResult<()> {
        let known = self.sizes().get(&(profile_id, group_id)).copied();
        if let Some(known) = known
            && max_size != 0
            && max_size != known
        {
            let text = format!(
                "The max_size of group {group_id} is {known} and cannot be modified; delete the \
                 group and insert it again to change it."
            );
            return Err(control_error(py, "INVALID_ARGUMENT", text));
        }
        check_size(py, group_id, &members, known.unwrap_or(0))?;
        self.control_in(py, pipeline, |engine| engine.modify_group(profile_id, group_id, &members))
    }

    #[pyo3(signature = (profile_id, group_id, *, pipeline = None))]
    fn delete_action_group(
        &self,
        py: Python<'_>,
        profile_id: u32,
        group_id: u32,
        pipeline: Option<usize>,
    ) -> PyResult<()> {
        self.control_in(py, pipeline, |engine| engine.delete_group(profile_id, group_id))?;
        self.sizes().remove(&(profile_id, group_id));
        Ok(())
    }

    #[pyo3(signature = (profile_id = 0, *, pipeline = None))]
    fn read_action_groups<'py>(
        &self,
        py: Python<'py>,
        profile_id: u32,
        pipeline: Option<usize>,
    ) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for profile in self.profiles(py, profile_id) {
            let groups = self.control_in(py, pipeline, |engine| engine.read_groups(profile))?;
            for (group_id, members) in groups {
                let dict = PyDict::new(py);
                dict.set_item("profile_id", profile)?;
                dict.set_item("group_id", group_id)?;
                dict.set_item("members", members)?;
                let max_size = self.sizes().get(&(profile, group_id)).copied().unwrap_or(0);
                dict.set_item("max_size", max_size)?;
                list.append(dict)?;
            }
        }
        Ok(list)
    }
}
