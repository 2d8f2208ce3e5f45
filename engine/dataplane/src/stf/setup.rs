//! Executes the commands that configure the switch.

use std::collections::BTreeMap;

use netkv_ir::{MatchKind, Program, Value};

use super::command::{Call, Command};
use super::{literal, name_lookup};
use crate::control_plane::{EntryAction, TableEntry};
use crate::replication::CloneSession;
use crate::switch::Switch;

/// Multicast nodes and groups. A node is created before it is associated with a group.
#[derive(Debug, Default)]
pub(super) struct Setup {
    nodes: Vec<(u16, Vec<u16>)>,
    groups: BTreeMap<u32, Vec<usize>>,
}

impl Setup {
    /// Executes one command.
    pub(super) fn run(&mut self, switch: &mut Switch, command: Command) -> Result<(), String> {
        match command {
            Command::Add { table, priority, keys, action } => {
                let entry = build_entry(switch, &table, priority, &keys, &action)?;
                switch.insert_entry(entry).map_err(|error| error.message)
            }
            Command::SetDefault { table, action } => {
                let program = switch.program().clone();
                let at = find_table(&program, &table)?;
                let (action_id, params) = bind_action(&program, at, &action)?;
                let id = program.tables[at].identity.id;
                switch.set_default(id, action_id, &params).map_err(|error| error.message)
            }
            Command::MirroringAdd { session, port } => {
                let replicas = vec![(port, 0)];
                let value = CloneSession { replicas, ..CloneSession::default() };
                switch.insert_clone_session(session, value).map_err(|error| error.message)
            }
            Command::GroupCreate(group) => {
                self.groups.insert(group, Vec::new());
                switch.insert_multicast_group(group, Vec::new()).map_err(|error| error.message)
            }
            Command::NodeCreate { instance, ports } => {
                self.nodes.push((instance, ports));
                Ok(())
            }
            Command::NodeAssociate { group, handle } => self.associate(switch, group, handle),
            Command::RegisterWrite { register, index, value } => {
                let registers = &switch.program().registers;
                let identities = registers.iter().map(|register| &register.identity);
                let at = name_lookup::find("register", &register, identities)?;
                let (id, width) = (registers[at].identity.id, registers[at].width);
                let value = literal::parse_value(&value, width)?;
                switch.write_register(id, Some(index), &value).map_err(|error| error.message)
            }
            Command::Packet { .. } | Command::Expect { .. } => {
                Err("Packets are no set-up.".to_owned())
            }
        }
    }

    fn associate(&mut self, switch: &mut Switch, group: u32, handle: usize) -> Result<(), String> {
        if handle >= self.nodes.len() {
            return Err(format!("There is no multicast node {handle}; handles count from 0."));
        }
        let members = self.groups.get_mut(&group);
        let members = members.ok_or_else(|| format!("There is no multicast group {group}."))?;
        members.push(handle);
        let mut replicas = Vec::new();
        for handle in members {
            let (instance, ports) = &self.nodes[*handle];
            replicas.extend(ports.iter().map(|port| (*port, *instance)));
        }
        switch.modify_multicast_group(group, replicas).map_err(|error| error.message)
    }
}

/// The name of a key with `[N]` for each `$N`.
fn element_name(name: &str) -> String {
    let mut parts = name.split('$');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let (index, rest) = part.split_at(digits);
        match index {
            "" => text += &format!("${rest}"),
            index => text += &format!("[{index}]{rest}"),
        }
    }
    text
}

fn find_table(program: &Program, name: &str) -> Result<usize, String> {
    name_lookup::find("table", name, program.tables.iter().map(|table| &table.identity))
}

fn build_entry(
    switch: &Switch,
    table: &str,
    priority: Option<u32>,
    keys: &[(String, String)],
    action: &Call,
) -> Result<TableEntry, String> {
    let program = switch.program();
    let at = find_table(program, table)?;
    let fields: Vec<_> = switch.match_keys(at).collect();
    let field_names: Vec<&str> = fields.iter().map(|key| key.name.as_str()).collect();
    let mut matches = Vec::new();
    for (name, text) in keys {
        // p4c's tests write `stack$0` for `stack[0]`.
        let name = element_name(name);
        let field = name_lookup::by_suffix("key", &name, &field_names)?;
        let key = fields[field];
        if let Some(one) = literal::parse_match(text, key.kind, key.width)? {
            matches.push((field as u32 + 1, one));
        }
    }
    let by_priority =
        |kind| matches!(kind, MatchKind::Ternary | MatchKind::Range | MatchKind::Optional);
    let has_priority = fields.iter().any(|key| by_priority(key.kind));
    let (action_id, params) = bind_action(program, at, action)?;
    Ok(TableEntry {
        table_id: program.tables[at].identity.id,
        matches,
        action: EntryAction::Direct { action_id, params },
        // Tests of p4c give priorities in exact tables, too, where they have no effect.
        // One test of p4c gives the priority 0, the lowest one.
        priority: if has_priority { priority.unwrap_or(1).max(1) } else { 0 },
        metadata: Vec::new(),
        controller_metadata: 0,
        idle_timeout_ns: 0,
    })
}

/// P4Info id of an action of a table, and its arguments in order.
fn bind_action(program: &Program, table: usize, call: &Call) -> Result<(u32, Vec<Value>), String> {
    let actions: Vec<_> = program.tables[table]
        .actions
        .iter()
        .map(|action| &program.actions[action.action as usize])
        .collect();
    let at =
        name_lookup::find("action", &call.action, actions.iter().map(|action| &action.identity))?;
    let action = actions[at];
    let mut params: Vec<Option<Value>> = vec![None; action.params.len()];
    for (position, (name, text)) in call.arguments.iter().enumerate() {
        let index = if name.is_empty() {
            Some(position)
        } else {
            action.params.iter().position(|param| param.name == *name)
        };
        let slot = index.and_then(|index| Some((params.get_mut(index)?, &action.params[index])));
        let Some((slot, param)) = slot else {
            let known: Vec<&str> = action.params.iter().map(|p| p.name.as_str()).collect();
            return Err(format!(
                "Action '{}' has no parameter '{name}'; it has {}.",
                action.identity.name,
                if known.is_empty() { "none".to_owned() } else { known.join(", ") }
            ));
        };
        *slot = Some(literal::parse_value(text, param.width)?);
    }
    let params = params.into_iter().zip(&action.params).map(|(value, param)| {
        value.ok_or_else(|| {
            format!("Action '{}' needs parameter '{}'.", action.identity.name, param.name)
        })
    });
    Ok((action.identity.id, params.collect::<Result<_, _>>()?))
}
