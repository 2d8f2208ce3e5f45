//! The client of a session, and the operations of its user.

use std::net::SocketAddrV4;

use netkv_roles::registry::{ClientOptions, ClientRole, Keyspace};
use netkv_roles::{
    Actions, Backoff, Client, ClientConfig, Completion, Nanos, Outcome, UserOp, first_request,
};
use netkv_workload::{Arrivals, Mix, Workload, WorkloadConfig};
use serde::Deserialize;

use crate::generator::nanos;

/// What a session is told.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionConfig {
    /// Its own UDP address.
    pub bind: SocketAddrV4,
    /// The switch's port.
    pub peer: SocketAddrV4,
    /// What its client does.
    pub role: ClientRole,
    /// Number of the client.
    pub client: u16,
    /// Servers of the rack, and bytes of the keys of its keyspace.
    pub servers: u16,
    #[allow(missing_docs)] // see above
    pub key_size: usize,
    /// An operation without an answer for that long is given up, in seconds.
    pub deadline_s: f64,
    /// First retry time-out, in seconds; it doubles up to eight times that.
    pub retry_s: f64,
}

impl SessionConfig {
    /// The client; `unix_nanos` is the time since the epoch.
    ///
    /// # Errors
    ///
    /// A sentence about a number or time that cannot be.
    pub(super) fn client(&self, unix_nanos: u128) -> Result<Box<dyn Client>, String> {
        let initial = nanos("retry_s", self.retry_s)?;
        let load = ClientConfig {
            first_client: self.client,
            first_request: first_request(unix_nanos),
            retry: Backoff { initial, cap: 8 * initial },
            deadline: nanos("deadline_s", self.deadline_s)?,
            check: false,
            ..ClientConfig::new(1, Arrivals::Closed { outstanding: 0 })
        };
        // It has no load of its own; one of no operations under way never draws any.
        let workload = WorkloadConfig::new(1, Mix::YCSB_C, 0);
        let workload = Workload::new(WorkloadConfig { key_size: self.key_size, ..workload })?;
        let keyspace = Keyspace { servers: self.servers, key_size: self.key_size };
        (self.role.new)(&ClientOptions { load, keyspace }, workload)
    }
}

/// An operation, with memory of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnedOp {
    /// See [`UserOp::Get`].
    Get(Vec<Vec<u8>>),
    /// See [`UserOp::Put`].
    Put(Vec<u8>, Vec<u8>),
    /// See [`UserOp::Delete`].
    Delete(Vec<u8>),
}

impl OwnedOp {
    /// Hands it to a client; one that it does not take has ended.
    pub(super) fn submit(
        &self,
        now: Nanos,
        token: u64,
        client: &mut dyn Client,
        out: &mut Actions,
    ) -> Option<Completion> {
        let taken = match self {
            Self::Get(keys) => {
                let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
                client.submit(now, token, &UserOp::Get(&keys), out)
            }
            Self::Put(key, value) => client.submit(now, token, &UserOp::Put(key, value), out),
            Self::Delete(key) => client.submit(now, token, &UserOp::Delete(key), out),
        };
        let refused = |why| Completion { token, outcome: Outcome::Refused(why) };
        taken.err().map(refused)
    }
}
