//! The estimate, as others get it.

use serde::Serialize;

use crate::target::Target;

/// What a program would take of a switch.
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
    /// No limit is exceeded, and no warning is given.
    pub fn fits(&self) -> bool {
        [&self.ingress, &self.egress]
            .iter()
            .all(|pipeline| pipeline.exceeded.is_empty() && pipeline.warnings.is_empty())
    }
}

/// One pipeline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pipeline {
    /// What has a limit.
    pub usage: Usage,
    /// Actions, those of the compiler's own tables and of stateful ALUs included.
    pub actions: u32,
    /// Ternary memory: value and mask of keys that are not exact.
    pub tcam_kib: f64,
    /// The packet header vector.
    pub phv: Phv,
    /// What is in which stage.
    pub stages: Vec<Stage>,
    /// Why there are so many stages: each needs the one before it.
    pub longest_chain: Vec<Link>,
    /// What a pipeline cannot do in one pass.
    pub warnings: Vec<Warning>,
    /// A sentence for each limit that is exceeded.
    pub exceeded: Vec<String>,
}

/// How much of each limited resource is used.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Usage {
    /// Stages.
    pub stages: Share,
    /// Register arrays of the target's cell width, or stateful ALUs, which is the same.
    pub arrays: Share,
    /// Memory of registers, counters and meters.
    pub state_kib: Share,
    /// Memory of match-action tables.
    pub table_kib: Share,
    /// Both together.
    pub sram_kib: Share,
    /// Packet header vector.
    pub phv_bytes: Share,
}

/// A number and its limit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Share {
    /// What is used.
    pub used: u64,
    /// What is there.
    pub limit: u64,
    /// What is used in percent of what is there.
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
    /// All fields and the validity of the headers that parser and deparser know.
    pub header_bits: u64,
    /// Metadata and locals, where most of them have to be kept from one stage to the next.
    pub metadata_bits: u64,
    /// Fields of the standard metadata that the pipeline touches.
    pub standard_bits: u64,
}

impl Phv {
    pub(crate) fn bytes(&self) -> u64 {
        (self.header_bits + self.metadata_bits + self.standard_bits).div_ceil(8)
    }
}

/// A stage that something is in.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stage {
    /// From 1.
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
    /// Assignments outside of stateful ALUs.
    pub operations: u32,
}

/// What an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum What {
    Table,
    Register,
    Counter,
    Meter,
}

/// An object, or a part of it, in a stage.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Placed {
    /// What it is.
    pub what: What,
    /// Its control-plane name.
    pub name: String,
    /// Arrays of it in this stage.
    pub arrays: u32,
    /// Memory of it in this stage.
    pub kib: u64,
    /// It is in an earlier stage already: a packet would have to come to it twice.
    pub again: bool,
}

/// A part of a chain of dependencies.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Link {
    /// The stage after which its result is there, from 1.
    pub stage: u32,
    /// What it is, in words.
    pub what: String,
    /// Where it stands.
    pub at: Position,
    /// Stages that it waits or lasts because there is no room in one of them.
    pub delayed: u32,
}

/// A place in the source.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Position {
    /// As the compiler was given it.
    pub file: String,
    /// From 1; 0 when there is none.
    pub line: u32,
    /// From 1.
    pub column: u32,
    /// What happens there, in a word.
    pub what: String,
}

/// What kind of warning it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Trouble {
    /// A packet would have to come to one object twice.
    Twice,
    /// Objects would have to stand before each other.
    Order,
    /// A stateful ALU cannot compute this.
    Update,
    /// An object is used in both pipelines.
    Shared,
}

/// What a pipeline cannot do.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Warning {
    /// What kind of warning it is.
    pub kind: Trouble,
    /// Control-plane names of what it is about.
    pub objects: Vec<String>,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub help: String,
    /// Where.
    pub at: Vec<Position>,
}
