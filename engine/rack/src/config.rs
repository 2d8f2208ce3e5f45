//! Configurations of the nodes, as the JSON that `netkv.live` writes.

use netkv_roles::registry::{ClientRole, CoordinatorRole, ServerRole};
use netkv_roles::{
    Backoff, ClientOptions, CoordinatorOptions, Keyspace, Nanos, SECOND, ServerOptions,
};
use netkv_workload::Shift;
use serde::Deserialize;

use crate::saturation::Saturation;
use crate::workload::{Arrivals, ValueSize, WorkloadConfig, closed_loop, open_loop, throttled};

/// Configuration of a server node.
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
    /// The keys and how many servers share them.
    pub keyspace: Keyspace,
    /// Keys of the data set.
    pub keys: u64,
    /// Sizes of their values.
    value_size: ValueSize,
    /// Seed of the run. The data set does not depend on it.
    pub seed: u64,
    /// Requests per second of each server; `None`: no limit.
    pub service_rate: Option<f64>,
    /// Maximum number of waiting requests at a server with a service rate.
    pub queue_limit: usize,
}

impl ServerConfig {
    /// Sizes of values.
    pub fn value_size(&self) -> netkv_workload::ValueSize {
        self.value_size.into()
    }

    /// The options of each server of this process.
    pub fn options(&self, first_request: u32, epoch: Nanos) -> impl Iterator<Item = ServerOptions> {
        self.partitions.iter().map(move |&server| ServerOptions {
            server,
            keyspace: self.keyspace,
            first_request,
            epoch,
            service_rate: self.service_rate,
            service_queue: self.queue_limit,
        })
    }
}

/// Maximum number of workers of a coordinator.
const MAX_WORKERS: u32 = 64;

/// Configuration of a coordinator node.
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
    /// Number of threads.
    pub workers: u32,
    /// Maximum number of pending requests, over all workers; further ones are refused.
    pub limit: usize,
    /// The keys and how many servers share them.
    pub keyspace: Keyspace,
    /// Deadline of a request, in seconds. Then the coordinator replies with the values that it has.
    pub deadline_s: f64,
    /// First retry time-out of its requests to servers, in seconds; it doubles up to eight times
    /// this.
    pub retry_s: f64,
}

impl CoordinatorConfig {
    /// The options of each worker.
    ///
    /// # Errors
    ///
    /// A sentence about an invalid number of workers or time.
    pub fn options(&self, first_request: u32) -> Result<Vec<CoordinatorOptions>, String> {
        if self.workers == 0 || self.workers > MAX_WORKERS {
            let workers = self.workers;
            return Err(format!("'workers' is {workers}; it must be from 1 to {MAX_WORKERS}."));
        }
        let initial = nanos("retry_s", self.retry_s)?;
        let deadline = nanos("deadline_s", self.deadline_s)?;
        let options = |worker| CoordinatorOptions {
            keyspace: self.keyspace,
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

/// Configuration of the client node.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "serde_json::Map<String, serde_json::Value>")]
pub struct ClientConfig {
    /// The node's own UDP address, or the ring of its interface (`Plug::parse`).
    pub bind: String,
    /// The switch's port, or the interface.
    pub peer: String,
    /// The load generator.
    pub load: LoadConfig,
}

impl TryFrom<serde_json::Map<String, serde_json::Value>> for ClientConfig {
    type Error = String;

    /// Addresses and load are fields of one object. serde's `flatten` would accept misspelt fields.
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

/// Configuration of the load generator, live and simulated.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadConfig {
    /// Role of the clients.
    #[serde(default)]
    pub role: ClientRole,
    /// Number of clients.
    pub clients: u16,
    /// Seed of the workload.
    pub seed: u64,
    /// Deadline of an operation, in seconds; then it is lost.
    pub deadline_s: f64,
    /// First retry time-out, in seconds; it doubles up to eight times this.
    pub retry_s: f64,
    /// The keys and how many servers share them.
    pub keyspace: Keyspace,
    /// The workload.
    workload: WorkloadConfig,
    /// Whether to check reads against acknowledged writes.
    pub verify: bool,
    /// Whether reads may return replaced values for some time.
    #[serde(default)]
    pub may_be_stale: bool,
}

impl LoadConfig {
    /// The options of the client role.
    ///
    /// # Errors
    ///
    /// A sentence about an invalid time or invalid arrivals.
    pub fn options(&self, first_request: u32) -> Result<ClientOptions, String> {
        let arrivals = match self.workload.arrivals {
            Arrivals::Closed { outstanding } => closed_loop(outstanding),
            Arrivals::Throttled { threads, rate } => throttled(threads, rate),
            Arrivals::Poisson { rate } | Arrivals::Saturate { rate, .. } => open_loop(rate),
        };
        let most =
            netkv_roles::ClientConfig::new(1, netkv_workload::Arrivals::Closed { outstanding: 1 });
        let max_outstanding = match self.workload.arrivals {
            // A limit of outstanding operations would limit the rate that the search finds.
            Arrivals::Saturate { .. } => usize::MAX,
            _ => most.max_outstanding,
        };
        let initial = nanos("retry_s", self.retry_s)?;
        let load = netkv_roles::ClientConfig {
            first_request,
            retry: Backoff { initial, cap: 8 * initial },
            deadline: nanos("deadline_s", self.deadline_s)?,
            check: self.verify,
            may_be_stale: self.may_be_stale,
            max_outstanding,
            ..netkv_roles::ClientConfig::new(self.clients, arrivals?)
        };
        Ok(ClientOptions { load, keyspace: self.keyspace })
    }

    /// The options of the only worker of a simulated coordinator.
    ///
    /// # Errors
    ///
    /// A sentence about an invalid time.
    pub fn coordinator(
        &self,
        max_requests: usize,
        first_request: u32,
    ) -> Result<CoordinatorOptions, String> {
        let initial = nanos("retry_s", self.retry_s)?;
        Ok(CoordinatorOptions {
            keyspace: self.keyspace,
            worker: 0,
            workers: 1,
            first_request,
            retry: Backoff { initial, cap: 8 * initial },
            deadline: nanos("deadline_s", self.deadline_s)?,
            max_requests,
        })
    }

    /// Configuration of the workload.
    pub fn workload(&self) -> netkv_workload::WorkloadConfig {
        self.workload.seeded(self.seed, &self.keyspace)
    }

    /// The search for the saturation throughput, if arrivals are configured so.
    ///
    /// # Errors
    ///
    /// A sentence about an invalid limit or time.
    pub fn saturation(&self) -> Result<Option<Saturation>, String> {
        let Arrivals::Saturate { loss, rate, every } = self.workload.arrivals else {
            return Ok(None);
        };
        if !(loss > 0.0 && loss <= 0.5) {
            return Err(format!("'loss' is {loss}; it is a share above 0 and at most 0.5."));
        }
        if every <= self.deadline_s {
            return Err(format!(
                "'every' is {every} s; it must be longer than the deadline of {} s, because an \
                 operation counts as lost only then.",
                self.deadline_s
            ));
        }
        Ok(Some(Saturation::new(loss, rate, nanos("every", every)?)))
    }

    /// The popularity shift and its period, if there are shifts.
    ///
    /// # Errors
    ///
    /// A sentence, if the period is missing or invalid.
    pub fn shifts(&self) -> Result<Option<(Shift, Nanos)>, String> {
        let Some(shift) = self.workload.shift else { return Ok(None) };
        let every = shift.every.ok_or("'shift' in the workload needs 'every' (seconds).")?;
        Ok(Some((shift.into(), nanos("every", every)?)))
    }
}

/// Seconds as nanoseconds; the error is a sentence.
pub(crate) fn nanos(name: &str, seconds: f64) -> Result<Nanos, String> {
    if seconds > 0.0 && seconds <= 1e6 {
        return Ok((seconds * SECOND as f64) as Nanos);
    }
    Err(format!("'{name}' is {seconds}; it must be above 0 and at most a million seconds."))
}
