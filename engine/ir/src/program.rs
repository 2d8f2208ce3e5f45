//! The root of the IR: one compiled program.

use serde::{Deserialize, Serialize};

use crate::{
    Action, ActionProfile, Cfg, ControllerHeader, Counter, Digest, FieldList, Header, Meter,
    Register, Span, Stack, StandardMetadata, Table, ValueSet, Var, Word,
};

/// A compiled v1model program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// Name of the main source file, for traces.
    pub name: String,
    /// Source files that a [`crate::Span`] refers to.
    pub files: Vec<String>,
    /// Number of words in the state area.
    pub state_words: u32,
    /// Names and places of all header fields, metadata fields, locals and parameters. Traces and
    /// tests use them.
    pub vars: Vec<Var>,
    /// Header instances, stack elements included (consecutive ids within one stack).
    pub headers: Vec<Header>,
    /// Header stacks.
    pub stacks: Vec<Stack>,
    /// Names of errors: those of core.p4, then those of the program. Index 0 is `NoError`.
    pub errors: Vec<String>,
    /// Places of the v1model intrinsic metadata.
    pub standard_metadata: StandardMetadata,
    /// Metadata that a resubmitted, recirculated or cloned packet keeps, from `@field_list`.
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
    /// Source of each `assert` and `assume`. One in an action has several operations if the action
    /// is inlined several times.
    pub assertions: Vec<Span>,
    /// `@controller_header("packet_in" | "packet_out")` types.
    pub controller_headers: Vec<ControllerHeader>,
    /// Parser. It ends at [`crate::Terminator::Exit`] or at an operation that fails
    /// (see [`crate::Op`]).
    pub parser: Cfg,
    /// `VerifyChecksum` control.
    pub verify_checksum: Cfg,
    /// Ingress control.
    pub ingress: Cfg,
    /// Egress control.
    pub egress: Cfg,
    /// `ComputeChecksum` control.
    pub compute_checksum: Cfg,
    /// Deparser. Its packet operations are [`crate::Op::Emit`] and [`crate::Op::EmitStack`].
    pub deparser: Cfg,
}

impl Program {
    /// First word and number of words of all header state: fields, validity, and the next index of
    /// stacks.
    pub fn header_words(&self) -> impl Iterator<Item = (Word, u32)> + '_ {
        let headers = self.headers.iter();
        headers
            .flat_map(|header| [(header.valid, 1), (header.base, header.words)])
            .chain(self.stacks.iter().map(|stack| (stack.next_index, 1)))
    }
}
