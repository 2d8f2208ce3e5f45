//! Servers and clients of multigets: requests for several keys at once.
//!
//! The servers read the requested keys of a frame and answer the sender. Clients aggregate the
//! replies. What splits a multiget among the servers is the [`Architecture`] of a scheme.

mod client;
mod frames;
mod key_bits;
mod layout;
pub(crate) mod results;
mod server;

#[cfg(test)]
pub(crate) use client::operation::tests as operation_tests;
pub use client::{Architecture, Client, ClientConfig, MultigetCounts, Users};
pub(crate) use client::{Operation, Part, RequestWriter, load_client, user_client};
pub(crate) use key_bits::{key_bits, key_span};
pub use layout::Layout;
pub use server::{Server, ServerConfig};

use crate::entries::{Roles, ServerEntry};
use crate::records::Keying;
use frames::MultigetFrames;

pub(crate) const ROLES: Roles = Roles {
    servers: &[ServerEntry {
        name: "multiget",
        keying: Keying::Modulo,
        keeps_sequences: false,
        frames: |keyspace| Box::new(MultigetFrames(Layout::of(keyspace))),
        restore: &|options, now, applied| {
            let config = ServerConfig {
                epoch: options.epoch,
                service_rate: options.service_rate,
                service_queue: options.service_queue,
                ..ServerConfig::new(options.server, Layout::of(options.keyspace))
            };
            config.check()?;
            Ok(Box::new(Server::restore(config, now, applied)))
        },
    }],
    ..Roles::NONE
};

// An operation whose keys fit into a frame takes one request for each receiver.
const _: () = assert!(netkv_workload::MAX_MULTIGET == netkv_wire::multiget::MAX_KEYS);
