//! Entries and default actions of tables.

use netkv_ir::{Match, MatchKind, TableId, Value};

use super::actions::{self, Role};
use super::{TableEntry, matches};
use crate::error::{ControlCode, ControlError};
use crate::switch::Switch;
use crate::tables::{Entry, EntryKind, Resolved, TableKind};

impl Switch {
    /// Index of a table by its P4Info id.
    pub(super) fn table_index(&self, id: u32) -> Result<usize, ControlError> {
        self.program.tables.iter().position(|table| table.identity.id == id).ok_or_else(|| {
            ControlError::not_found(format!("The program has no table with id {id:#010x}."))
        })
    }

    fn table_label(&self, table: usize) -> String {
        format!("Table '{}'", self.program.tables[table].identity.name)
    }

    /// The matches and priority that name an entry, checked.
    fn entry_name(
        &self,
        table: usize,
        fields: &[(u32, Match)],
        priority: u32,
    ) -> Result<Vec<Match>, ControlError> {
        let state = &self.objects.tables()[table];
        let label = self.table_label(table);
        if state.keys.is_empty() {
            let text = format!("{label} has no keys and so no entries, only a default action.");
            return Err(ControlError::invalid(text));
        }
        let complete = matches::complete(&label, &state.keys, fields)?;
        match (state.kind, priority) {
            (TableKind::Priority, 0) => Err(ControlError::invalid(format!(
                "{label} has ternary, range or optional keys: the priority must be above 0."
            ))),
            (TableKind::Priority, _) | (_, 0) => Ok(complete),
            (_, priority) => Err(ControlError::invalid(format!(
                "{label} has only exact and lpm keys: the priority must be 0, not {priority}."
            ))),
        }
    }

    fn writable(&self, table: usize) -> Result<(), ControlError> {
        if self.program.tables[table].const_entries {
            return Err(ControlError::new(
                ControlCode::PermissionDenied,
                format!("{} has const entries; they cannot be changed.", self.table_label(table)),
            ));
        }
        Ok(())
    }

    /// Id of an entry that must exist.
    pub(super) fn existing(
        &self,
        table: usize,
        fields: &[(u32, Match)],
        priority: u32,
    ) -> Result<u32, ControlError> {
        let name = self.entry_name(table, fields, priority)?;
        self.objects.tables()[table].find(&name, priority).ok_or_else(|| {
            ControlError::not_found(format!("{} has no such entry.", self.table_label(table)))
        })
    }

    /// Adds an entry.
    ///
    /// # Errors
    ///
    /// `AlreadyExists`, `ResourceExhausted` (the table is full), `PermissionDenied` (const
    /// entries), `NotFound` (table, action, member, group), `InvalidArgument`.
    pub fn insert_entry(&mut self, e: TableEntry) -> Result<(), ControlError> {
        let table = self.table_index(e.table_id)?;
        self.writable(table)?;
        let name = self.entry_name(table, &e.matches, e.priority)?;
        let kind = self.entry_kind(table, &e.action)?;
        let timeouts = self.program.tables[table].idle_timeout;
        if e.idle_timeout_ns > 0 && !timeouts {
            return Err(ControlError::invalid(format!(
                "{} does not support idle timeouts.",
                self.table_label(table)
            )));
        }
        let size = self.program.tables[table].size;
        let label = self.table_label(table);
        let state = &mut self.objects.tables_mut()[table];
        if state.find(&name, e.priority).is_some() {
            let text = format!("{label} has an entry with these matches already.");
            return Err(ControlError::new(ControlCode::AlreadyExists, text));
        }
        if state.len() as u64 >= size {
            let text = format!("{label} is full: it has room for {size} entries.");
            return Err(ControlError::new(ControlCode::ResourceExhausted, text));
        }
        let mut entry = Entry::new(name, e.priority, kind);
        entry.metadata = e.metadata;
        entry.controller_metadata = e.controller_metadata;
        entry.idle_timeout_ns = e.idle_timeout_ns;
        entry.last_hit_ns = self.now_ns;
        state.insert(entry);
        Ok(())
    }

    /// Changes what an entry runs; its counter and meter stay.
    ///
    /// # Errors
    ///
    /// As [`Switch::insert_entry`], and `NotFound` when there is no such entry.
    pub fn modify_entry(&mut self, e: TableEntry) -> Result<(), ControlError> {
        let table = self.table_index(e.table_id)?;
        self.writable(table)?;
        let id = self.existing(table, &e.matches, e.priority)?;
        let kind = self.entry_kind(table, &e.action)?;
        let table = &mut self.objects.tables_mut()[table];
        table.set_kind(id, kind);
        let entry = table.entry_mut(id);
        entry.metadata = e.metadata;
        entry.controller_metadata = e.controller_metadata;
        entry.idle_timeout_ns = e.idle_timeout_ns;
        Ok(())
    }

    /// Removes an entry.
    ///
    /// # Errors
    ///
    /// `NotFound`, `PermissionDenied` (const entries), `InvalidArgument`.
    pub fn delete_entry(
        &mut self,
        table_id: u32,
        matches: &[(u32, Match)],
        priority: u32,
    ) -> Result<(), ControlError> {
        let table = self.table_index(table_id)?;
        self.writable(table)?;
        let id = self.existing(table, matches, priority)?;
        self.objects.tables_mut()[table].remove(id);
        Ok(())
    }

    /// Number of the entry that a key finds in a table (its index in the program), without running
    /// a packet or counting a hit; for measurements. Entries get the lowest number that is free.
    pub fn find_entry(&self, table: TableId, key: &[u64]) -> Option<u32> {
        self.objects.tables()[table as usize].lookup(key)
    }

    /// The entries of one table, or of all; none of a table that does not exist.
    pub fn read_entries(&self, table_id: Option<u32>) -> Vec<TableEntry> {
        let mut found = Vec::new();
        for (ir, table) in self.program.tables.iter().zip(self.objects.tables()) {
            if table_id.is_some_and(|id| id != ir.identity.id) {
                continue;
            }
            found.extend(table.entries().map(|entry| self.entry_out(ir.identity.id, table, entry)));
        }
        found
    }

    fn entry_out(&self, table_id: u32, table: &crate::tables::Table, entry: &Entry) -> TableEntry {
        TableEntry {
            table_id,
            matches: matches::fields(&table.keys, &entry.matches),
            action: self.action_of(&entry.kind),
            priority: entry.priority,
            metadata: entry.metadata.clone(),
            controller_metadata: entry.controller_metadata,
            idle_timeout_ns: entry.idle_timeout_ns,
        }
    }

    /// Entries that nothing has hit for longer than their idle timeout, at `now_ns`.
    /// Each is told once per timeout.
    pub fn idle_entries(&mut self, now_ns: u64) -> Vec<TableEntry> {
        let mut idle = Vec::new();
        for table in 0..self.objects.tables().len() {
            if !self.program.tables[table].idle_timeout {
                continue;
            }
            let table_id = self.program.tables[table].identity.id;
            let state = &self.objects.tables()[table];
            let late = |entry: &&Entry| {
                entry.idle_timeout_ns > 0
                    && now_ns.saturating_sub(entry.last_hit_ns) >= entry.idle_timeout_ns
            };
            idle.extend(
                state.entries().filter(late).map(|entry| self.entry_out(table_id, state, entry)),
            );
            for entry in self.objects.tables_mut()[table].entries_mut() {
                if late(&&*entry) {
                    entry.last_hit_ns = now_ns;
                }
            }
        }
        idle
    }

    /// Sets the default action of a table.
    ///
    /// # Errors
    ///
    /// `PermissionDenied` when the program has fixed it; `NotFound`, `InvalidArgument`.
    pub fn set_default(
        &mut self,
        table_id: u32,
        action_id: u32,
        params: &[Value],
    ) -> Result<(), ControlError> {
        let table = self.table_index(table_id)?;
        let ir = &self.program.tables[table];
        let action = actions::resolve_in(&self.program, ir, Role::Default, action_id, params)?;
        let state = &mut self.objects.tables_mut()[table];
        if ir.const_default && action != state.default {
            let name = &ir.identity.name;
            let text = format!("Table '{name}' has a const default action; it cannot be changed.");
            return Err(ControlError::new(ControlCode::PermissionDenied, text));
        }
        state.default = action;
        Ok(())
    }

    /// The default action of a table: P4Info id and parameters.
    ///
    /// # Errors
    ///
    /// `NotFound` when there is no such table.
    pub fn get_default(&self, table_id: u32) -> Result<(u32, Vec<Value>), ControlError> {
        let default = &self.objects.tables()[self.table_index(table_id)?].default;
        let id = self.program.actions[default.action as usize].identity.id;
        Ok((id, default.params(&self.program)))
    }

    /// Sets the default action back to what the program says.
    ///
    /// # Errors
    ///
    /// `NotFound` when there is no such table.
    pub fn reset_default(&mut self, table_id: u32) -> Result<(), ControlError> {
        let table = self.table_index(table_id)?;
        let ir = &self.program.tables[table];
        let call = &ir.default_action;
        let action = ir.actions[call.action as usize].action;
        self.objects.tables_mut()[table].default = Resolved::new(action, &call.data);
        Ok(())
    }

    /// Whether an entry of any table of a profile satisfies `uses`.
    pub(super) fn any_entry(&self, profile: usize, uses: impl Fn(&EntryKind) -> bool) -> bool {
        let tables = self.objects.tables().iter().filter(|table| table.profile == Some(profile));
        tables.flat_map(|table| table.entries()).any(|entry| uses(&entry.kind))
    }

    /// Keys of a table that entries match on, in order of their ids.
    pub(crate) fn match_keys(&self, table: usize) -> impl Iterator<Item = &netkv_ir::TableKey> {
        self.program.tables[table].keys.iter().filter(|key| key.kind != MatchKind::Selector)
    }
}
