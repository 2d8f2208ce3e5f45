//! Match-action tables: entries, and the index that finds them.

mod block;
mod bytes;
mod entry;
mod exact;
mod index;
mod lpm;
#[cfg(test)]
mod model;
mod planes;
mod priority;
mod profile;
mod row;
mod shape;
mod sparse;

pub(crate) use entry::{Entry, EntryKind, Resolved};
pub use exact::{ExactMap, HASH_KEYS};
pub(crate) use index::Index;
pub(crate) use profile::{Profile, weighted};
pub(crate) use row::in_range;

use netkv_ir::{HashAlgorithm, Match, MatchKind, Program, Table as IrTable, TableKey};
use rustc_hash::FxHashMap;

use exact::Inline;

use crate::error::ProgramError;

/// How the entries of a table are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TableKind {
    Exact,
    /// Prefix length decides.
    Lpm,
    /// Priority decides: ternary, optional or range keys.
    Priority,
}

/// What names an entry: its matches in key order, and its priority.
type EntryName = (Box<[Match]>, u32);

/// A table with its entries.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) kind: TableKind,
    /// Keys that entries match on (no selector keys).
    pub(crate) keys: Vec<TableKey>,
    pub(crate) default: Resolved,
    pub(crate) direct_meter: Option<u32>,
    pub(crate) direct_counter: bool,
    pub(crate) idle_timeout: bool,
    /// Index of the action profile.
    pub(crate) profile: Option<usize>,
    pub(crate) selector: Option<HashAlgorithm>,
    /// Index in the table's action list by action id.
    action_index: Vec<(u32, u32)>,
    entries: Vec<Option<Entry>>,
    free: Vec<u32>,
    names: FxHashMap<EntryName, u32>,
    index: Index,
}

impl Table {
    /// The table with its entries from the source.
    pub(crate) fn new(program: &Program, table: &IrTable) -> Result<Self, ProgramError> {
        let keys: Vec<TableKey> =
            table.keys.iter().filter(|key| key.kind != MatchKind::Selector).cloned().collect();
        let kind = kind_of(&keys).map_err(|text| {
            ProgramError::new(format!("Table '{}': {text}.", table.identity.name))
        })?;
        let action_of = |call: &netkv_ir::ActionCall| {
            Resolved::new(table.actions[call.action as usize].action, &call.data)
        };
        let profile = table.action_profile.map(|index| index as usize);
        let mut result = Self {
            index: Index::new(kind, &keys, data_words(program, table)),
            kind,
            keys,
            default: action_of(&table.default_action),
            direct_meter: table.direct_meter,
            direct_counter: table.direct_counter.is_some(),
            idle_timeout: table.idle_timeout,
            profile,
            selector: profile.and_then(|index| program.action_profiles[index].selector),
            action_index: (0..)
                .zip(&table.actions)
                .map(|(index, action)| (action.action, index))
                .collect(),
            entries: Vec::new(),
            free: Vec::new(),
            names: FxHashMap::default(),
        };
        for initial in &table.entries {
            let priority = if kind == TableKind::Priority { initial.priority } else { 0 };
            // Of two equal entries the first in program order wins.
            let matches: Vec<Match> = initial.matches.iter().map(entry::canonical).collect();
            if result.find(&matches, priority).is_none() {
                let action = EntryKind::Direct(action_of(&initial.action));
                result.insert(Entry::new(matches, priority, action));
            }
        }
        Ok(result)
    }

    /// The entry that matches these key words, if any.
    #[inline]
    pub(crate) fn lookup(&self, key: &[u64]) -> Option<u32> {
        self.index.find(key)
    }

    /// Entries installed.
    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    /// All entries with their ids, in order of installation slots.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().flatten()
    }

    /// The entry with exactly these matches and this priority.
    pub(crate) fn find(&self, matches: &[Match], priority: u32) -> Option<u32> {
        self.names.get(&(matches.into(), priority)).copied()
    }

    /// An entry that exists.
    pub(crate) fn entry(&self, id: u32) -> &Entry {
        self.entries[id as usize].as_ref().expect("the index names only installed entries")
    }

    /// An entry that exists.
    pub(crate) fn entry_mut(&mut self, id: u32) -> &mut Entry {
        self.entries[id as usize].as_mut().expect("the index names only installed entries")
    }

    /// Installs an entry whose name is new.
    pub(crate) fn insert(&mut self, entry: Entry) {
        let id = self.free.pop().unwrap_or(self.entries.len() as u32);
        let inline = inline(&self.action_index, &entry.kind);
        self.index.insert(&entry.matches, entry.priority, id, inline);
        self.names.insert((entry.matches.as_slice().into(), entry.priority), id);
        if id as usize == self.entries.len() {
            self.entries.push(Some(entry));
        } else {
            self.entries[id as usize] = Some(entry);
        }
    }

    /// Changes what an entry runs.
    pub(crate) fn set_kind(&mut self, id: u32, kind: EntryKind) {
        let Some(entry) = &mut self.entries[id as usize] else { return };
        self.index.update(&entry.matches, id, inline(&self.action_index, &kind));
        entry.kind = kind;
    }

    /// Its hash table, if all keys are exact.
    pub(crate) fn exact(&self) -> Option<&ExactMap> {
        self.index.exact()
    }

    /// Takes an entry out.
    pub(crate) fn remove(&mut self, id: u32) {
        if let Some(entry) = self.entries[id as usize].take() {
            self.index.remove(&entry.matches, id);
            self.names.remove(&(entry.matches.into_boxed_slice(), entry.priority));
            self.free.push(id);
        }
    }

    /// Index of an action in the table's list.
    #[inline]
    pub(crate) fn index_of(&self, action: u32) -> Option<u32> {
        index_of(&self.action_index, action)
    }
}

fn index_of(actions: &[(u32, u32)], action: u32) -> Option<u32> {
    actions.iter().find(|(id, _)| *id == action).map(|(_, index)| *index)
}

/// What a slot says of an entry. Members and groups are looked up elsewhere, so nothing is theirs.
fn inline<'a>(actions: &[(u32, u32)], kind: &'a EntryKind) -> Inline<'a> {
    match kind {
        EntryKind::Direct(resolved) => Inline {
            action: index_of(actions, resolved.action).unwrap_or(0),
            data: &resolved.words,
        },
        _ => Inline { action: 0, data: &[] },
    }
}

/// Words of the longest action data of a table.
fn data_words(program: &Program, table: &IrTable) -> usize {
    let words = |action: &netkv_ir::TableAction| {
        let params = program.actions[action.action as usize].params.iter();
        params.map(|param| param.width.div_ceil(64) as usize).sum()
    };
    table.actions.iter().map(words).max().unwrap_or(0)
}

/// The kind of a table by its keys.
fn kind_of(keys: &[TableKey]) -> Result<TableKind, String> {
    let any = |kind| keys.iter().any(|key| key.kind == kind);
    if any(MatchKind::Range) || any(MatchKind::Ternary) || any(MatchKind::Optional) {
        return Ok(TableKind::Priority);
    }
    match keys.iter().filter(|key| key.kind == MatchKind::Lpm).count() {
        0 => Ok(TableKind::Exact),
        1 => Ok(TableKind::Lpm),
        n => Err(format!("{n} lpm keys, but without a ternary key there can be only one")),
    }
}
