//! Configurations of the nodes as JSON, the way `netkv.lab` writes them.

use netkv_roles::registry::{
    ClientOptions, ClientRole, CoordinatorOptions, CoordinatorRole, Keyspace, ServerOptions,
    ServerRole,
};
use netkv_roles::{Backoff, Nanos};
use netkv_workload as workload;
use netkv_workload::{Mix, Popularity, Shift};
use serde::Deserialize;

use crate::command::Command;
use crate::generator::nanos;
use crate::saturation::Saturation;

/// What a server node is told.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerConfig {
    /// The node's own UDP address, or the ring of its interface (`Plug::parse`).
    pub bind: String,
    /// The switch's port, or the interface.
    pub peer: String,
    /// Role of the servers.
    pub role: ServerRole,
    /// Indices of the servers in this process.
    pub partitions: Vec<u16>,
    /// Servers in the whole rack.
    pub servers: u16,
    /// Keys of the data set.
    pub keys: u64,
    /// Sizes of their values.
    value_size: ValueSize,
    /// Seed of the run. All nodes are told it; the data set does not depend on it.
    pub seed: u64,
    /// Requests per second of each server; none: as fast as it can.
    pub service_rate: Option<f64>,
    /// Requests that wait at a server of limited rate.
    pub queue_limit: usize,
    /// Bytes of a key of the keyspace.
    #[serde(default = "default_key_size")]
    pub key_size: usize,
}

/// Of single keys.
pub(crate) fn default_key_size() -> usize {
    16
}

impl ServerConfig {
    /// Sizes of values.
    pub fn value_size(&self) -> workload::ValueSize {
        self.value_size.into()
    }

    /// The keys and how many servers share them.
    fn keyspace(&self) -> Keyspace {
        Keyspace { servers: self.servers, key_size: self.key_size }
    }

    /// What each server of this process is told.
    pub fn options(&self, first_request: u32, epoch: Nanos) -> impl Iterator<Item = ServerOptions> {
        self.partitions.iter().map(move |&server| ServerOptions {
            server,
            keyspace: self.keyspace(),
            first_request,
            epoch,
            service_rate: self.service_rate,
            service_queue: self.queue_limit,
        })
    }
}

/// Bytes of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum ValueSize {
    /// All alike.
    Fixed(usize),
    /// All sizes from `min` to `max` are equally likely.
    #[allow(missing_docs)] // the names say it
    Uniform { min: usize, max: usize },
}

impl From<ValueSize> for workload::ValueSize {
    fn from(size: ValueSize) -> Self {
        match size {
            ValueSize::Fixed(size) => Self::Fixed(size),
            ValueSize::Uniform { min, max } => Self::Uniform { min, max },
        }
    }
}

/// Keys of a multiget.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum MultigetSize {
    /// Always as many.
    Fixed(usize),
    /// All numbers from `min` to `max` are equally likely.
    #[allow(missing_docs)] // the names say it
    Uniform { min: usize, max: usize },
    /// Most have few, a few have many.
    #[allow(missing_docs)] // the name says it
    HeavyTailed { mean: f64 },
}

impl From<MultigetSize> for workload::MultigetSize {
    fn from(size: MultigetSize) -> Self {
        match size {
            MultigetSize::Fixed(size) => Self::Fixed(size),
            MultigetSize::Uniform { min, max } => Self::Uniform { min, max },
            MultigetSize::HeavyTailed { mean } => Self::HeavyTailed { mean },
        }
    }
}

/// Most workers of a coordinator.
const MAX_WORKERS: u32 = 64;

/// What a coordinator node is told.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoordinatorConfig {
    /// The node's own UDP address, or the ring of its interface (`Plug::parse`).
    pub bind: String,
    /// The switch's port, or the interface.
    pub peer: String,
    /// Role of the coordinator.
    #[serde(default)]
    pub role: CoordinatorRole,
    /// Threads.
    pub workers: u32,
    /// Requests under way, over all workers, before further ones are refused.
    pub limit: usize,
    /// Servers in the whole rack.
    pub servers: u16,
    /// Bytes of a key of the keyspace.
    pub key_size: usize,
    /// After that long a request ends with what is there, in seconds.
    pub deadline_s: f64,
    /// First retry time-out of its requests to servers, in seconds; it doubles up to eight times
    /// that.
    pub retry_s: f64,
}

impl CoordinatorConfig {
    /// What each worker is told.
    ///
    /// # Errors
    ///
    /// A sentence about a number of workers or a time that cannot be.
    pub fn options(&self, first_request: u32) -> Result<Vec<CoordinatorOptions>, String> {
        if self.workers == 0 || self.workers > MAX_WORKERS {
            let workers = self.workers;
            return Err(format!("'workers' is {workers}; it must be from 1 to {MAX_WORKERS}."));
        }
        let initial = nanos("retry_s", self.retry_s)?;
        let deadline = nanos("deadline_s", self.deadline_s)?;
        let options = |worker| CoordinatorOptions {
            keyspace: Keyspace { servers: self.servers, key_size: self.key_size },
            worker,
            workers: self.workers,
            first_request,
            retry: Backoff { initial, cap: 8 * initial },
            deadline,
            max_requests: self.limit.div_ceil(self.workers as usize),
        };
        Ok((0..self.workers).map(options).collect())
    }
}

/// What the client node is told.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "serde_json::Map<String, serde_json::Value>")]
pub struct ClientConfig {
    /// The node's own UDP address, or the ring of its interface (`Plug::parse`).
    pub bind: String,
    /// The switch's port, or the interface.
    pub peer: String,
    /// What it does.
    pub load: LoadConfig,
}

impl TryFrom<serde_json::Map<String, serde_json::Value>> for ClientConfig {
    type Error = String;

    /// Addresses and load stand side by side; serde's `flatten` would let misspelt fields pass.
    fn try_from(mut map: serde_json::Map<String, serde_json::Value>) -> Result<Self, String> {
        let mut address = |name: &str| {
            let value = map.remove(name).ok_or_else(|| format!("missing field `{name}`"))?;
            serde_json::from_value(value).map_err(|error| format!("'{name}': {error}"))
        };
        let (bind, peer) = (address("bind")?, address("peer")?);
        let load = serde_json::from_value(map.into()).map_err(|error| error.to_string())?;
        Ok(Self { bind, peer, load })
    }
}

/// What the load generator does, live and simulated.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadConfig {
    /// Role of the clients.
    #[serde(default)]
    pub role: ClientRole,
    /// Client identities.
    pub clients: u16,
    /// Seed of everything random.
    pub seed: u64,
    /// A request without a reply for that long is lost, in seconds.
    pub deadline_s: f64,
    /// First retry time-out, in seconds; it doubles up to eight times that.
    pub retry_s: f64,
    /// Servers in the whole rack. The switch finds the owner of a key, so clients need not know.
    pub servers: u16,
    /// What the clients ask for.
    workload: WorkloadConfig,
    /// Check reads against acknowledged writes.
    pub verify: bool,
}

impl LoadConfig {
    /// What the clients are told.
    ///
    /// # Errors
    ///
    /// A sentence about a time or arrivals that cannot be.
    pub fn options(&self, first_request: u32) -> Result<ClientOptions, String> {
        let arrivals = match self.workload.arrivals {
            Arrivals::Closed { outstanding } => Command::Outstanding { value: outstanding },
            Arrivals::Poisson { rate } | Arrivals::Saturate { rate, .. } => {
                Command::Rate { value: rate }
            }
        };
        let most = netkv_roles::ClientConfig::new(1, workload::Arrivals::Closed { outstanding: 1 });
        let max_outstanding = match self.workload.arrivals {
            // What is outstanding must not limit the rate that is being found out.
            Arrivals::Saturate { .. } => usize::MAX,
            _ => most.max_outstanding,
        };
        let initial = nanos("retry_s", self.retry_s)?;
        let load = netkv_roles::ClientConfig {
            first_request,
            retry: Backoff { initial, cap: 8 * initial },
            deadline: nanos("deadline_s", self.deadline_s)?,
            check: self.verify,
            max_outstanding,
            ..netkv_roles::ClientConfig::new(self.clients, arrivals.arrivals()?)
        };
        Ok(ClientOptions { load, keyspace: self.keyspace() })
    }

    /// The keys and how many servers share them.
    fn keyspace(&self) -> Keyspace {
        Keyspace { servers: self.servers, key_size: self.workload.key_size }
    }

    /// What the only worker of a simulated coordinator is told.
    ///
    /// # Errors
    ///
    /// A sentence about a time that cannot be.
    pub fn coordinator(
        &self,
        max_requests: usize,
        first_request: u32,
    ) -> Result<CoordinatorOptions, String> {
        let initial = nanos("retry_s", self.retry_s)?;
        Ok(CoordinatorOptions {
            keyspace: self.keyspace(),
            worker: 0,
            workers: 1,
            first_request,
            retry: Backoff { initial, cap: 8 * initial },
            deadline: nanos("deadline_s", self.deadline_s)?,
            max_requests,
        })
    }

    /// Configuration of the only generator of the rack.
    pub fn workload(&self) -> workload::WorkloadConfig {
        let spec = &self.workload;
        let mix = match spec.mix {
            Some(MixName::A) => Mix::YCSB_A,
            Some(MixName::B) => Mix::YCSB_B,
            Some(MixName::C) => Mix::YCSB_C,
            Some(MixName::D) => Mix::YCSB_D,
            Some(MixName::F) => Mix::YCSB_F,
            Some(MixName::Insert) => Mix::INSERT,
            None => Mix {
                read: 1.0 - spec.writes - spec.deletes,
                update: spec.writes,
                insert: 0.0,
                read_modify_write: 0.0,
                delete: spec.deletes,
            },
        };
        let popularity = match spec.mix {
            Some(MixName::D) => Popularity::Latest { theta: spec.zipf },
            _ if spec.zipf == 0.0 => Popularity::Uniform,
            _ => Popularity::Zipf { theta: spec.zipf },
        };
        workload::WorkloadConfig {
            popularity,
            value_size: spec.value_size.into(),
            multiget: spec.multiget.map(Into::into),
            key_size: spec.key_size,
            ..workload::WorkloadConfig::new(spec.keys, mix, self.seed)
        }
    }

    /// How the rate follows the loss, if it does.
    ///
    /// # Errors
    ///
    /// A sentence about a limit or time that cannot be.
    pub fn saturation(&self) -> Result<Option<Saturation>, String> {
        let Arrivals::Saturate { loss, rate, every } = self.workload.arrivals else {
            return Ok(None);
        };
        if !(loss > 0.0 && loss <= 0.5) {
            return Err(format!("'loss' is {loss}; it is a share above 0 and at most 0.5."));
        }
        if every <= self.deadline_s {
            return Err(format!(
                "'every' is {every} s; it must be longer than the deadline of {} s, or no loss \
                 would be seen in time.",
                self.deadline_s
            ));
        }
        Ok(Some(Saturation::new(loss, rate, nanos("every", every)?)))
    }

    /// The popularity shift and the time between two, if there are shifts.
    ///
    /// # Errors
    ///
    /// A sentence, if the time cannot be.
    pub fn shifts(&self) -> Result<Option<(Shift, Nanos)>, String> {
        let Some(shift) = self.workload.shift else { return Ok(None) };
        let every = shift.every.ok_or("'shift' in the workload needs 'every' (seconds).")?;
        Ok(Some((shift.into(), nanos("every", every)?)))
    }
}

/// `netkv.lab.spec.WorkloadSpec`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkloadConfig {
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
    multiget: Option<MultigetSize>,
    #[serde(default = "default_key_size")]
    key_size: usize,
    arrivals: Arrivals,
    #[serde(default)]
    shift: Option<ShiftConfig>,
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

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(untagged)]
enum Arrivals {
    Closed { outstanding: u32 },
    Saturate { loss: f64, rate: f64, every: f64 },
    Poisson { rate: f64 },
}

/// A popularity shift.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShiftConfig {
    kind: ShiftKind,
    keys: u64,
    /// `random` replaces among so many of the most popular ones.
    #[serde(default = "default_top")]
    top: u64,
    /// Seconds between shifts; none in a command, which shifts once.
    #[serde(default)]
    every: Option<f64>,
}

/// `netkv.lab.spec.Shift`'s default.
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
