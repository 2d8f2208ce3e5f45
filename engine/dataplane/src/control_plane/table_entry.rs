//! Entries of tables, as the control plane writes and reads them.

use netkv_ir::{Match, Value};

use crate::counters::CounterData;
use crate::meters::MeterConfig;

/// An entry of a table, as the control plane writes and reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableEntry {
    /// P4Info id of the table.
    pub table_id: u32,
    /// Match fields by their id (from 1). An omitted field matches every value.
    pub matches: Vec<(u32, Match)>,
    /// Action that runs on a hit.
    pub action: EntryAction,
    /// The larger priority wins. It is 0 for tables with only exact and lpm keys, else above 0.
    pub priority: u32,
    /// Data that the control plane stores with the entry.
    pub metadata: Vec<u8>,
    /// Data that the control plane stores with the entry.
    pub controller_metadata: u64,
    /// Idle timeout in nanoseconds, see [`crate::Switch::idle_entries`]; 0: no timeout.
    pub idle_timeout_ns: u64,
}

/// An entry with the state that packets change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryState {
    /// The entry as the control plane wrote it.
    pub entry: TableEntry,
    /// Value of the direct counter, as a sum over the pipelines. `None`: the table has none.
    pub counter: Option<CounterData>,
    /// Configuration of the direct meter. `None`: the table has none, or it is not configured.
    pub meter: Option<MeterConfig>,
    /// Time of the last hit in any pipeline, or of the insertion. Only tables with idle timeouts
    /// keep it.
    pub last_hit_ns: u64,
}

/// The action of an entry.
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
    /// One-shot action selector programming: several actions in the entry itself.
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
