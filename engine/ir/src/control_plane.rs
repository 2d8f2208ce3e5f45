//! Objects that the control plane can access: tables, actions, externs, digests, with their names.

use serde::{Deserialize, Serialize};

use crate::{ActionId, CounterId, HashAlgorithm, MeterId, TableId, Value};

/// Control-plane identity of an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Full control-plane name, e.g. `Ingress.lookup.cache`.
    pub name: String,
    /// Shortest unique suffix.
    pub alias: String,
    /// P4Info id, prefix included.
    pub id: u32,
    /// Source text of the annotations that the compiler itself does not use.
    pub annotations: Vec<String>,
}

/// How a key is matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum MatchKind {
    Exact,
    Lpm,
    Ternary,
    Range,
    Optional,
    /// Input of an action selector's hash. Entries have no value for it.
    Selector,
}

/// A key of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableKey {
    /// Control-plane name (`@name` or source text such as `hdr.kv.key`).
    pub name: String,
    /// Width in bits.
    pub width: u32,
    /// Match kind.
    pub kind: MatchKind,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Names and id.
    pub identity: Identity,
    /// Keys, selector keys included.
    pub keys: Vec<TableKey>,
    /// Actions that the table may run. [`crate::Apply::action_run`] receives an index into it.
    pub actions: Vec<TableAction>,
    /// Default action.
    pub default_action: ActionCall,
    /// `const default_action`: the control plane cannot change it.
    pub const_default: bool,
    /// Entries from the source, in order. If `const_entries` is set, they are immutable.
    pub entries: Vec<InitialEntry>,
    /// `const entries`: the control plane cannot insert entries.
    pub const_entries: bool,
    /// Maximum number of entries.
    pub size: u64,
    /// Direct counter.
    pub direct_counter: Option<CounterId>,
    /// Direct meter.
    pub direct_meter: Option<MeterId>,
    /// `implementation`: index into [`crate::Program::action_profiles`].
    pub action_profile: Option<u32>,
    /// `support_timeout`.
    pub idle_timeout: bool,
}

/// An action in the `actions` list of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableAction {
    /// The action.
    pub action: ActionId,
    /// `@tableonly`: it cannot be the default action.
    pub table_only: bool,
    /// `@defaultonly`: entries cannot use it.
    pub default_only: bool,
}

/// Control-plane interface of an action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Action {
    /// Names and id.
    pub identity: Identity,
    /// Control-plane parameters.
    pub params: Vec<ActionParam>,
}

/// A control-plane parameter of an action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ActionParam {
    /// Name.
    pub name: String,
    /// Width in bits.
    pub width: u32,
}

/// An action with its action data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ActionCall {
    /// Index into [`Table::actions`].
    pub action: u32,
    /// Action data: one value per control-plane parameter.
    pub data: Vec<Value>,
}

/// An entry given in the source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InitialEntry {
    /// One match per key.
    pub matches: Vec<Match>,
    /// Action that runs on a hit of this entry.
    pub action: ActionCall,
    /// The entry with the larger priority wins; 0 if at most one entry of the table can match.
    pub priority: u32,
}

/// The match of one key in an entry.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Match {
    /// Equal.
    Exact(Value),
    /// The `prefix` highest bits are equal.
    Lpm(Value, u32),
    /// Equal where the mask is 1.
    Ternary(Value, Value),
    /// Lower and upper bound, both inclusive.
    Range(Value, Value),
    /// Equal, or any value if `None`.
    Optional(Option<Value>),
}

/// A register array.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Register {
    /// Names and id.
    pub identity: Identity,
    /// Width of an element.
    pub width: u32,
    /// Number of elements.
    pub size: u32,
}

/// The unit that a counter or meter counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum CounterUnit {
    Packets,
    Bytes,
    Both,
}

/// A counter array, or a direct counter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Counter {
    /// Names and id.
    pub identity: Identity,
    /// Unit.
    pub unit: CounterUnit,
    /// Number of elements; 0 for a direct counter.
    pub size: u32,
    /// The table of a direct counter.
    pub direct: Option<TableId>,
}

/// A meter array, or a direct meter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Meter {
    /// Names and id.
    pub identity: Identity,
    /// Packets or bytes.
    pub unit: CounterUnit,
    /// Number of elements; 0 for a direct meter.
    pub size: u32,
    /// The table of a direct meter.
    pub direct: Option<TableId>,
}

/// A digest type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Digest {
    /// Names and id.
    pub identity: Identity,
    /// Name of the struct type (empty for a tuple).
    pub type_name: String,
    /// Members: name and width.
    pub members: Vec<ActionParam>,
}

/// An action profile or selector.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ActionProfile {
    /// Names and id.
    pub identity: Identity,
    /// Maximum number of members.
    pub size: u64,
    /// Hash over the selector keys that chooses a member of a group. `None`: no groups.
    pub selector: Option<HashAlgorithm>,
    /// Tables that use it.
    pub tables: Vec<TableId>,
}

/// A parser value set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ValueSet {
    /// Names and id.
    pub identity: Identity,
    /// Keys: name, width, kind.
    pub keys: Vec<TableKey>,
    /// Maximum number of members.
    pub size: u64,
}

/// A controller header type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ControllerHeader {
    /// Names and id; the name is `packet_in` or `packet_out`.
    pub identity: Identity,
    /// Fields in wire order (padding too).
    pub fields: Vec<ActionParam>,
}
