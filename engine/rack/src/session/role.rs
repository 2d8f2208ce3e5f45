//! The configuration of a session, its client role, and the operations of its user.

use std::net::SocketAddrV4;

use netkv_roles::registry::ClientRole;
use netkv_roles::{
    Actions, Backoff, ClientConfig, ClientOptions, Completion, Keyspace, Nanos, Outcome,
    UserClient, UserOp, first_request,
};
use netkv_workload::Arrivals;
use serde::Deserialize;
use smallvec::SmallVec;

use crate::config::nanos;

/// Configuration of a session.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionConfig {
    /// UDP address of the session.
    pub bind: SocketAddrV4,
    /// UDP address of the switch's port.
    pub peer: SocketAddrV4,
    /// Role of the client.
    pub role: ClientRole,
    /// Number of the client.
    pub client: u16,
    /// The keys and how many servers share them.
    pub keyspace: Keyspace,
    /// Deadline of an operation, in seconds.
    pub deadline_s: f64,
    /// First retry time-out, in seconds; it doubles up to eight times this.
    pub retry_s: f64,
}

impl SessionConfig {
    /// Creates the client; `unix_nanos` is the time since 1970.
    ///
    /// # Errors
    ///
    /// A sentence about an invalid number or time.
    pub(super) fn client(&self, unix_nanos: u128) -> Result<Box<dyn UserClient>, String> {
        let initial = nanos("retry_s", self.retry_s)?;
        let load = ClientConfig {
            first_client: self.client,
            first_request: first_request(unix_nanos),
            retry: Backoff { initial, cap: 8 * initial },
            deadline: nanos("deadline_s", self.deadline_s)?,
            ..ClientConfig::new(1, Arrivals::Closed { outstanding: 0 })
        };
        (self.role.users)(&ClientOptions { load, keyspace: self.keyspace })
    }
}

/// A key on the wire; most have 16 bytes.
pub type OwnedKey = SmallVec<[u8; 16]>;

/// A [`UserOp`] that owns its keys and value. One of a single key takes no memory for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnedOp {
    /// See [`UserOp::Get`].
    Get(SmallVec<[OwnedKey; 1]>),
    /// See [`UserOp::Put`].
    Put(OwnedKey, Vec<u8>),
    /// See [`UserOp::Delete`].
    Delete(OwnedKey),
}

impl OwnedOp {
    /// Submits the operation to a client. If the client refuses it, returns its completion.
    pub(super) fn submit(
        &self,
        now: Nanos,
        token: u64,
        client: &mut dyn UserClient,
        out: &mut Actions,
    ) -> Option<Completion> {
        let taken = match self {
            Self::Get(keys) => {
                let keys: SmallVec<[&[u8]; 1]> = keys.iter().map(SmallVec::as_slice).collect();
                client.submit(now, token, &UserOp::Get(&keys), out)
            }
            Self::Put(key, value) => client.submit(now, token, &UserOp::Put(key, value), out),
            Self::Delete(key) => client.submit(now, token, &UserOp::Delete(key), out),
        };
        let refused = |why| Completion { token, outcome: Outcome::Refused(why) };
        taken.err().map(refused)
    }
}
