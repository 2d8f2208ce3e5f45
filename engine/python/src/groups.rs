//! `Switch`: action profiles and selectors.

use netkv_dataplane::GroupMember;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::switch::Switch;
use crate::values::{Params, params_of, params_out};

impl Switch {
    fn profiles(&self, py: Python<'_>, profile_id: u32) -> Vec<u32> {
        if profile_id != 0 {
            return vec![profile_id];
        }
        let program = self.program(py);
        program.action_profiles.iter().map(|profile| profile.identity.id).collect()
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
            let members = self.read_in(py, pipeline, |engine| engine.read_members(profile))?;
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

    #[pyo3(signature = (profile_id, group_id, members, *, pipeline = None))]
    fn insert_action_group(
        &self,
        py: Python<'_>,
        profile_id: u32,
        group_id: u32,
        members: Vec<GroupMember>,
        pipeline: Option<usize>,
    ) -> PyResult<()> {
        self.control_in(py, pipeline, |engine| engine.insert_group(profile_id, group_id, &members))
    }

    #[pyo3(signature = (profile_id, group_id, members, *, pipeline = None))]
    fn modify_action_group(
        &self,
        py: Python<'_>,
        profile_id: u32,
        group_id: u32,
        members: Vec<GroupMember>,
        pipeline: Option<usize>,
    ) -> PyResult<()> {
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
        self.control_in(py, pipeline, |engine| engine.delete_group(profile_id, group_id))
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
            let groups = self.read_in(py, pipeline, |engine| engine.read_groups(profile))?;
            for (group_id, members) in groups {
                let dict = PyDict::new(py);
                dict.set_item("profile_id", profile)?;
                dict.set_item("group_id", group_id)?;
                dict.set_item("members", members)?;
                list.append(dict)?;
            }
        }
        Ok(list)
    }
}
