//! Requests of the control plane as values. A case applies them to both switches, the reduction
//! removes them one by one, and a report prints them.

use std::fmt::Write as _;

use netkv_dataplane::{
    CloneSession, ControlError, EntryAction, GroupMember, MeterConfig, Switch, TableEntry,
};
use netkv_ir::{Identity, Match, MatchKind, Program, Value};

/// Match fields by their ids.
pub type Matches = Vec<(u32, Match)>;

/// One request. Ids are those of P4Info.
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub enum Request {
    Insert(TableEntry),
    Modify(TableEntry),
    Delete {
        table: u32,
        matches: Matches,
        priority: u32,
    },
    SetDefault {
        table: u32,
        action: u32,
        params: Vec<Value>,
    },
    ResetDefault {
        table: u32,
    },
    WriteRegister {
        register: u32,
        index: Option<u32>,
        value: Value,
    },
    WriteMeter {
        meter: u32,
        index: Option<u32>,
        config: Option<MeterConfig>,
    },
    WriteDirectMeter {
        table: u32,
        matches: Matches,
        priority: u32,
        config: Option<MeterConfig>,
    },
    InsertMember {
        profile: u32,
        member: u32,
        action: u32,
        params: Vec<Value>,
    },
    ModifyMember {
        profile: u32,
        member: u32,
        action: u32,
        params: Vec<Value>,
    },
    InsertGroup {
        profile: u32,
        group: u32,
        members: Vec<GroupMember>,
    },
    ModifyGroup {
        profile: u32,
        group: u32,
        members: Vec<GroupMember>,
    },
    InsertMulticast {
        group: u32,
        replicas: Vec<(u16, u16)>,
    },
    ModifyMulticast {
        group: u32,
        replicas: Vec<(u16, u16)>,
    },
    DeleteMulticast {
        group: u32,
    },
    InsertSession {
        session: u32,
        to: CloneSession,
    },
    ModifySession {
        session: u32,
        to: CloneSession,
    },
    DeleteSession {
        session: u32,
    },
    SetValueSet {
        set: u32,
        members: Vec<Matches>,
    },
    /// A request for one pipeline only.
    InPipeline {
        pipeline: usize,
        request: Box<Request>,
    },
}

impl Request {
    /// Applies the request to a switch.
    ///
    /// # Errors
    ///
    /// The error of the switch, since the fuzzer also makes invalid requests.
    pub fn apply(&self, switch: &mut Switch) -> Result<(), ControlError> {
        match self.clone() {
            Request::Insert(entry) => switch.insert_entry(entry),
            Request::Modify(entry) => switch.modify_entry(entry),
            Request::Delete { table, matches, priority } => {
                switch.delete_entry(table, &matches, priority)
            }
            Request::SetDefault { table, action, params } => {
                switch.set_default(table, action, &params)
            }
            Request::ResetDefault { table } => switch.reset_default(table),
            Request::WriteRegister { register, index, value } => {
                switch.write_register(register, index, &value)
            }
            Request::WriteMeter { meter, index, config } => {
                switch.write_meter(meter, index, config)
            }
            Request::WriteDirectMeter { table, matches, priority, config } => {
                switch.write_direct_meter(table, &matches, priority, config)
            }
            Request::InsertMember { profile, member, action, params } => {
                switch.insert_member(profile, member, action, &params)
            }
            Request::ModifyMember { profile, member, action, params } => {
                switch.modify_member(profile, member, action, &params)
            }
            Request::InsertGroup { profile, group, members } => {
                switch.insert_group(profile, group, &members)
            }
            Request::ModifyGroup { profile, group, members } => {
                switch.modify_group(profile, group, &members)
            }
            Request::InsertMulticast { group, replicas } => {
                switch.insert_multicast_group(group, replicas)
            }
            Request::ModifyMulticast { group, replicas } => {
                switch.modify_multicast_group(group, replicas)
            }
            Request::DeleteMulticast { group } => switch.delete_multicast_group(group),
            Request::InsertSession { session, to } => switch.insert_clone_session(session, to),
            Request::ModifySession { session, to } => switch.modify_clone_session(session, to),
            Request::DeleteSession { session } => switch.delete_clone_session(session),
            Request::SetValueSet { set, members } => switch.set_value_set(set, &members),
            Request::InPipeline { pipeline, request } => {
                switch.in_pipeline(pipeline, |switch| request.apply(switch))
            }
        }
    }

    /// The request as lines of an STF file; as a comment if STF has no command for it.
    pub fn to_stf(&self, program: &Program) -> String {
        match self {
            Request::Insert(entry) => {
                entry_text(program, entry).unwrap_or_else(|| format!("# {self:?}"))
            }
            Request::SetDefault { table, action, params } => {
                let table = name(program.tables.iter().map(|t| &t.identity), *table);
                format!("setdefault {table} {}", call(program, *action, params))
            }
            Request::WriteRegister { register, index, value } => {
                let found = program.registers.iter().find(|r| r.identity.id == *register);
                let name = found.map_or("?", |r| r.identity.name.as_str());
                match index {
                    Some(index) => format!("register_write {name} {index} {value}"),
                    None => format!("# register_write, all cells: {name} {value}"),
                }
            }
            Request::InsertSession { session, to } => {
                let lines =
                    to.replicas.iter().map(|(port, _)| format!("mirroring_add {session} {port}"));
                lines.collect::<Vec<_>>().join("\n")
            }
            Request::InsertMulticast { group, replicas } => {
                // The nodes are not associated with the group, since their handles depend on the
                // rest of the file.
                let mut text = format!("mc_mgrp_create {group}");
                for (port, instance) in replicas {
                    let _ = write!(text, "\nmc_node_create {instance} {port}");
                }
                text
            }
            Request::InPipeline { pipeline, request } => {
                let lines = request.to_stf(program);
                let lines =
                    lines.lines().map(|line| format!("# only in pipeline {pipeline}: {line}"));
                lines.collect::<Vec<_>>().join("\n")
            }
            other => format!("# {other:?}"),
        }
    }
}

fn name<'a>(mut identities: impl Iterator<Item = &'a Identity>, id: u32) -> &'a str {
    identities.find(|identity| identity.id == id).map_or("?", |identity| identity.name.as_str())
}

fn call(program: &Program, id: u32, params: &[Value]) -> String {
    let Some(action) = program.actions.iter().find(|action| action.identity.id == id) else {
        return "?()".to_owned();
    };
    let arguments: Vec<String> = action
        .params
        .iter()
        .zip(params)
        .map(|(param, value)| format!("{}:{value}", param.name))
        .collect();
    format!("{}({})", action.identity.name, arguments.join(", "))
}

fn entry_text(program: &Program, entry: &TableEntry) -> Option<String> {
    let EntryAction::Direct { action_id, params } = &entry.action else { return None };
    let table = program.tables.iter().find(|table| table.identity.id == entry.table_id)?;
    let keys: Vec<_> = table.keys.iter().filter(|key| key.kind != MatchKind::Selector).collect();
    let mut text = format!("add {}", table.identity.name);
    if entry.priority > 0 {
        let _ = write!(text, " {}", entry.priority);
    }
    for (id, one) in &entry.matches {
        let key = &keys.get(*id as usize - 1)?.name;
        let _ = match one {
            Match::Exact(value) | Match::Optional(Some(value)) => write!(text, " {key}:{value}"),
            Match::Lpm(value, length) => write!(text, " {key}:{value}/{length}"),
            Match::Ternary(value, mask) => write!(text, " {key}:{value}/{mask}"),
            Match::Range(low, high) => write!(text, " {key}:{low}->{high}"),
            Match::Optional(None) => Ok(()),
        };
    }
    let _ = write!(text, " {}", call(program, *action_id, params));
    Some(text)
}
