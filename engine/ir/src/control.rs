//! What the control plane sees: tables, actions, registers, counters, digests and their names.

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
    /// Structured and plain annotations other than those the compiler consumes, as source text.
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
    /// Input of an action selector's hash; not part of an entry.
    Selector,
}

/// A key of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableKey {
    /// Control-plane name (`@name` or source text such as `hdr.kv.key`).
    pub name: String,
    /// Width in bits.
    pub width: u32,
    /// Kind.
    pub kind: MatchKind,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Names and id.
    pub identity: Identity,
    /// Keys, selector keys included.
    pub keys: Vec<TableKey>,
    /// Actions it may run; index is what [`crate::Apply::action_run`] tells.
    pub actions: Vec<TableAction>,
    /// Default: index into `actions` and data.
    pub default_action: ActionCall,
    /// The default cannot be changed.
    pub const_default: bool,
    /// Entries from the source, in order; `const_entries` tells whether they are fixed.
    pub entries: Vec<InitialEntry>,
    /// `const entries` (no insertion at all).
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

/// An action in a table's list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableAction {
    /// Which.
    pub action: ActionId,
    /// `@tableonly`: not as default.
    pub table_only: bool,
    /// `@defaultonly`: not in entries.
    pub default_only: bool,
}

/// An action as the control plane sees it.
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

/// An action with its data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ActionCall {
    /// Index into [`Table::actions`].
    pub action: u32,
    /// One per control-plane parameter.
    pub data: Vec<Value>,
}

/// An entry given in the source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InitialEntry {
    /// One per key.
    pub matches: Vec<Match>,
    /// What it runs.
    pub action: ActionCall,
    /// Larger wins; 0 where no two entries can match.
    pub priority: u32,
}

/// What an entry says of one key.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Match {
    /// Equal.
    Exact(Value),
    /// The `prefix` highest bits are equal.
    Lpm(Value, u32),
    /// Equal where the mask is 1.
    Ternary(Value, Value),
    /// Inclusive.
    Range(Value, Value),
    /// Equal, or anything.
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

/// What a counter or meter counts.
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
    /// With groups, chosen by this hash over the selector keys.
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
