//! Memcached's binary protocol over UDP: GET, SET and DELETE of single keys, one operation in a
//! datagram. Clients and servers are those of [`crate::plain`]; this module translates their frames.
//!
//! Rules
//! -----
//! 1. A client sends each operation once: memcached carries out a copy of a write again, even if
//!    another write came between. An operation without a reply ends at its deadline.
//! 2. The opaque number of a request is the client's request number. A client has an address of
//!    its own, and one UDP port.
//! 3. A server treats each datagram as a new request, as memcached does.
//! 4. Each write gives its item a CAS version from a counter of the server.
//!
//! In contrast to memcached, a DELETE of a missing key succeeds.

mod client;
mod frames;
mod server;

use crate::records::Keying;
use crate::registry::{ClientEntry, ServerEntry};

const NAME: &str = "memcached";

/// The registry's entry for servers.
pub(crate) const SERVER: ServerEntry = ServerEntry {
    name: NAME,
    keying: |_| Keying::Ranges,
    keeps_sequences: false,
    frames: |_| Box::new(frames::MemcachedFrames),
    restore: &|options, now, applied| Ok(Box::new(server::Server::restore(options, now, applied))),
};

/// The registry's entry for clients.
pub(crate) const CLIENT: ClientEntry = ClientEntry {
    name: NAME,
    new: &|options, workload| Ok(Box::new(client::Client::new(options, workload)?)),
};
