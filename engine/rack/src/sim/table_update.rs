//! A table write that the simulation carries out on a switch.

use netkv_dataplane::{ControlError, Switch, TableEntry};
use netkv_ir::Match;
use netkv_roles::Nanos;

/// A change of one table entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TableUpdate {
    /// Inserts an entry.
    Insert(TableEntry),
    /// Gives an entry another action or other parameters.
    Modify(TableEntry),
    /// Deletes the entry with these matches and priority 0.
    Delete {
        /// P4Info id of the table.
        table_id: u32,
        /// Match fields by their id.
        matches: Vec<(u32, Match)>,
    },
}

impl TableUpdate {
    /// Carries the update out in one pipeline of a switch.
    ///
    /// # Errors
    ///
    /// The reason if the switch refuses it.
    pub fn carry_out(
        &self,
        engine: &mut Switch,
        pipeline: usize,
        now: Nanos,
    ) -> Result<(), ControlError> {
        engine.in_pipeline(pipeline, |engine| match self {
            Self::Insert(entry) => {
                engine.set_time(now);
                engine.insert_entry(entry.clone())
            }
            Self::Modify(entry) => engine.modify_entry(entry.clone()),
            Self::Delete { table_id, matches } => engine.delete_entry(*table_id, matches, 0),
        })
    }
}
