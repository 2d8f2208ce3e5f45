//! Configurations of the nodes as JSON, the way `netkv.lab` writes them.

use std::net::SocketAddrV4;

use serde::Deserialize;

/// What a server node is told.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerConfig {
    /// The node's own UDP address.
    pub bind: SocketAddrV4,
    /// The switch's port.
    pub peer: SocketAddrV4,
    /// Role of the shim.
    pub scheme: Scheme,
    /// Indices of the servers in this process.
    pub partitions: Vec<u16>,
    /// Servers in the whole rack.
    pub servers: u16,
    /// Keys of the data set.
    pub keys: u64,
    /// Sizes of their values.
    pub value_size: ValueSize,
    /// Seed of the data set.
    pub seed: u64,
    /// Requests per second of each server; none: as fast as it can.
    pub service_rate: Option<f64>,
    /// Requests that wait at a server of limited rate.
    pub queue_limit: usize,
}

/// Role of a storage server's shim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scheme {
    /// Reads and writes, nothing else.
    NoCache,
    /// Write-through with a switch that caches.
    NetCache,
}

/// Bytes of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum ValueSize {
    /// All the same.
    Fixed(u16),
    /// Drawn uniformly, both ends included.
    Uniform {
        /// Smallest.
        min: u16,
        /// Largest.
        max: u16,
    },
}

impl ValueSize {
    /// Smallest and largest.
    pub fn bounds(self) -> (u16, u16) {
        match self {
            Self::Fixed(size) => (size, size),
            Self::Uniform { min, max } => (min, max),
        }
    }
}

/// What the client node is told.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientConfig {
    /// The node's own UDP address.
    pub bind: SocketAddrV4,
    /// The switch's port.
    pub peer: SocketAddrV4,
    /// Client identities.
    pub clients: u16,
    /// Seed of everything random.
    pub seed: u64,
    /// A request without a reply for that long is lost, in seconds.
    pub deadline_s: f64,
    /// First retry time-out, in seconds.
    pub retry_s: f64,
    /// Servers in the whole rack.
    pub servers: u16,
    /// What the clients ask for.
    pub workload: WorkloadConfig,
    /// Check reads against acknowledged writes.
    pub verify: bool,
}

/// `netkv.lab.spec.WorkloadSpec`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkloadConfig {
    /// Keys of the data set.
    pub keys: u64,
    /// Skew; 0 is uniform.
    pub zipf: f64,
    /// A YCSB mix.
    #[serde(default)]
    pub mix: Option<MixName>,
    /// Share of writes.
    #[serde(default)]
    pub writes: f64,
    /// Share of deletes.
    #[serde(default)]
    pub deletes: f64,
    /// Sizes of values.
    pub value_size: ValueSize,
    /// When requests are sent.
    pub arrivals: Arrivals,
    /// A popularity shift.
    #[serde(default)]
    pub shift: Option<ShiftConfig>,
}

/// The mixes of YCSB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[allow(missing_docs)]
pub enum MixName {
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

/// When requests are sent.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Arrivals {
    /// Closed loop.
    Closed {
        /// Requests in flight.
        outstanding: u32,
    },
    /// Open loop with exponential gaps.
    Poisson {
        /// Requests per second.
        rate: f64,
    },
}

/// A popularity shift.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShiftConfig {
    /// Which keys change rank.
    pub kind: ShiftKind,
    /// How many.
    pub keys: u64,
    /// `random` replaces among so many of the most popular ones.
    pub top: u64,
    /// Seconds between shifts; none: once, now.
    #[serde(default)]
    pub every: Option<f64>,
}

/// Which keys change rank in a shift.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShiftKind {
    /// The coldest become the hottest.
    HotIn,
    /// The hottest become the coldest.
    HotOut,
    /// Hot ones change with arbitrary cold ones.
    Random,
}
