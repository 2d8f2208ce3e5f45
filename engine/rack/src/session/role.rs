//! The client roles that a user may have, behind one face, and how one is made.

use std::net::SocketAddrV4;

use netkv_roles::multiget::{self, Layout};
use netkv_roles::{
    Actions, Backoff, Client, ClientConfig, Completion, Nanos, Outcome, UserOp, first_request,
};
use netkv_workload::{Arrivals, Mix, Workload, WorkloadConfig};
use serde::Deserialize;

use crate::config::{ClientRole, default_key_size};
use crate::generator::nanos;

/// The client role of a scheme, as far as a user needs it.
pub trait UserClient: Send {
    /// Takes one frame.
    fn on_frame(&mut self, now: Nanos, frame: &[u8], out: &mut Actions);
    /// Does what is due.
    fn poll(&mut self, now: Nanos, out: &mut Actions);
    /// When to poll, if nothing happens before.
    fn deadline(&self) -> Option<Nanos>;
    /// Takes an operation, or says why not.
    fn submit(
        &mut self,
        now: Nanos,
        token: u64,
        op: &UserOp<'_>,
        out: &mut Actions,
    ) -> Result<(), String>;
    /// Moves what has ended behind what `into` has.
    fn completions(&mut self, into: &mut Vec<Completion>);
    /// Says that the user goes.
    fn leave(&mut self, now: Nanos, out: &mut Actions);
    /// Whether nothing is left to be said after that.
    fn is_gone(&self) -> bool;
    /// Records that it keeps because only the switch has them.
    fn preserved(&self) -> usize;
}

/// Both roles have these methods of their own, with the same meaning.
macro_rules! user_client {
    ($client:ty) => {
        impl UserClient for $client {
            fn on_frame(&mut self, now: Nanos, frame: &[u8], out: &mut Actions) {
                <$client>::on_frame(self, now, frame, out);
            }

            fn poll(&mut self, now: Nanos, out: &mut Actions) {
                <$client>::poll(self, now, out);
            }

            fn deadline(&self) -> Option<Nanos> {
                <$client>::deadline(self)
            }

            fn submit(
                &mut self,
                now: Nanos,
                token: u64,
                op: &UserOp<'_>,
                out: &mut Actions,
            ) -> Result<(), String> {
                <$client>::submit(self, now, token, op, out)
            }

            fn completions(&mut self, into: &mut Vec<Completion>) {
                <$client>::completions(self, into);
            }

            fn leave(&mut self, now: Nanos, out: &mut Actions) {
                <$client>::leave(self, now, out);
            }

            fn is_gone(&self) -> bool {
                <$client>::is_gone(self)
            }

            fn preserved(&self) -> usize {
                <$client>::preserved(self).records
            }
        }
    };
}

user_client!(Client);
user_client!(multiget::Client);

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
    /// Servers in the whole rack; only clients of multigets have to know.
    #[serde(default = "one_server")]
    pub servers: u16,
    /// Bytes of a key of the load; a user's have as many as they have.
    #[serde(default = "default_key_size")]
    pub key_size: usize,
    /// Number of the client.
    pub client: u16,
    /// An operation without an answer for that long is given up, in seconds.
    pub deadline_s: f64,
    /// First retry time-out, in seconds; it doubles up to eight times that.
    pub retry_s: f64,
}

fn one_server() -> u16 {
    1
}

impl SessionConfig {
    /// The client; `unix_nanos` is the time since the epoch.
    ///
    /// # Errors
    ///
    /// A sentence about a number or time that cannot be.
    pub(super) fn client(&self, unix_nanos: u128) -> Result<Box<dyn UserClient>, String> {
        let initial = nanos("retry_s", self.retry_s)?;
        let config = ClientConfig {
            first_client: self.client,
            first_request: first_request(unix_nanos),
            retry: Backoff { initial, cap: 8 * initial },
            deadline: nanos("deadline_s", self.deadline_s)?,
            check: false,
            ..ClientConfig::new(1, Arrivals::Closed { outstanding: 0 })
        };
        // It has no load of its own; one of no operations under way never draws any.
        let workload = Workload::new(WorkloadConfig::new(1, Mix::YCSB_C, 0))?;
        if let Some(architecture) = self.role.architecture() {
            let layout = Layout::one_rack(self.servers, self.key_size);
            let config = multiget::ClientConfig { load: config, architecture, layout };
            return Ok(Box::new(multiget::Client::new(config, workload)?));
        }
        let role = match self.role {
            ClientRole::FarReach => netkv_roles::ClientRole::FarReach,
            _ => netkv_roles::ClientRole::Plain,
        };
        Ok(Box::new(Client::new(config.with_role(role), workload)?))
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
        client: &mut dyn UserClient,
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
