//! The workload of a load generator, as the JSON of `netkv.model.spec.WorkloadSpec`
//! without the size of keys and their placement, which the keyspace has.

use netkv_roles::Keyspace;
use netkv_workload::{Mix, Popularity, Shift};
use serde::Deserialize;

/// Distribution of value sizes, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum ValueSize {
    /// All values have this size.
    Fixed(usize),
    /// All sizes from `min` to `max` are equally likely.
    #[allow(missing_docs)] // the names say it
    Uniform { min: usize, max: usize },
}

impl From<ValueSize> for netkv_workload::ValueSize {
    fn from(size: ValueSize) -> Self {
        match size {
            ValueSize::Fixed(size) => Self::Fixed(size),
            ValueSize::Uniform { min, max } => Self::Uniform { min, max },
        }
    }
}

/// Distribution of the number of keys of a multiget.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum MultigetSize {
    /// Always this number.
    Fixed(usize),
    /// All numbers from `min` to `max` are equally likely.
    #[allow(missing_docs)] // the names say it
    Uniform { min: usize, max: usize },
    /// Most multigets have few keys, a few have many.
    #[allow(missing_docs)] // the name says it
    HeavyTailed { mean: f64 },
}

impl From<MultigetSize> for netkv_workload::MultigetSize {
    fn from(size: MultigetSize) -> Self {
        match size {
            MultigetSize::Fixed(size) => Self::Fixed(size),
            MultigetSize::Uniform { min, max } => Self::Uniform { min, max },
            MultigetSize::HeavyTailed { mean } => Self::HeavyTailed { mean },
        }
    }
}

/// A workload.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkloadConfig {
    keys: u64,
    zipf: f64,
    #[serde(default)]
    mix: Option<MixName>,
    #[serde(default)]
    writes: f64,
    #[serde(default)]
    deletes: f64,
    value_size: ValueSize,
    #[serde(default)]
    conditional: f64,
    #[serde(default)]
    multiget: Option<MultigetSize>,
    /// See [`Arrivals`].
    pub arrivals: Arrivals,
    /// Shifts of popularity.
    #[serde(default)]
    pub shift: Option<ShiftConfig>,
}

impl WorkloadConfig {
    /// The configuration of the generator of operations on a keyspace.
    pub fn seeded(&self, seed: u64, keyspace: &Keyspace) -> netkv_workload::WorkloadConfig {
        let mix = match self.mix {
            Some(MixName::A) => Mix::YCSB_A,
            Some(MixName::B) => Mix::YCSB_B,
            Some(MixName::C) => Mix::YCSB_C,
            Some(MixName::D) => Mix::YCSB_D,
            Some(MixName::F) => Mix::YCSB_F,
            Some(MixName::Insert) => Mix::INSERT,
            None => Mix {
                read: 1.0 - self.writes - self.deletes,
                update: self.writes,
                insert: 0.0,
                read_modify_write: 0.0,
                delete: self.deletes,
            },
        };
        let popularity = match self.mix {
            Some(MixName::D) => Popularity::Latest { theta: self.zipf },
            _ if self.zipf == 0.0 => Popularity::Uniform,
            _ => Popularity::Zipf { theta: self.zipf },
        };
        netkv_workload::WorkloadConfig {
            popularity,
            value_size: self.value_size.into(),
            conditional: self.conditional,
            multiget: self.multiget.map(Into::into),
            key_size: keyspace.key_size,
            placement: keyspace.placement,
            ..netkv_workload::WorkloadConfig::new(self.keys, mix, seed)
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
enum MixName {
    #[serde(rename = "ycsb-a")]
    A,
    #[serde(rename = "ycsb-b")]
    B,
    #[serde(rename = "ycsb-c")]
    C,
    #[serde(rename = "ycsb-d")]
    D,
    #[serde(rename = "ycsb-f")]
    F,
    #[serde(rename = "insert")]
    Insert,
}

/// When operations begin.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(untagged)]
#[allow(missing_docs)] // docs/use/scenario-reference.md explains the fields
pub enum Arrivals {
    /// A throttled closed loop.
    Throttled { threads: u32, rate: f64 },
    /// A closed loop.
    Closed { outstanding: u32 },
    /// An open loop whose rate grows up to the saturation throughput.
    Saturate { loss: f64, rate: f64, every: f64 },
    /// An open loop.
    Poisson { rate: f64 },
}

/// An open loop of this many operations per second.
///
/// # Errors
///
/// A sentence, if the rate is out of range.
pub fn open_loop(rate: f64) -> Result<netkv_workload::Arrivals, String> {
    if (0.0..=1e9).contains(&rate) {
        return Ok(netkv_workload::Arrivals::Poisson { rate });
    }
    Err(format!("A rate of {rate} is not possible; it is 0 to 1e9 a second."))
}

/// A closed loop of this many outstanding operations.
///
/// # Errors
///
/// A sentence, if there are too many.
pub fn closed_loop(outstanding: u32) -> Result<netkv_workload::Arrivals, String> {
    if outstanding <= 65_536 {
        return Ok(netkv_workload::Arrivals::Closed { outstanding });
    }
    Err(format!("{outstanding} operations outstanding are too many; the limit is 65536."))
}

/// A closed loop of this many threads with this many operations per second together.
///
/// # Errors
///
/// A sentence, if there are too many threads, or if the rate is out of range.
pub fn throttled(threads: u32, rate: f64) -> Result<netkv_workload::Arrivals, String> {
    closed_loop(threads)?;
    if rate > 0.0 && rate <= 1e9 {
        return Ok(netkv_workload::Arrivals::Throttled { threads, rate });
    }
    Err(format!("A closed loop cannot have a rate of {rate}; it is above 0, and at most 1e9."))
}

/// A popularity shift.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShiftConfig {
    kind: ShiftKind,
    keys: u64,
    /// Shifts of the kind `random` replace keys among this number of the most popular ones.
    #[serde(default = "default_top")]
    top: u64,
    /// Seconds between shifts; `None` in a command, which shifts once.
    #[serde(default)]
    pub every: Option<f64>,
}

/// The default of `netkv.model.spec.Shift`.
fn default_top() -> u64 {
    10_000
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ShiftKind {
    HotIn,
    HotOut,
    Random,
}

impl From<ShiftConfig> for Shift {
    fn from(config: ShiftConfig) -> Self {
        let keys = config.keys;
        match config.kind {
            ShiftKind::HotIn => Self::HotIn { keys },
            ShiftKind::HotOut => Self::HotOut { keys },
            ShiftKind::Random => Self::Random { keys, top: config.top },
        }
    }
}
