//! Assigns P4Info ids and aliases as p4c does, so that any P4Runtime client can use them.

use std::collections::{HashMap, HashSet};

use netkv_ir::{Identity, Program};

/// Inputs for the ids that the source determines.
#[derive(Debug, Default)]
pub(crate) struct DeclaredIds {
    /// Ids from `@id`, by control-plane name.
    pub ids: HashMap<String, u32>,
    /// Names of direct counters and meters.
    pub direct_externs: HashSet<String>,
    /// Type names of the controller headers, in the order of the headers. Ids hash these names.
    pub controller_types: Vec<String>,
}

const ACTION: u32 = 0x01;
const TABLE: u32 = 0x02;
const VALUE_SET: u32 = 0x03;
const CONTROLLER_HEADER: u32 = 0x04;
const ACTION_PROFILE: u32 = 0x11;
const COUNTER: u32 = 0x12;
const DIRECT_COUNTER: u32 = 0x13;
const METER: u32 = 0x14;
const DIRECT_METER: u32 = 0x15;
const REGISTER: u32 = 0x16;
const DIGEST: u32 = 0x17;

/// Jenkins's one-at-a-time hash.
pub(crate) fn hash(name: &str) -> u32 {
    let mut hash = 0u32;
    for byte in name.bytes() {
        hash = hash.wrapping_add(u32::from(byte));
        hash = hash.wrapping_add(hash << 10);
        hash ^= hash >> 6;
    }
    hash = hash.wrapping_add(hash << 3);
    hash ^= hash >> 11;
    hash.wrapping_add(hash << 15)
}

/// An identity without id, the prefix of its id, and the name to hash.
type IdRequest<'a> = (&'a mut Identity, u32, String);

/// Assigns the ids and aliases of all objects of a program.
pub(crate) fn assign(program: &mut Program, declared: &DeclaredIds) {
    let mut found: Vec<IdRequest<'_>> = Vec::new();
    let mut add = |identity, prefix, hashed: Option<String>| {
        let identity: &mut Identity = identity;
        let hashed = hashed.unwrap_or_else(|| identity.name.clone());
        found.push((identity, prefix, hashed));
    };
    for action in &mut program.actions {
        add(&mut action.identity, ACTION, None);
    }
    for table in &mut program.tables {
        add(&mut table.identity, TABLE, None);
    }
    for set in &mut program.value_sets {
        add(&mut set.identity, VALUE_SET, None);
    }
    for (header, of) in program.controller_headers.iter_mut().zip(&declared.controller_types) {
        add(&mut header.identity, CONTROLLER_HEADER, Some(of.clone()));
    }
    for profile in &mut program.action_profiles {
        add(&mut profile.identity, ACTION_PROFILE, None);
    }
    for counter in &mut program.counters {
        let direct = declared.direct_externs.contains(&counter.identity.name);
        add(&mut counter.identity, if direct { DIRECT_COUNTER } else { COUNTER }, None);
    }
    for meter in &mut program.meters {
        let direct = declared.direct_externs.contains(&meter.identity.name);
        add(&mut meter.identity, if direct { DIRECT_METER } else { METER }, None);
    }
    for register in &mut program.registers {
        add(&mut register.identity, REGISTER, None);
    }
    for digest in &mut program.digests {
        add(&mut digest.identity, DIGEST, None);
    }
    assign_ids(&mut found, declared);
    assign_aliases(&mut found);
}

fn assign_ids(found: &mut [IdRequest<'_>], declared: &DeclaredIds) {
    let mut taken = HashSet::new();
    for (identity, prefix, _) in found.iter_mut() {
        if let Some(id) = declared.ids.get(&identity.name) {
            identity.id = (id & 0xff_ffff) | *prefix << 24;
            taken.insert(identity.id);
        }
    }
    // Sorted by name, so that the order of declarations does not matter if hashes collide.
    found.sort_by(|a, b| (a.1, &a.2).cmp(&(b.1, &b.2)));
    for (identity, prefix, hashed) in found.iter_mut() {
        if identity.id != 0 {
            continue;
        }
        let mut value = hash(hashed);
        loop {
            identity.id = (value & 0xff_ffff) | *prefix << 24;
            if taken.insert(identity.id) {
                break;
            }
            value = value.wrapping_add(1);
        }
    }
}

/// Assigns to each object the shortest dotted suffix of its name that no other object has.
fn assign_aliases(found: &mut [IdRequest<'_>]) {
    let mut count: HashMap<String, u32> = HashMap::new();
    for (identity, ..) in found.iter() {
        for suffix in suffixes(&identity.name) {
            *count.entry(suffix.to_string()).or_default() += 1;
        }
    }
    for (identity, ..) in found.iter_mut() {
        let alias = suffixes(&identity.name).find(|suffix| count[*suffix] == 1);
        identity.alias = alias.unwrap_or(&identity.name).to_string();
    }
}

/// Dotted suffixes, shortest first.
fn suffixes(name: &str) -> impl Iterator<Item = &str> {
    let starts = name.rmatch_indices('.').map(|(i, _)| i + 1).chain([0]);
    starts.map(move |start| &name[start..])
}
