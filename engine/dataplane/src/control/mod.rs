//! The control plane's interface: what P4Runtime may ask of a switch, with its rules.
//!
//! Objects are named by P4Info ids. A refused request changes nothing and says why in a sentence
//! that uses the program's names.
//!
//! A switch of several pipelines has each object several times. Writes go to all of them; entries,
//! registers and meters are read from the first, counters are added up. [`crate::Switch::in_pipeline`]
//! means one pipeline instead, so that whoever writes can let time pass between two.

mod actions;
mod entries;
mod matches;
mod objects;
mod profiles;
mod replication;
mod value_sets;
mod view;

use netkv_ir::{Match, Value};

pub use profiles::GroupMember;

/// An entry of a table, as the control plane writes and reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableEntry {
    /// P4Info id of the table.
    pub table_id: u32,
    /// Match fields by their id (from 1); a field that is left out matches everything.
    pub matches: Vec<(u32, Match)>,
    /// What the entry runs.
    pub action: EntryAction,
    /// More wins; 0 exactly for tables with only exact and lpm keys.
    pub priority: u32,
    /// Kept for the control plane.
    pub metadata: Vec<u8>,
    /// Kept for the control plane.
    pub controller_metadata: u64,
    /// Idle time in nanoseconds after which [`crate::Switch::idle_entries`] tells; 0 for never.
    pub idle_timeout_ns: u64,
}

/// What an entry runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryAction {
    /// An action with its parameters.
    Direct {
        /// P4Info id.
        action_id: u32,
        /// One value per parameter, of its width.
        params: Vec<Value>,
    },
    /// Member of the table's action profile.
    Member(u32),
    /// Group of the table's action selector.
    Group(u32),
    /// Several actions of an action selector, in the entry itself.
    OneShot(Vec<WeightedAction>),
}

/// One action of a one-shot selector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WeightedAction {
    /// P4Info id.
    pub action_id: u32,
    /// One value per parameter, of its width.
    pub params: Vec<Value>,
    /// Share of the traffic, at least 1.
    pub weight: u32,
}
