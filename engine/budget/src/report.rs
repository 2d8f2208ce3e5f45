//! The result of an estimate.

use serde::Serialize;

use crate::target::Target;

/// The resources that a program needs on a switch.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The switch.
    pub target: Target,
    /// Its ingress pipeline.
    pub ingress: Pipeline,
    /// Its egress pipeline.
    pub egress: Pipeline,
}

impl Report {
    /// Whether no limit is exceeded and there is no warning.
    pub fn fits(&self) -> bool {
        [&self.ingress, &self.egress]
            .iter()
            .all(|pipeline| pipeline.exceeded.is_empty() && pipeline.warnings.is_empty())
    }
}

/// One pipeline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pipeline {
    /// Use of the resources that have a limit.
    pub usage: Usage,
    /// Actions, including those of the compiler's own tables and of stateful ALUs.
    pub actions: u32,
    /// Ternary memory: value and mask of keys that are not exact.
    pub tcam_kib: f64,
    /// The packet header vector.
    pub phv: Phv,
    /// The stages in use.
    pub stages: Vec<Stage>,
    /// The critical path, which determines the number of stages. Each link depends on the one
    /// before it.
    pub longest_chain: Vec<ChainLink>,
    /// Constructs that a pipeline cannot execute in one pass.
    pub warnings: Vec<Warning>,
    /// A sentence for each limit that is exceeded.
    pub exceeded: Vec<String>,
}

/// Use of each limited resource.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Usage {
    /// Stages.
    pub stages: Share,
    /// Register arrays of the target's cell width. Each takes one stateful ALU.
    pub arrays: Share,
    /// Memory of registers, counters and meters.
    pub state_kib: Share,
    /// Memory of match-action tables.
    pub table_kib: Share,
    /// Memory of both kinds.
    pub sram_kib: Share,
    /// Packet header vector.
    pub phv_bytes: Share,
}

/// The use of a resource and its limit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Share {
    /// The amount in use.
    pub used: u64,
    /// The amount that the switch has.
    pub limit: u64,
    /// The use in percent of the limit.
    pub percent: f64,
}

impl Share {
    pub(crate) fn new(used: u64, limit: u64) -> Self {
        let percent = (1e4 * used as f64 / limit as f64).round() / 1e2;
        Self { used, limit, percent }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.used > self.limit
    }
}

/// Bits that travel with a packet from stage to stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Phv {
    /// All fields and the validity of the headers that the parser or the deparser uses.
    pub header_bits: u64,
    /// The maximum over all stage boundaries of the live bits of metadata and locals.
    pub metadata_bits: u64,
    /// Fields of the standard metadata that the pipeline uses.
    pub standard_bits: u64,
}

impl Phv {
    pub(crate) fn bytes(&self) -> u64 {
        (self.header_bits + self.metadata_bits + self.standard_bits).div_ceil(8)
    }
}

/// A stage in use.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stage {
    /// Number of the stage, from 1.
    pub stage: u32,
    /// Stateful ALUs in use.
    pub arrays: u32,
    /// Memory of registers, counters and meters.
    pub state_kib: u64,
    /// Memory of tables.
    pub table_kib: u64,
    /// Tables, registers, counters and meters.
    pub placed: Vec<Placed>,
    /// Hashes and random numbers.
    pub hashes: u32,
    /// Assignments and conditions outside of stateful ALUs.
    pub operations: u32,
}

/// The kind of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum ObjectKind {
    Table,
    Register,
    Counter,
    Meter,
}

/// An object, or a part of it, in a stage.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Placed {
    /// Its kind.
    pub what: ObjectKind,
    /// Its control-plane name.
    pub name: String,
    /// Its arrays in this stage.
    pub arrays: u32,
    /// Its memory in this stage, in KiB.
    pub kib: u64,
    /// It is also in an earlier stage: a packet would have to access it twice.
    pub again: bool,
}

/// A link of the critical path.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChainLink {
    /// The stage at whose end its result is available, from 1.
    pub stage: u32,
    /// A phrase for the node.
    pub what: String,
    /// Its position in the source.
    pub at: Position,
    /// Additional stages because a stage lacked resources.
    pub delayed: u32,
}

/// A position in the source.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Position {
    /// The path that the compiler was given.
    pub file: String,
    /// Line, from 1; 0 if there is none.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// The operation there, in a word.
    pub what: String,
}

/// The kind of a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WarningKind {
    /// A packet would have to access an object twice.
    Twice,
    /// The accesses to objects depend on each other in a cycle.
    Order,
    /// A stateful ALU cannot compute the update.
    Update,
    /// Both pipelines use an object.
    Shared,
}

/// A construct that a pipeline cannot execute.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Warning {
    /// The kind of the warning.
    pub kind: WarningKind,
    /// Control-plane names of the objects.
    pub objects: Vec<String>,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub help: String,
    /// Positions of the accesses.
    pub at: Vec<Position>,
}
