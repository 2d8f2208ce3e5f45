//! A whole program.

use serde::{Deserialize, Serialize};

use crate::{
    Action, ActionProfile, Cfg, ControllerHeader, Counter, Digest, FieldList, Header, Meter,
    Register, Stack, StandardMetadata, Table, ValueSet, Var,
};

/// A whole v1model program, ready to run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// Name of the main source file, for traces.
    pub name: String,
    /// Source files that a [`crate::Span`] refers to.
    pub files: Vec<String>,
    /// Number of words in the state area.
    pub state_words: u32,
    /// Named places: every header field, metadata field, local and parameter, for traces and tests.
    pub vars: Vec<Var>,
    /// Header instances, stack elements included (consecutive ids within one stack).
    pub headers: Vec<Header>,
    /// Header stacks.
    pub stacks: Vec<Stack>,
    /// Names of errors; index 0 is `NoError`. Order: core.p4's, then the program's.
    pub errors: Vec<String>,
    /// Where the v1model intrinsic metadata lives.
    pub standard_metadata: StandardMetadata,
    /// User metadata places kept by a field list: `(list id, place)`, from `@field_list`.
    pub field_lists: Vec<FieldList>,
    /// Match-action tables.
    pub tables: Vec<Table>,
    /// Actions that a table can run.
    pub actions: Vec<Action>,
    /// `register` instances.
    pub registers: Vec<Register>,
    /// `counter` and `direct_counter` instances.
    pub counters: Vec<Counter>,
    /// `meter` and `direct_meter` instances.
    pub meters: Vec<Meter>,
    /// Digest types, one per `digest<T>` type name.
    pub digests: Vec<Digest>,
    /// Action profiles and selectors.
    pub action_profiles: Vec<ActionProfile>,
    /// Parser value sets.
    pub value_sets: Vec<ValueSet>,
    /// `@controller_header("packet_in" | "packet_out")` types.
    pub controller_headers: Vec<ControllerHeader>,
    /// The parser. Its exit is [`crate::Terminator::Exit`]; errors leave by themselves (see [`crate::Op`]).
    pub parser: Cfg,
    /// `VerifyChecksum`.
    pub verify_checksum: Cfg,
    /// Ingress control.
    pub ingress: Cfg,
    /// Egress control.
    pub egress: Cfg,
    /// `ComputeChecksum`.
    pub compute_checksum: Cfg,
    /// Deparser: a graph whose packet operations are [`crate::Op::Emit`] and [`crate::Op::EmitStack`].
    pub deparser: Cfg,
}
