//! Control-plane requests for table entries and default actions.

use netkv_ir::{Match, MatchKind, TableId, Value};

use super::actions::{self, ActionUse};
use super::matches;
use super::pipeline_view::PipelineView;
use super::table_entry::{EntryState, TableEntry};
use crate::error::{ControlCode, ControlError};
use crate::switch::Switch;
use crate::tables::{BoundAction, Entry, EntryKind, TableKind};

impl PipelineView<'_> {
    /// Index of a table by its P4Info id.
    pub(super) fn table_index(&self, id: u32) -> Result<usize, ControlError> {
        self.program.tables.iter().position(|table| table.identity.id == id).ok_or_else(|| {
            ControlError::not_found(format!("The program has no table with id {id:#010x}."))
        })
    }

    fn table_label(&self, table: usize) -> String {
        format!("Table '{}'", self.program.tables[table].identity.name)
    }

    /// Checks the matches and priority that identify an entry. Returns one match per key.
    fn check_identity(
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
        let complete = matches::complete_matches(&label, &state.keys, fields)?;
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

    fn check_writable(&self, table: usize) -> Result<(), ControlError> {
        if self.program.tables[table].const_entries {
            return Err(ControlError::new(
                ControlCode::PermissionDenied,
                format!("{} has const entries; they cannot be changed.", self.table_label(table)),
            ));
        }
        Ok(())
    }

    /// Id of the entry with these matches and this priority, or the error `NotFound`.
    pub(super) fn existing_entry(
        &self,
        table: usize,
        fields: &[(u32, Match)],
        priority: u32,
    ) -> Result<u32, ControlError> {
        let name = self.check_identity(table, fields, priority)?;
        self.objects.tables()[table].find(&name, priority).ok_or_else(|| {
            ControlError::not_found(format!("{} has no such entry.", self.table_label(table)))
        })
    }

    /// Checks a new entry. Returns the index of its table, and the entry.
    fn check_new_entry(&self, e: &TableEntry, now_ns: u64) -> Result<(usize, Entry), ControlError> {
        let table = self.table_index(e.table_id)?;
        self.check_writable(table)?;
        let name = self.check_identity(table, &e.matches, e.priority)?;
        let kind = self.entry_kind(table, &e.action)?;
        let label = || self.table_label(table);
        if e.idle_timeout_ns > 0 && !self.program.tables[table].idle_timeout {
            let text = format!("{} does not support idle timeouts.", label());
            return Err(ControlError::invalid(text));
        }
        let size = self.program.tables[table].size;
        let state = &self.objects.tables()[table];
        if state.find(&name, e.priority).is_some() {
            let text = format!("{} has an entry with these matches already.", label());
            return Err(ControlError::new(ControlCode::AlreadyExists, text));
        }
        if state.len() as u64 >= size {
            let text = format!("{} is full: it has room for {size} entries.", label());
            return Err(ControlError::new(ControlCode::ResourceExhausted, text));
        }
        let mut entry = Entry::new(name, e.priority, kind);
        set_metadata(&mut entry, e);
        entry.last_hit_ns = now_ns;
        Ok((table, entry))
    }

    fn entry_to_control_plane(&self, table: usize, entry: &Entry) -> TableEntry {
        TableEntry {
            table_id: self.program.tables[table].identity.id,
            matches: matches::match_fields(&self.objects.tables()[table].keys, &entry.matches),
            action: self.action_of(&entry.kind),
            priority: entry.priority,
            metadata: entry.metadata.clone(),
            controller_metadata: entry.controller_metadata,
            idle_timeout_ns: entry.idle_timeout_ns,
        }
    }

    /// True if the action of any entry, in the tables of an action profile, satisfies `uses`.
    pub(super) fn any_entry(&self, profile: usize, uses: impl Fn(&EntryKind) -> bool) -> bool {
        let tables = self.objects.tables().iter().filter(|table| table.profile == Some(profile));
        tables.flat_map(|table| table.entries()).any(|entry| uses(&entry.kind))
    }
}

/// Sets the metadata that the control plane stores with an entry.
fn set_metadata(entry: &mut Entry, e: &TableEntry) {
    entry.metadata.clone_from(&e.metadata);
    entry.controller_metadata = e.controller_metadata;
    entry.idle_timeout_ns = e.idle_timeout_ns;
}

impl Switch {
    /// Adds an entry.
    ///
    /// # Errors
    ///
    /// `AlreadyExists`, `ResourceExhausted` (the table is full), `PermissionDenied` (const
    /// entries), `NotFound` (table, action, member, group), `InvalidArgument`.
    pub fn insert_entry(&mut self, e: TableEntry) -> Result<(), ControlError> {
        let now_ns = self.now_ns;
        self.write(
            |view| view.check_new_entry(&e, now_ns),
            |objects, (table, entry)| objects.tables_mut()[table].insert(entry),
        )
    }

    /// Changes the action of an entry. Its counter and meter keep their state.
    ///
    /// # Errors
    ///
    /// As [`Switch::insert_entry`], and `NotFound` if there is no such entry.
    pub fn modify_entry(&mut self, e: TableEntry) -> Result<(), ControlError> {
        self.write(
            |view| {
                let table = view.table_index(e.table_id)?;
                view.check_writable(table)?;
                let id = view.existing_entry(table, &e.matches, e.priority)?;
                Ok((table, id, view.entry_kind(table, &e.action)?))
            },
            |objects, (table, id, kind)| {
                let table = &mut objects.tables_mut()[table];
                table.set_kind(id, kind);
                set_metadata(table.entry_mut(id), &e);
            },
        )
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
        self.write(
            |view| {
                let table = view.table_index(table_id)?;
                view.check_writable(table)?;
                Ok((table, view.existing_entry(table, matches, priority)?))
            },
            |objects, (table, id)| objects.tables_mut()[table].remove(id),
        )
    }

    /// Id of the entry that a key matches in a table, for measurements. `table` is the index in the
    /// program. The lookup does not count as a hit. A new entry gets the lowest free id.
    pub fn find_entry(&self, table: TableId, key: &[u64]) -> Option<u32> {
        self.view().objects.tables()[table as usize].lookup(key)
    }

    /// The entries of one table or of all tables. A table that does not exist has none.
    pub fn read_entries(&self, table_id: Option<u32>) -> Vec<TableEntry> {
        let view = self.view();
        let wanted =
            |table: usize| table_id.is_none_or(|id| id == self.program.tables[table].identity.id);
        let tables = view.objects.tables().iter().enumerate().filter(|(table, _)| wanted(*table));
        tables
            .flat_map(|(at, table)| {
                table.entries().map(move |entry| view.entry_to_control_plane(at, entry))
            })
            .collect()
    }

    /// As [`Switch::read_entries`], with the state that packets change.
    pub fn read_entry_states(&self, table_id: Option<u32>) -> Vec<EntryState> {
        let view = self.view();
        let wanted =
            |table: usize| table_id.is_none_or(|id| id == self.program.tables[table].identity.id);
        let tables = view.objects.tables().iter().enumerate().filter(|(table, _)| wanted(*table));
        tables
            .flat_map(|(at, table)| table.entries().map(move |entry| self.entry_state(at, entry)))
            .collect()
    }

    /// The state of the entry with these matches and this priority, if the table has it.
    ///
    /// # Errors
    ///
    /// `NotFound` (table), `InvalidArgument`.
    pub fn read_entry_state(
        &self,
        table_id: u32,
        matches: &[(u32, Match)],
        priority: u32,
    ) -> Result<Option<EntryState>, ControlError> {
        let view = self.view();
        let at = view.table_index(table_id)?;
        let name = view.check_identity(at, matches, priority)?;
        let table = &view.objects.tables()[at];
        Ok(table.find(&name, priority).map(|id| self.entry_state(at, table.entry(id))))
    }

    /// The state of an entry of the first selected pipeline. A pipeline without the entry
    /// contributes nothing.
    fn entry_state(&self, table: usize, entry: &Entry) -> EntryState {
        let view = self.view();
        let ir = &self.program.tables[table];
        let twins = || {
            self.views().filter_map(|view| {
                let table = &view.objects.tables()[table];
                Some(table.entry(table.find(&entry.matches, entry.priority)?))
            })
        };
        EntryState {
            entry: view.entry_to_control_plane(table, entry),
            counter: ir.direct_counter.map(|_| twins().map(|twin| twin.counter).sum()),
            meter: ir.direct_meter.and_then(|_| entry.meter.config()),
            last_hit_ns: twins().map(|twin| twin.last_hit_ns).max().unwrap_or(0),
        }
    }

    /// Sets the time at which entries are inserted from now on, in nanoseconds of the clock of
    /// [`Switch::process`]. Without a call, it is the time of the last frame.
    pub fn set_time(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
    }

    /// Entries that were not hit in any pipeline during their idle timeout, which ends at `now_ns`
    /// or before. An entry is returned once per timeout.
    pub fn idle_entries(&mut self, now_ns: u64) -> Vec<TableEntry> {
        let mut idle = Vec::new();
        for table in (0..self.program.tables.len()).filter(|t| self.program.tables[*t].idle_timeout)
        {
            let view = self.view();
            let late = |entry: &&Entry| {
                let idle = || now_ns.saturating_sub(self.entry_state(table, entry).last_hit_ns);
                entry.idle_timeout_ns > 0 && idle() >= entry.idle_timeout_ns
            };
            let late: Vec<&Entry> = view.objects.tables()[table].entries().filter(late).collect();
            idle.extend(late.iter().map(|entry| view.entry_to_control_plane(table, entry)));
            // A change of the tables makes executors look up addresses again.
            if late.is_empty() {
                continue;
            }
            let late: Vec<(Vec<Match>, u32)> =
                late.into_iter().map(|entry| (entry.matches.clone(), entry.priority)).collect();
            for pipeline in self.selected_pipelines() {
                let table = &mut self.pipelines[pipeline].objects.tables_mut()[table];
                for (matches, priority) in &late {
                    if let Some(id) = table.find(matches, *priority) {
                        table.entry_mut(id).last_hit_ns = now_ns;
                    }
                }
            }
        }
        idle
    }

    /// Sets the default action of a table.
    ///
    /// # Errors
    ///
    /// `PermissionDenied` (const default action), `NotFound`, `InvalidArgument`.
    pub fn set_default(
        &mut self,
        table_id: u32,
        action_id: u32,
        params: &[Value],
    ) -> Result<(), ControlError> {
        self.write(
            |view| {
                let table = view.table_index(table_id)?;
                let ir = &view.program.tables[table];
                let action = actions::bind_in_table(
                    view.program,
                    ir,
                    ActionUse::Default,
                    action_id,
                    params,
                )?;
                if ir.const_default && action != view.objects.tables()[table].default {
                    let label = view.table_label(table);
                    let text = format!("{label} has a const default action; it cannot be changed.");
                    return Err(ControlError::new(ControlCode::PermissionDenied, text));
                }
                Ok((table, action))
            },
            |objects, (table, action)| objects.tables_mut()[table].default = action,
        )
    }

    /// The default action of a table: P4Info id and parameters.
    ///
    /// # Errors
    ///
    /// `NotFound` if there is no such table.
    pub fn get_default(&self, table_id: u32) -> Result<(u32, Vec<Value>), ControlError> {
        let view = self.view();
        let default = &view.objects.tables()[view.table_index(table_id)?].default;
        let id = self.program.actions[default.action as usize].identity.id;
        Ok((id, default.params(&self.program)))
    }

    /// Resets the default action to that of the program.
    ///
    /// # Errors
    ///
    /// `NotFound` if there is no such table.
    pub fn reset_default(&mut self, table_id: u32) -> Result<(), ControlError> {
        self.write(
            |view| {
                let table = view.table_index(table_id)?;
                let ir = &view.program.tables[table];
                let call = &ir.default_action;
                let action = ir.actions[call.action as usize].action;
                Ok((table, BoundAction::new(action, &call.data)))
            },
            |objects, (table, action)| objects.tables_mut()[table].default = action,
        )
    }

    /// Keys of a table without its selector keys, in order of their ids.
    pub(crate) fn match_keys(&self, table: usize) -> impl Iterator<Item = &netkv_ir::TableKey> {
        self.program.tables[table].keys.iter().filter(|key| key.kind != MatchKind::Selector)
    }
}
