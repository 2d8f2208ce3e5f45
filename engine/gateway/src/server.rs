//! What INFO and CONFIG tell about the gateway: its settings and counters.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

/// Counters of INFO.
#[derive(Debug, Default)]
pub struct Counters {
    /// Connections since the start.
    pub connections: u64,
    /// Connections that were refused at the limit of clients.
    pub rejected: u64,
    /// Connections that were closed because they spoke another protocol; the owner of the gateway
    /// reads it from another thread.
    pub foreign: Arc<AtomicU64>,
    /// Connections that are open.
    pub connected: usize,
    /// Commands, those that were errors included.
    pub commands: u64,
    /// Replies that were errors.
    pub errors: u64,
    /// Values that were found.
    pub hits: u64,
    /// Keys that were read and had no value.
    pub misses: u64,
    /// Bytes of requests.
    pub bytes_in: u64,
    /// Bytes of replies.
    pub bytes_out: u64,
}

/// The gateway, as commands see it.
#[derive(Debug)]
pub struct Server {
    /// Version of netkv.
    pub version: String,
    /// Name of the lab.
    pub lab: String,
    /// Name of its scheme.
    pub scheme: String,
    /// Port of TCP.
    pub port: u16,
    /// Limit of clients.
    pub max_clients: usize,
    /// When it was started.
    pub started: Instant,
    /// Its counters.
    pub counters: Counters,
}
