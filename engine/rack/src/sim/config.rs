//! Configuration of a simulated rack, as the JSON that `netkv.sim` writes.

use std::fmt;
use std::path::PathBuf;

use netkv_dataplane::PIPELINES;
use netkv_roles::registry::{CoordinatorRole, ServerRole};
use netkv_workload::Distribution;
use serde::Deserialize;

use super::channel::ChannelModel;
use super::event::{MAX_LINKS, MAX_NODES};
use super::link::LinkModel;
use crate::config::LoadConfig;
use crate::workload::ValueSize;

/// A whole rack.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RackConfig {
    /// Seed of the random behaviour of network and hosts.
    pub seed: u64,
    /// The load generator. Each of its clients has a host of its own.
    pub load: LoadConfig,
    /// Model of a client host.
    pub client: HostModel,
    /// The storage servers.
    pub servers: ServersConfig,
    /// The coordinator, if there is one.
    #[serde(default)]
    pub coordinator: Option<CoordinatorModel>,
    /// The switches.
    pub switches: Vec<SwitchConfig>,
    /// FPGA cards.
    #[serde(default)]
    pub cards: Vec<CardConfig>,
    /// The cables.
    pub links: Vec<LinkConfig>,
    /// The channels between the switches and their controllers.
    pub control: ChannelModel,
}

/// Storage servers, all with the same configuration. The keyspace of the load says how many.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServersConfig {
    /// Role of the servers.
    pub role: ServerRole,
    /// Keys of the data set.
    pub keys: u64,
    /// Sizes of their values.
    pub value_size: ValueSize,
    /// Requests per second of each server, limited as by the server emulation live; `None`: only
    /// the host model limits them.
    pub service_rate: Option<f64>,
    /// Maximum number of waiting requests at a server with a service rate.
    pub queue_limit: usize,
    /// Model of a server host.
    pub host: HostModel,
    /// Processor times of the store's operations.
    pub store: StoreModel,
}

/// Model of a host: its cores, and the processor time of sending and receiving frames.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostModel {
    /// Cores that handle frames.
    pub cores: usize,
    /// Time to receive a frame.
    pub receive: Time,
    /// Time to send a frame.
    pub send: Time,
    /// Further time for each key of a multiget frame, in seconds.
    #[serde(default)]
    pub per_key_s: f64,
    /// Further time for each byte of a frame, in seconds.
    #[serde(default)]
    pub per_byte_s: f64,
    /// Maximum number of frames that wait for a core; further ones are dropped.
    pub queue_limit: usize,
}

/// The coordinator.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoordinatorModel {
    /// Its role.
    #[serde(default)]
    pub role: CoordinatorRole,
    /// Model of its host; each core is a worker.
    pub host: HostModel,
    /// Maximum number of pending requests; further ones are refused.
    pub limit: usize,
}

/// Processor time of each operation of a store, without the time of its frames.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoreModel {
    /// A read.
    pub get: Time,
    /// Each further key of a multiget; `None`: the time of a read.
    #[serde(default)]
    pub next_get: Option<Time>,
    /// A read of a record in the store's cache; `None`: the time of a read.
    #[serde(default)]
    pub warm_get: Option<Time>,
    /// Number of records in the store's cache, about the most recently used.
    #[serde(default)]
    pub warm_records: usize,
    /// A read of a record that was written since the server's first start; `None`: as any other.
    #[serde(default)]
    pub written_get: Option<Time>,
    /// What a read of another record takes longer from the first write on.
    #[serde(default)]
    pub behind_writes_s: f64,
    /// A write.
    pub put: Time,
    /// A delete.
    pub delete: Time,
}

/// A distribution of times, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Time {
    /// Always the same.
    Constant(f64),
    /// Minimum, maximum.
    Uniform(f64, f64),
    /// Mean.
    Exponential(f64),
    /// Median, and standard deviation of the logarithm (no unit).
    LogNormal(f64, f64),
}

impl Time {
    /// The distribution in nanoseconds.
    pub fn distribution(self) -> Distribution {
        match self {
            Self::Constant(value) => Distribution::Constant(value * 1e9),
            Self::Uniform(low, high) => Distribution::Uniform(low * 1e9, high * 1e9),
            Self::Exponential(mean) => Distribution::Exponential(mean * 1e9),
            Self::LogNormal(median, sigma) => Distribution::LogNormal(median * 1e9, sigma),
        }
    }
}

/// A switch. Its program is not part of the configuration.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchConfig {
    /// From the last bit of a frame in to its first bit out, in seconds.
    pub latency_s: f64,
    /// Packets a second of the whole switch; each pipeline has an equal part.
    pub packet_rate: f64,
    /// Number of pipelines of its program.
    pub pipelines: usize,
    /// Whether pipelines work in parallel, as in hardware, or one at a time, as in the live engine.
    pub parallel: bool,
    /// Time between the writes of a table entry in successive pipelines, in seconds.
    pub table_write_gap_s: f64,
    /// Maximum number of packets that wait for a pipeline; further ones are dropped.
    pub queue_packets: u64,
    /// Bandwidth of recirculation and resubmission, in bits a second.
    pub recirculation_bps: f64,
}

/// An FPGA card with a design (`netkv fpga build`).
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CardConfig {
    /// The library of the design.
    pub library: PathBuf,
    /// Clock of the design.
    pub clock_hz: f64,
    /// Seed of its memory models.
    pub seed: u32,
    /// Line rate of each port in bits a second; 0: frames take no time on the line.
    pub rates: Vec<f64>,
    /// Register and mask: the design is ready after a reset when all these bits are 1.
    #[serde(default)]
    pub ready: Option<(u16, u32)>,
    /// Registers and their values, written after each reset.
    #[serde(default)]
    pub settings: Vec<(u16, u32)>,
    /// Frames that the design receives at a port before time 0.
    #[serde(default)]
    pub preload: Vec<(u16, Vec<u8>)>,
    /// Names and registers of the counters in the statistics.
    #[serde(default)]
    pub counters: Vec<(String, u16)>,
    /// When its clock stands still.
    #[serde(default)]
    pub idle: IdleModel,
}

/// When the clock of a design stands still.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdleModel {
    /// Cycles after the last frame.
    pub cycles: u64,
    /// Register and mask: while one of these bits is 1, the design has a frame.
    #[serde(default)]
    pub busy: Option<(u16, u32)>,
    /// How the design gets to know how long.
    #[serde(default)]
    pub report: Option<IdleReport>,
}

impl Default for IdleModel {
    fn default() -> Self {
        Self { cycles: 1024, busy: None, report: None }
    }
}

/// A write to a register that tells a design how many units of time its clock stood still.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdleReport {
    /// The register.
    pub register: u16,
    /// Value of the bits below `shift`; the number of units is in those from there on.
    pub value: u32,
    /// See `value`.
    pub shift: u32,
    /// Cycles of a unit.
    pub unit_cycles: u64,
}

/// A cable between two ends.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkConfig {
    /// One end.
    pub a: End,
    /// The other.
    pub b: End,
    /// Model of both directions.
    pub model: LinkModel,
    /// The kind of link in statistics.
    #[serde(default)]
    pub kind: String,
}

/// The end of a cable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum End {
    /// A port of a switch: index of the switch, port number.
    Switch(u16, u16),
    /// The host of a client (from 1).
    Client(u16),
    /// A server (from 0).
    Server(u16),
    /// The coordinator of multigets.
    Coordinator,
    /// A port of an FPGA card: index of the card, port number.
    Card(u16, u16),
}

/// The name in messages to users.
impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&match self {
            Self::Switch(switch, port) => format!("switch {switch} port {port}"),
            Self::Client(client) => format!("client {client}"),
            Self::Server(server) => format!("server {server}"),
            Self::Coordinator => "the coordinator".to_owned(),
            Self::Card(card, port) => format!("card {card} port {port}"),
        })
    }
}

/// Maximum of [`StoreModel::warm_records`]. Each server uses 4 bytes for each.
const MAX_WARM: usize = 1 << 20;

impl RackConfig {
    /// Checks that all values are in range.
    ///
    /// # Errors
    ///
    /// A sentence about the first value that is not.
    pub fn check(&self) -> Result<(), String> {
        if self.load.keyspace.servers == 0 || self.load.clients == 0 || self.switches.is_empty() {
            return Err("A rack has at least a client, a switch and a server.".to_owned());
        }
        let servers = usize::from(self.load.keyspace.servers);
        size(servers, self.switches.len(), self.links.len())?;
        positive("control.rate", self.control.rate)?;
        time("control.latency_s", self.control.latency_s)?;
        let queues = [("queue", self.control.queue), ("report_queue", self.control.report_queue)];
        for (name, limit) in queues {
            if limit == 0 {
                return Err(format!("'control.{name}' is 0; at least one message must fit in."));
            }
        }
        let hosts = [("client", &self.client), ("servers.host", &self.servers.host)];
        let coordinator = self.coordinator.as_ref().map(|it| ("coordinator.host", &it.host));
        for (name, host) in hosts.into_iter().chain(coordinator) {
            time(&format!("{name}.per_key_s"), host.per_key_s)?;
            time(&format!("{name}.per_byte_s"), host.per_byte_s)?;
            if host.cores == 0 || host.cores > 1024 {
                return Err(format!("'{name}.cores' is {}; it must be 1 to 1024.", host.cores));
            }
            distribution(&format!("{name}.receive"), host.receive)?;
            distribution(&format!("{name}.send"), host.send)?;
        }
        let store = &self.servers.store;
        let times = [
            ("get", store.get),
            ("warm_get", store.warm_get.unwrap_or(store.get)),
            ("next_get", store.next_get.unwrap_or(store.get)),
            ("written_get", store.written_get.unwrap_or(store.get)),
            ("put", store.put),
            ("delete", store.delete),
        ];
        for (name, value) in times {
            distribution(&format!("servers.store.{name}"), value)?;
        }
        time("servers.store.behind_writes_s", store.behind_writes_s)?;
        if store.warm_records > MAX_WARM {
            return Err(format!(
                "'servers.store.warm_records' is {}; it must be at most {MAX_WARM}.",
                store.warm_records
            ));
        }
        if let Some(rate) = self.servers.service_rate {
            positive("servers.service_rate", rate)?;
        }
        for switch in &self.switches {
            time("latency_s of a switch", switch.latency_s)?;
            positive("packet_rate of a switch", switch.packet_rate)?;
            positive("recirculation_bps of a switch", switch.recirculation_bps)?;
            time("table_write_gap_s of a switch", switch.table_write_gap_s)?;
            if !PIPELINES.contains(&switch.pipelines) {
                let count = switch.pipelines;
                return Err(format!("A switch has 1, 2 or 4 pipelines, not {count}."));
            }
        }
        for card in &self.cards {
            positive("clock_hz of a card", card.clock_hz)?;
            if let Some(report) = card.idle.report
                && (report.unit_cycles == 0 || report.shift > 31)
            {
                return Err("'idle.report' of a card needs 'unit_cycles' of at least 1 and a \
                            'shift' of at most 31."
                    .to_owned());
            }
        }
        for link in &self.links {
            positive("bandwidth_bps of a link", link.model.bandwidth_bps)?;
            time("delay_s of a link", link.model.delay_s)?;
        }
        Ok(())
    }
}

/// Checks that an event can name each part of a rack of this size.
fn size(servers: usize, switches: usize, cables: usize) -> Result<(), String> {
    for (what, field, count, most) in [
        ("servers", "load.keyspace.servers", servers, MAX_NODES),
        ("switches", "switches", switches, MAX_NODES),
        // A cable is a link in each direction.
        ("cables", "links", cables, MAX_LINKS / 2),
    ] {
        if count > most {
            return Err(format!("A rack has at most {most} {what}, not {count} ('{field}')."));
        }
    }
    Ok(())
}

fn positive(name: &str, value: f64) -> Result<(), String> {
    if value > 0.0 && value <= 1e15 {
        return Ok(());
    }
    Err(format!("'{name}' is {value}; it must be above 0 and at most 1e15."))
}

fn time(name: &str, value: f64) -> Result<(), String> {
    if (0.0..=1e3).contains(&value) {
        return Ok(());
    }
    Err(format!("'{name}' is {value}; it must be 0 to 1000 seconds."))
}

fn distribution(name: &str, value: Time) -> Result<(), String> {
    match value {
        Time::Constant(mean) | Time::Exponential(mean) => time(name, mean),
        Time::Uniform(low, high) => {
            time(name, low)?;
            time(name, high)?;
            if low <= high {
                return Ok(());
            }
            Err(format!("'{name}' has the minimum {low} s above its maximum {high} s."))
        }
        Time::LogNormal(median, sigma) => {
            time(name, median)?;
            if (0.0..=3.0).contains(&sigma) {
                return Ok(());
            }
            Err(format!("The standard deviation of '{name}' is {sigma}; it must be 0 to 3."))
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::json;

    use super::*;

    /// A rack with a client, and so many servers and switches, as `netkv.sim` writes it.
    pub fn rack(servers: u16, switches: usize) -> RackConfig {
        let time = json!({"constant": 1e-6});
        let host = json!({"cores": 1, "receive": time, "send": time, "queue_limit": 64});
        let switch = json!({
            "latency_s": 1e-6, "packet_rate": 1e9, "pipelines": 1, "parallel": true,
            "table_write_gap_s": 0.0, "queue_packets": 64, "recirculation_bps": 1e11
        });
        let config = json!({
            "seed": 1,
            "load": {
                "clients": 1, "seed": 1, "deadline_s": 2.0, "retry_s": 0.05,
                "keyspace": {"servers": servers, "racks": 1, "key_size": 16},
                "workload": {
                    "keys": 10, "zipf": 0.0, "value_size": 16, "arrivals": {"outstanding": 1}
                },
                "verify": true
            },
            "client": host,
            "servers": {
                "role": "plain", "keys": 10, "value_size": 16,
                "service_rate": null, "queue_limit": 64, "host": host,
                "store": {"get": time, "put": time, "delete": time}
            },
            "switches": vec![switch; switches],
            "links": [],
            "control": {"latency_s": 1e-6, "rate": 1e4, "queue": 64, "report_queue": 64}
        });
        serde_json::from_value(config).unwrap()
    }

    #[test]
    fn a_rack_has_at_most_4096_servers() {
        assert_eq!(rack(4096, 1).check(), Ok(()));
        let error = rack(4097, 1).check().unwrap_err();
        assert_eq!(error, "A rack has at most 4096 servers, not 4097 ('load.keyspace.servers').");
    }

    #[test]
    fn a_rack_has_at_most_4096_switches() {
        assert_eq!(rack(1, 4096).check(), Ok(()));
        let error = rack(1, 4097).check().unwrap_err();
        assert_eq!(error, "A rack has at most 4096 switches, not 4097 ('switches').");
    }

    /// The function gets the number only: so many cables need 20 GB of memory.
    #[test]
    fn a_cable_has_a_link_in_each_direction() {
        assert_eq!(size(1, 1, MAX_LINKS / 2), Ok(()));
        let error = size(1, 1, MAX_LINKS / 2 + 1).unwrap_err();
        assert_eq!(error, "A rack has at most 134217728 cables, not 134217729 ('links').");
    }
}
