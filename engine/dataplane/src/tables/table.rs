//! A table: its entries by id, and its default action.

use netkv_ir::{HashAlgorithm, Match, MatchKind, Program, Table as IrTable, TableKey};
use rustc_hash::FxHashMap;

use super::entry::{self, BoundAction, Entry, EntryKind};
use super::exact_map::{ExactMap, SlotAction};
use super::index::{Index, TableKind};
use crate::error::ProgramError;

/// The identity of an entry in a table: its matches in key order, and its priority.
type EntryIdentity = (Box<[Match]>, u32);

/// A table with its entries.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) kind: TableKind,
    /// Keys without the selector keys.
    pub(crate) keys: Vec<TableKey>,
    pub(crate) default: BoundAction,
    pub(crate) direct_meter: Option<u32>,
    pub(crate) direct_counter: bool,
    pub(crate) idle_timeout: bool,
    /// Index of the action profile.
    pub(crate) profile: Option<usize>,
    pub(crate) selector: Option<HashAlgorithm>,
    /// Index in the table's action list by action id.
    pub(super) action_index: Vec<(u32, u32)>,
    /// Number of words of the longest action data.
    pub(super) data_words: usize,
    /// Increases with every change of an entry.
    changes: u64,
    entries: Vec<Option<Entry>>,
    free: Vec<u32>,
    ids: FxHashMap<EntryIdentity, u32>,
    index: Index,
}

impl Table {
    /// A table with its initial entries from the source.
    pub(crate) fn new(program: &Program, table: &IrTable) -> Result<Self, ProgramError> {
        let keys: Vec<TableKey> =
            table.keys.iter().filter(|key| key.kind != MatchKind::Selector).cloned().collect();
        let kind = kind_of(&keys).map_err(|text| {
            ProgramError::new(format!("Table '{}': {text}.", table.identity.name))
        })?;
        let action_of = |call: &netkv_ir::ActionCall| {
            BoundAction::new(table.actions[call.action as usize].action, &call.data)
        };
        let profile = table.action_profile.map(|index| index as usize);
        let mut result = Self {
            index: Index::new(kind, &keys, data_words(program, table)),
            data_words: data_words(program, table),
            changes: 0,
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
            ids: FxHashMap::default(),
        };
        for initial in &table.entries {
            let priority = if kind == TableKind::Priority { initial.priority } else { 0 };
            // If two entries are equal, the first one in the source wins.
            let matches: Vec<Match> = initial.matches.iter().map(entry::canonical).collect();
            if result.find(&matches, priority).is_none() {
                let action = EntryKind::Direct(action_of(&initial.action));
                result.insert(Entry::new(matches, priority, action));
            }
        }
        Ok(result)
    }

    /// Id of the entry that wins for these key words, if any matches.
    #[inline]
    pub(crate) fn lookup(&self, key: &[u64]) -> Option<u32> {
        self.index.find(key)
    }

    /// Number of entries.
    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    /// All entries in order of their ids.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().flatten()
    }

    /// Id of the entry with exactly these matches and this priority.
    pub(crate) fn find(&self, matches: &[Match], priority: u32) -> Option<u32> {
        self.ids.get(&(matches.into(), priority)).copied()
    }

    /// The entry with this id, which must exist.
    pub(crate) fn entry(&self, id: u32) -> &Entry {
        self.entries[id as usize].as_ref().expect("the index names only installed entries")
    }

    /// The entry with this id, which must exist.
    pub(crate) fn entry_mut(&mut self, id: u32) -> &mut Entry {
        self.entries[id as usize].as_mut().expect("the index names only installed entries")
    }

    /// Adds an entry. The table must not have an entry with this identity.
    pub(crate) fn insert(&mut self, entry: Entry) {
        self.changes += 1;
        let id = self.free.pop().unwrap_or(self.entries.len() as u32);
        let slot_action = slot_action(&self.action_index, &entry.kind);
        self.index.insert(&entry.matches, entry.priority, id, slot_action);
        self.ids.insert((entry.matches.as_slice().into(), entry.priority), id);
        if id as usize == self.entries.len() {
            self.entries.push(Some(entry));
        } else {
            self.entries[id as usize] = Some(entry);
        }
    }

    /// Changes the action of an entry.
    pub(crate) fn set_kind(&mut self, id: u32, kind: EntryKind) {
        let Some(entry) = &mut self.entries[id as usize] else { return };
        self.changes += 1;
        self.index.update(&entry.matches, id, slot_action(&self.action_index, &kind));
        entry.kind = kind;
    }

    /// The hash table of a table with exact keys only.
    pub(crate) fn exact(&self) -> Option<&ExactMap> {
        self.index.exact()
    }

    /// Removes an entry.
    pub(crate) fn remove(&mut self, id: u32) {
        if let Some(entry) = self.entries[id as usize].take() {
            self.changes += 1;
            self.index.remove(&entry.matches, id);
            self.ids.remove(&(entry.matches.into_boxed_slice(), entry.priority));
            self.free.push(id);
        }
    }

    /// A number that changes with every change of an entry.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// Whether a hit needs only the action data of the entry: the table has no profile, direct
    /// counter, direct meter or idle timeout.
    pub(crate) fn hits_need_only_data(&self) -> bool {
        self.profile.is_none()
            && !self.direct_counter
            && !self.idle_timeout
            && self.direct_meter.is_none()
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

/// The action in a slot of the hash table. Entries with a member or group store none there.
pub(super) fn slot_action<'a>(actions: &[(u32, u32)], kind: &'a EntryKind) -> SlotAction<'a> {
    match kind {
        EntryKind::Direct(bound) => {
            SlotAction { action: index_of(actions, bound.action).unwrap_or(0), data: &bound.words }
        }
        _ => SlotAction { action: 0, data: &[] },
    }
}

/// Number of words of the longest action data of a table.
fn data_words(program: &Program, table: &IrTable) -> usize {
    let words = |action: &netkv_ir::TableAction| {
        let params = program.actions[action.action as usize].params.iter();
        params.map(|param| param.width.div_ceil(64) as usize).sum()
    };
    table.actions.iter().map(words).max().unwrap_or(0)
}

/// The kind of a table with these keys.
pub(super) fn kind_of(keys: &[TableKey]) -> Result<TableKind, String> {
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
