//! Control-plane requests for multicast groups and clone sessions.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::{ControlCode, ControlError};
use crate::pipeline_instance::pipeline_of;
use crate::replication::{CloneSession, Replica, Replication};
use crate::switch::Switch;

/// Checks that all replicas differ.
fn check_replicas(owner: &str, replicas: &[Replica]) -> Result<(), ControlError> {
    for (at, replica) in replicas.iter().enumerate() {
        if replicas[..at].contains(replica) {
            let (port, instance) = replica;
            return Err(ControlError::invalid(format!(
                "{owner} has port {port} with instance {instance} twice."
            )));
        }
    }
    Ok(())
}

fn insert<T>(
    map: &mut BTreeMap<u32, T>,
    what: &str,
    id: u32,
    value: T,
) -> Result<(), ControlError> {
    if id == 0 {
        return Err(ControlError::invalid(format!("The id of a {what} must be above 0.")));
    }
    if map.contains_key(&id) {
        let text = format!("There is a {what} {id} already.");
        return Err(ControlError::new(ControlCode::AlreadyExists, text));
    }
    map.insert(id, value);
    Ok(())
}

fn existing<'a, T>(
    map: &'a mut BTreeMap<u32, T>,
    what: &str,
    id: u32,
) -> Result<&'a mut T, ControlError> {
    let missing = || ControlError::not_found(format!("There is no {what} {id}."));
    map.get_mut(&id).ok_or_else(missing)
}

impl Switch {
    /// Adds a multicast group, which makes one copy per `(port, instance)`.
    ///
    /// # Errors
    ///
    /// `AlreadyExists`, `InvalidArgument` (id 0, a replica given twice).
    pub fn insert_multicast_group(
        &mut self,
        id: u32,
        replicas: Vec<Replica>,
    ) -> Result<(), ControlError> {
        check_replicas(&format!("Multicast group {id}"), &replicas)?;
        insert(&mut self.replication_mut().groups, "multicast group", id, replicas)?;
        self.update_group_targets();
        Ok(())
    }

    /// Replaces the replicas of a multicast group.
    ///
    /// # Errors
    ///
    /// `NotFound`, `InvalidArgument`.
    pub fn modify_multicast_group(
        &mut self,
        id: u32,
        replicas: Vec<Replica>,
    ) -> Result<(), ControlError> {
        check_replicas(&format!("Multicast group {id}"), &replicas)?;
        *existing(&mut self.replication_mut().groups, "multicast group", id)? = replicas;
        self.update_group_targets();
        Ok(())
    }

    /// Removes a multicast group.
    ///
    /// # Errors
    ///
    /// `NotFound`.
    pub fn delete_multicast_group(&mut self, id: u32) -> Result<(), ControlError> {
        existing(&mut self.replication_mut().groups, "multicast group", id)?;
        self.replication_mut().groups.remove(&id);
        self.update_group_targets();
        Ok(())
    }

    /// The multicast group with this id, or all groups in order of their ids.
    pub fn read_multicast_groups(&self, id: Option<u32>) -> Vec<(u32, Vec<Replica>)> {
        let groups = self.replication.groups.iter();
        groups
            .filter(|(i, _)| id.is_none_or(|id| id == **i))
            .map(|(i, r)| (*i, r.clone()))
            .collect()
    }

    /// Adds a clone session.
    ///
    /// # Errors
    ///
    /// `AlreadyExists`, `InvalidArgument` (id 0, a replica given twice).
    pub fn insert_clone_session(
        &mut self,
        id: u32,
        session: CloneSession,
    ) -> Result<(), ControlError> {
        check_replicas(&format!("Clone session {id}"), &session.replicas)?;
        insert(&mut self.replication_mut().sessions, "clone session", id, session)?;
        self.update_clone_targets();
        Ok(())
    }

    /// Replaces a clone session.
    ///
    /// # Errors
    ///
    /// `NotFound`, `InvalidArgument`.
    pub fn modify_clone_session(
        &mut self,
        id: u32,
        session: CloneSession,
    ) -> Result<(), ControlError> {
        check_replicas(&format!("Clone session {id}"), &session.replicas)?;
        *existing(&mut self.replication_mut().sessions, "clone session", id)? = session;
        self.update_clone_targets();
        Ok(())
    }

    /// Removes a clone session.
    ///
    /// # Errors
    ///
    /// `NotFound`.
    pub fn delete_clone_session(&mut self, id: u32) -> Result<(), ControlError> {
        existing(&mut self.replication_mut().sessions, "clone session", id)?;
        self.replication_mut().sessions.remove(&id);
        self.update_clone_targets();
        Ok(())
    }

    /// The groups and sessions, which all pipelines share.
    fn replication_mut(&mut self) -> &mut Replication {
        debug_assert_eq!(self.pipelines.range().len(), self.pipelines(), "all pipelines are here");
        Arc::make_mut(&mut self.replication)
    }

    fn update_group_targets(&mut self) {
        let pipelines = self.pipelines.count();
        for (pipeline, instance) in self.pipelines.iter_mut().enumerate() {
            let is_own = |port| pipeline_of(port, pipelines) == pipeline;
            instance.objects.set_group_targets(self.replication.group_targets(is_own));
        }
    }

    fn update_clone_targets(&mut self) {
        let pipelines = self.pipelines.count();
        for (pipeline, instance) in self.pipelines.iter_mut().enumerate() {
            let is_own = |port| pipeline_of(port, pipelines) == pipeline;
            instance.objects.set_clone_targets(self.replication.clone_targets(is_own));
        }
    }

    /// The clone session with this id, or all sessions in order of their ids.
    pub fn read_clone_sessions(&self, id: Option<u32>) -> Vec<(u32, CloneSession)> {
        let sessions = self.replication.sessions.iter();
        let chosen = sessions.filter(|(i, _)| id.is_none_or(|id| id == **i));
        chosen.map(|(i, session)| (*i, session.clone())).collect()
    }
}
